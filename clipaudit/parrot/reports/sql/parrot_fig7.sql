-- Models' similarity of captions to held-out images without text, and to those whose captions
-- parrot their text, before and after it is erased: Figure 7 of the parrot-caption paper.
-- One row per (model, series), in the order of the views `models` and `series`.
--
-- models   position, encoder, title
-- series   position, series (none, raw, co, random_co, all, random_all), title, curated: its held-out set
-- scores   encoder, shard, row, raw, all, co, random_all, random_co: of held-out images; null where nothing is erased
-- heldout  curated, shard, row, kept: which samples are in which held-out set
with members as (
    select
        curated,
        shard,
        row,
    from heldout
    where kept
),

pictures as (
    select
        scores.encoder,
        members.curated,
        scores.raw::double as raw,
        -- an image without text to erase keeps its score
        coalesce(scores."all", scores.raw)::double as without_all,
        coalesce(scores.co, scores.raw)::double as without_co,
        coalesce(scores.random_all, scores.raw)::double as random_all,
        coalesce(scores.random_co, scores.raw)::double as random_co,
    from scores
    inner join members
        on members.shard = scores.shard and members.row = scores.row
),

-- Decimals are summed exactly, so that no mean depends on how a corpus is cut into parts.
means as (
    select
        encoder,
        curated,
        count(*) as pictures,
        avg(raw::decimal(18, 15)) as raw,
        avg(without_all::decimal(18, 15)) as without_all,
        avg(without_co::decimal(18, 15)) as without_co,
        avg(random_all::decimal(18, 15)) as random_all,
        avg(random_co::decimal(18, 15)) as random_co,
    from pictures
    group by encoder, curated
)

select
    models.position as group_position,
    models.encoder,
    models.title as group_title,
    series.position as series_position,
    series.series, -- none: no text; raw: unchanged; co, all: text removed; random: the area of another image's text
    series.title || case when sizes.samples is null then ', too small' else '' end as series_title,
    series.curated, -- the held-out set
    coalesce(means.pictures, 0) as pictures, -- images in the mean
    case series.series -- null: no image
        when 'co' then means.without_co
        when 'all' then means.without_all
        when 'random_co' then means.random_co
        when 'random_all' then means.random_all
        else means.raw
    end as value,
from models
cross join series
left join (select curated, count(*) as samples from members group by curated) as sizes
    on sizes.curated = series.curated
left join means
    on means.encoder = models.encoder and means.curated = series.curated
order by models.position, series.position
