-- How similar a model finds captions to six kinds of pictures, by group of clusters: Figure 4
-- (left) of the parrot-caption paper.
-- One row per (group, series): groups as in `parrot_fig3.sql`, by the share of their pictures with
-- text, and series in the order of the view `series`. Groups without pictures are absent.
--
-- series   position, series (none, raw, all, co, random_all, random_co), title
-- matches  shard, row, spans: the pictures of one corpus
-- placed   shard, row, group: those that have an embedding
-- scores   shard, row, raw, all, co, random_all, random_co: those that have a caption; null where
--          nothing is erased
with pictures as (
    select
        placed."group",
        matches.spans > 0 as has_text,
        scores.raw::double as raw,
        -- where nothing is to be erased, a picture keeps its score: all means are of the same ones
        coalesce(scores."all", scores.raw)::double as without_all,
        coalesce(scores.co, scores.raw)::double as without_co,
        coalesce(scores.random_all, scores.raw)::double as random_all,
        coalesce(scores.random_co, scores.raw)::double as random_co,
    from matches
    inner join placed
        on placed.shard = matches.shard and placed.row = matches.row
    left join scores
        on scores.shard = matches.shard and scores.row = matches.row
),

-- Decimals are summed exactly, so that no mean depends on how a corpus is cut into parts.
per_group as (
    select
        "group",
        count(*) as pictures,
        count(*) filter (where has_text) as with_text,
        count(raw) filter (where not has_text) as scored_without,
        count(raw) filter (where has_text) as scored_with,
        avg(raw::decimal(18, 15)) filter (where not has_text) as without_text,
        avg(raw::decimal(18, 15)) filter (where has_text) as raw,
        avg(without_all::decimal(18, 15)) filter (where has_text) as without_all,
        avg(without_co::decimal(18, 15)) filter (where has_text) as without_co,
        avg(random_all::decimal(18, 15)) filter (where has_text) as random_all,
        avg(random_co::decimal(18, 15)) filter (where has_text) as random_co,
    from pictures
    group by "group"
),

groups as (
    select
        *,
        row_number() over (order by with_text / pictures, "group") - 1 as position,
    from per_group
),

means as (
    select
        "group",
        unnest([
            {'series': 'none', 'pictures': scored_without, 'value': without_text},
            {'series': 'raw', 'pictures': scored_with, 'value': raw},
            {'series': 'all', 'pictures': scored_with, 'value': without_all},
            {'series': 'co', 'pictures': scored_with, 'value': without_co},
            {'series': 'random_all', 'pictures': scored_with, 'value': random_all},
            {'series': 'random_co', 'pictures': scored_with, 'value': random_co},
        ], recursive := true),
    from groups
)

select
    groups.position as group_position,
    groups."group", -- its number; that of `placed`
    groups."group"::varchar as group_title,
    groups.with_text / groups.pictures as share_with_text, -- of the group's pictures
    series.position as series_position,
    series.series,
    series.title as series_title,
    means.pictures, -- that the mean is over: those without text, or all with text
    means.value, -- null: of no picture
from groups
cross join series
left join means
    on means."group" = groups."group" and means.series = series.series
order by groups.position, series.position
