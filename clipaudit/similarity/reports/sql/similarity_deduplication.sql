-- How many samples of the large corpus deduplication keeps, by its threshold.
-- One row per threshold, ascending. Samples that were not embedded are not counted.
--
-- duplicates   similarity: one row per embedded sample; it is removed at every threshold below its
--              similarity, and never if that is null
-- $thresholds  ascending, each once
-- $chosen      the threshold of the deduplicated set
with reached as (
    select
        len(list_filter($thresholds::double[], lambda threshold: threshold < similarity))
            as thresholds_below,
        count(*) as samples,
    from duplicates
    group by thresholds_below
),

thresholds as (
    select
        unnest($thresholds::double[]) as threshold,
        generate_subscripts($thresholds::double[], 1) as place,
),

counts as (
    select
        thresholds.place,
        any_value(thresholds.threshold) as threshold,
        coalesce(sum(reached.samples), 0)::bigint as samples,
        -- a null similarity is not above any threshold
        coalesce(sum(reached.samples) filter (where reached.thresholds_below >= thresholds.place), 0)
            ::bigint as removed,
    from thresholds
    left join reached
        on true
    group by thresholds.place
)

select
    place - 1 as position,
    threshold,
    threshold = $chosen as is_chosen,
    samples,
    samples - removed as kept,
    removed,
    removed / nullif(samples, 0) as removed_share,
from counts
order by place
