-- The number of words of a vocabulary by frequency, which shows its long tail: Figure 5a of the
-- parrot-caption paper.
-- One row per (vocabulary, interval of frequencies), in the order of the view, then ascending.
-- Intervals go from one power of ten to the next, or of two if no gram occurs 1000 times.
--
-- vocabularies  position, vocabulary, title
-- grams         vocabulary, gram, frequency
with recursive scale as (
    select
        if(coalesce(max(frequency), 0) < 1000, 2, 10) as base,
        coalesce(max(frequency), 1) as largest,
    from grams
),

-- in integers, so that a power falls into the interval that starts with it
intervals as (
    select
        0 as position,
        1::hugeint as low,
        base::hugeint as above,
    from scale
    union all
    select
        intervals.position + 1 as position,
        intervals.above as low,
        intervals.above * scale.base as above,
    from intervals
    cross join scale
    where intervals.above <= scale.largest
),

counted as (
    select
        grams.vocabulary,
        intervals.position,
        count(*) as grams,
        sum(grams.frequency)::bigint as occurrences,
    from grams
    inner join intervals
        on grams.frequency >= intervals.low and grams.frequency < intervals.above
    group by grams.vocabulary, intervals.position
)

select
    vocabularies.position as series_position,
    vocabularies.vocabulary,
    vocabularies.title as series_title,
    intervals.position as interval_position,
    intervals.low::bigint as low, -- the lowest frequency in the interval
    (intervals.above - 1)::bigint as high, -- the highest frequency in the interval
    coalesce(counted.grams, 0) as grams, -- distinct grams of these frequencies
    coalesce(counted.occurrences, 0) as occurrences, -- sum of their frequencies
from vocabularies
cross join intervals
left join counted
    on
        counted.vocabulary = vocabularies.vocabulary
        and counted.position = intervals.position
order by vocabularies.position, intervals.position
