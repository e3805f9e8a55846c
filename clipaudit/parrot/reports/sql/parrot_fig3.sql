-- How many images of each group of clusters have text, and how many captions repeat it:
-- Figure 3 (a) of the parrot-caption paper.
-- One row per (group, kind): groups by the share of their images with text, the smallest first,
-- ties by number, and kinds in the order of the view `kinds`. Groups without images are absent.
--
-- kinds          position, kind (none, apart, co), title
-- matches        shard, row, spans, words_co, plain_co: the images of one corpus
-- placed         shard, row, group: those that have an embedding
-- samples        shard, row, caption
-- $tokenization  words or plain: what a co-embedded word is
-- $title         the corpus's title
with pictures as (
    select
        placed."group",
        case
            when matches.spans = 0 then 'none'
            when len(if($tokenization = 'plain', matches.plain_co, matches.words_co)) = 0
                then 'apart'
            else 'co'
        end as kind,
    from matches
    inner join placed
        on placed.shard = matches.shard and placed.row = matches.row
),

per_group as (
    select
        "group",
        count(*) as pictures,
        count(*) filter (where kind != 'none') as with_text,
    from pictures
    group by "group"
),

groups as (
    select
        "group",
        pictures,
        with_text,
        row_number() over (order by with_text / pictures, "group") - 1 as position,
    from per_group
),

names as (from typical_words('placed', 'samples')),

per_kind as (
    select
        "group",
        kind,
        count(*) as pictures,
    from pictures
    group by "group", kind
)

select
    0 as panel_position,
    $title as panel_title,
    groups.position as bar_position,
    groups."group", -- its number in `placed`
    coalesce(names.name, groups."group"::varchar) as bar_title, -- typical words of its captions, else its number
    groups.with_text / groups.pictures as share_with_text, -- of the group's images
    kinds.position as kind_position,
    kinds.kind, -- none: no text; apart: text, but no word of the caption; co: at least one
    kinds.title as kind_title,
    coalesce(per_kind.pictures, 0) as pictures,
    groups.pictures as all_pictures, -- of the group
    coalesce(per_kind.pictures, 0) / groups.pictures as share,
from groups
cross join kinds
left join names
    on names."group" = groups."group"
left join per_kind
    on per_kind."group" = groups."group" and per_kind.kind = kinds.kind
order by groups.position, kinds.position
