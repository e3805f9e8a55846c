-- A model's similarity of captions to six kinds of images, by group of clusters: Figure 4
-- (left) of the parrot-caption paper.
-- One row per (group, series): groups as in `parrot_fig3.sql`, by the share of their images with
-- text, and series in the order of the view `series`. Groups without images are absent.
--
-- series   position, series (none, raw, all, co, random_all, random_co), title
-- matches  shard, row, spans: the images of one corpus
-- placed   shard, row, group: those that have an embedding
-- samples  shard, row, caption
-- scores   shard, row, raw, all, co, random_all, random_co: those that have a caption; null where
--          nothing is erased
with pictures as (
    select
        placed."group",
        matches.shard,
        matches.row,
        matches.spans > 0 as has_text,
        scores.raw::double as raw,
        -- an image without text to erase keeps its score: all means are over the same images
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

per_group as (
    select
        "group",
        count(*) as pictures,
        count(*) filter (where has_text) as with_text,
    from pictures
    group by "group"
),

groups as (
    select
        *,
        row_number() over (order by with_text / pictures, "group") - 1 as position,
    from per_group
),

names as (from typical_words('placed', 'samples')),

measured as (
    select
        "group",
        shard,
        row,
        unnest([
            {'series': 'none', 'score': if(has_text, null, raw)},
            {'series': 'raw', 'score': if(has_text, raw, null)},
            {'series': 'all', 'score': if(has_text, without_all, null)},
            {'series': 'co', 'score': if(has_text, without_co, null)},
            {'series': 'random_all', 'score': if(has_text, random_all, null)},
            {'series': 'random_co', 'score': if(has_text, random_co, null)},
        ], recursive := true),
    from pictures
),

-- Decimals are summed exactly, so that no mean depends on how a corpus is cut into parts.
means as (
    select
        "group",
        series,
        count(score) as pictures,
        avg(score::decimal(18, 15)) as value,
        mean_over_seeds(
            [avg(score::decimal(18, 15))],
            var_samp(score order by shard, row) / count(score),
            count(score)
        ) as bounds,
    from measured
    where score is not null
    group by "group", series
)

select
    groups.position as group_position,
    groups."group", -- its number in `placed`
    coalesce(names.name, groups."group"::varchar) as group_title, -- typical words of its captions, else its number
    groups.with_text / groups.pictures as share_with_text, -- of the group's images
    series.position as series_position,
    series.series,
    series.title as series_title,
    coalesce(means.pictures, 0) as pictures, -- images in the mean: without text, or all with text
    means.value, -- null: no image
    if(means.bounds.low < -1, -1, means.bounds.low) as low, -- 95 % interval of the mean, over images; null: only one image
    if(means.bounds.high > 1, 1, means.bounds.high) as high, -- a cosine is at most 1
from groups
cross join series
left join names
    on names."group" = groups."group"
left join means
    on means."group" = groups."group" and means.series = series.series
order by groups.position, series.position
