-- How many image-text pairs have text in the image, and how many captions repeat it, among all
-- pairs and among those with the highest scores: Figure 1 of the parrot-caption paper, as numbers.
-- One row per (model, selection, kind), in the order of the views `models`, `selections`, `kinds`.
--
-- models         position, encoder, title: whose scores
-- selections     position, selection (all, top), title
-- kinds          position, kind (none, apart, co), title
-- scores         encoder, shard, row, raw: the pairs of one corpus
-- matches        shard, row, spans, words_co, plain_co
-- $tokenization  words or plain: what a co-embedded word is
-- $top           size of the top, in percent of the pairs; rounded up to whole pairs
with pictures as (
    select
        shard,
        row,
        case
            when spans = 0 then 'none'
            when len(if($tokenization = 'plain', plain_co, words_co)) = 0 then 'apart'
            else 'co'
        end as kind,
    from matches
),

ranked as (
    select
        scores.encoder,
        pictures.kind,
        row_number() over (
            partition by scores.encoder
            order by scores.raw desc, scores.shard, scores.row
        ) as place,
        count(*) over (partition by scores.encoder) as pairs,
    from scores
    inner join pictures
        on pictures.shard = scores.shard and pictures.row = scores.row
),

selected as (
    select
        encoder,
        'all' as selection,
        kind,
    from ranked
    union all
    select
        encoder,
        'top' as selection,
        kind,
    from ranked
    where place <= (pairs * $top + 99) // 100 -- in integers, so that nothing is rounded wrongly
),

per_kind as (
    select
        encoder,
        selection,
        kind,
        count(*) as pictures,
    from selected
    group by encoder, selection, kind
),

per_selection as (
    select
        encoder,
        selection,
        count(*) as pictures,
    from selected
    group by encoder, selection
)

select
    models.position as panel_position,
    models.encoder,
    models.title as panel_title,
    selections.position as bar_position,
    selections.selection,
    selections.title as bar_title,
    kinds.position as kind_position,
    kinds.kind, -- none: no text; apart: text, but no word of the caption; co: at least one
    kinds.title as kind_title,
    coalesce(per_kind.pictures, 0) as pictures,
    coalesce(per_selection.pictures, 0) as all_pictures, -- of all kinds
    coalesce(per_kind.pictures, 0) / per_selection.pictures as share, -- null: there are no pairs
from models
cross join selections
cross join kinds
left join per_selection
    on
        per_selection.encoder = models.encoder
        and per_selection.selection = selections.selection
left join per_kind
    on
        per_kind.encoder = models.encoder
        and per_kind.selection = selections.selection
        and per_kind.kind = kinds.kind
order by models.position, selections.position, kinds.position
