-- Differences of scores between images with and without their text: Figure 4 (right) of the
-- parrot-caption paper.
-- One row per (difference, bin that holds an image), in the order of the view `differences`, bins
-- ascending; a difference without images has one row, without a bin.
--
-- differences  position, difference (rsa, random_rsa, rsc, random_rsc, spared), title
-- scores       shard, row, raw, all, co, random_all, random_co: the images of one corpus; null where
--              nothing is erased
-- $bins        bins per unit of score: bin i is [i/bins, (i+1)/bins)
with pictures as (
    select
        raw::double as raw,
        "all"::double as without_all,
        co::double as without_co,
        random_all::double as random_all,
        random_co::double as random_co,
    from scores
),

differing as (
    select unnest([
        {'difference': 'rsa', 'value': raw - without_all},
        {'difference': 'random_rsa', 'value': if(without_all is null, null, raw - random_all)},
        {'difference': 'rsc', 'value': raw - without_co},
        {'difference': 'random_rsc', 'value': if(without_co is null, null, raw - random_co)},
        {'difference': 'spared', 'value': without_co - without_all},
    ], recursive := true),
    from pictures
),

counts as (
    select
        difference,
        floor(value * $bins)::bigint as bin,
        count(*) as pictures,
    from differing
    where value is not null
    group by difference, bin
),

totals as (
    select
        difference,
        count(*) as pictures,
        count(*) filter (where value < 0) as below,
        avg(value::decimal(18, 15)) as mean, -- summed exactly, in any order
    from differing
    where value is not null
    group by difference
)

select
    differences.position as panel_position,
    differences.difference, -- rsa: raw - all removed; rsc: raw - co removed; spared: co - all
    differences.title as panel_title,
    counts.bin / $bins as bin_low, -- null: no image
    (counts.bin + 1) / $bins as bin_high,
    coalesce(counts.pictures, 0) as pictures, -- images in the bin
    coalesce(totals.pictures, 0) as all_pictures, -- images with both scores
    counts.pictures / totals.pictures as share,
    totals.mean,
    totals.below / totals.pictures as share_below, -- below 0: removing text raises the score
from differences
left join totals
    on totals.difference = differences.difference
left join counts
    on counts.difference = differences.difference
order by differences.position, counts.bin
