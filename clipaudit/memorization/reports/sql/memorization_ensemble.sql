-- Single records that models memorize under every seed and cut, at a false-discovery rate, the most
-- memorized first.
-- One row per k for all records, then one per listed record: by decreasing memorization, then by uid
-- and (source, shard, row).
--
-- found    k, source, shard, row, models, trained_on_it, memorization, p_value, q_value
-- samples  source, shard, row, uid, caption
-- sources  position, source, title
-- $rate    the false-discovery rate
-- $limit   records listed per k; null: all
with summed as (
    select
        k,
        max(models) as models,
        count(*) as tested,
        count(*) filter (where q_value <= $rate) as discovered,
        avg(memorization order by source, shard, row) as memorization,
        min(q_value) as q_value,
    from found
    group by k
),

placed as (
    select
        found.*,
        samples.uid::varchar as uid,
        samples.caption,
        row_number() over (
            partition by found.k
            order by
                found.memorization desc,
                samples.uid::varchar,
                found.source,
                found.shard,
                found.row
        ) as place,
    from samples
    inner join found
        on
            found.source = samples.source
            and found.shard = samples.shard
            and found.row = samples.row
    where found.q_value <= $rate
),

lines as (
    select
        k,
        0 as place,
        null as source,
        null as shard,
        null as row,
        null as uid,
        null as caption,
        models,
        null as trained_on_it,
        memorization,
        null as p_value,
        q_value,
        tested,
        discovered,
    from summed
    union all by name
    select *
    from placed
    where place <= coalesce($limit::bigint, place)
)

select
    row_number() over (order by lines.k, lines.place)::int - 1 as position,
    lines.k,
    if(
        lines.place = 0,
        concat('k = ', lines.k, ': all records'),
        left(coalesce(lines.caption, lines.uid), 100)
    ) as record,
    lines.place > 0 as indent,
    lines.source,
    sources.title as source_title,
    lines.shard,
    lines.row,
    lines.uid,
    lines.caption,
    lines.models,
    lines.trained_on_it,
    lines.memorization,
    lines.p_value,
    lines.q_value,
    lines.tested,
    lines.discovered,
    $rate as rate,
from lines
left join sources
    on sources.source = lines.source
order by position
