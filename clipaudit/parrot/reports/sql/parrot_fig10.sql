-- The most frequent words of the head, the middle and the tail of a vocabulary: Figure 10 of the
-- parrot-caption paper.
-- One row per (part, word), in the order of the view, the most frequent first, ties in alphabetical
-- order; a part without words has one row, without a word. Of n words in this order, the head ends at
-- place n^(1/3) and the middle at n^(2/3): parts of equal size on a logarithmic scale.
--
-- parts   position, title: 0 the head, 1 the middle, 2 the tail
-- grams   gram, frequency; of one vocabulary
-- $limit  words shown per part
with ranked as (
    select
        gram,
        frequency,
        row_number() over (order by frequency desc, gram) as place,
        count(*) over () as grams,
    from grams
),

-- in integers, since roots would be rounded
divided as (
    select
        gram,
        frequency,
        place,
        case
            when place::hugeint * place * place <= grams then 0
            when place::hugeint * place * place <= grams::hugeint * grams then 1
            else 2
        end as part,
    from ranked
),

measured as (
    select
        part,
        count(*) as words,
        max(frequency) as most,
        min(frequency) as least,
    from divided
    group by part
),

shown as (
    select
        part,
        gram,
        frequency,
        place,
    from divided
    qualify row_number() over (partition by part order by place) <= $limit
)

select
    parts.position as part_position,
    parts.title as part_title,
    coalesce(measured.words, 0) as words, -- in the part, shown or not
    measured.most, -- the highest frequency among them
    measured.least, -- the lowest
    shown.place, -- in the whole vocabulary, from 1
    shown.gram,
    shown.frequency,
from parts
left join measured
    on measured.part = parts.position
left join shown
    on shown.part = parts.position
order by parts.position, shown.place
