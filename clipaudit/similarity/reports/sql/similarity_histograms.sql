-- How similar test images are to their nearest image in each of two training sets, or in one
-- under two encoders: Figures 4, 6, 11, 12 and 13 of the similarity paper.
-- One row per (test set, series, bin that holds an image), in the order of the views `testsets` and
-- `series`, bins ascending; a series without images has one row, without a bin.
--
-- testsets          position, testset, title
-- series            position, series, title: 0 is `first_neighbors`, 1 `second_neighbors`
-- first_neighbors   testset, test_shard, test_row, rank, similarity
-- second_neighbors  the same columns
-- $bins             bins per unit of similarity, 100 or less: bin i is [i/bins, (i+1)/bins)
with nearest as (
    select
        0 as position,
        testset,
        similarity,
    from first_neighbors
    where rank = 0
    union all
    select
        1 as position,
        testset,
        similarity,
    from second_neighbors
    where rank = 0
),

-- The product is rounded once, identically on every machine. A similarity within 2^-52 of an edge
-- may fall on its other side. Equal vectors have similarity 1 and fall into the last bin below it.
binned as (
    select
        position,
        testset,
        least(floor(similarity * $bins), $bins - 1)::bigint as bin,
    from nearest
),

counts as (
    select
        position,
        testset,
        bin,
        count(*) as images,
        sum(images) over (partition by position, testset)::bigint as all_images,
    from binned
    group by position, testset, bin
)

select
    testsets.position,
    testsets.testset,
    testsets.title as testset_title,
    series.position as series_position,
    series.series,
    series.title as series_title,
    counts.bin / $bins as bin_low,
    (counts.bin + 1) / $bins as bin_high,
    coalesce(counts.images, 0) as images,
    coalesce(counts.all_images, 0) as all_images,
    counts.images / counts.all_images as share,
from testsets
cross join series
left join counts
    on counts.testset = testsets.testset and counts.position = series.position
order by testsets.position, series.position, counts.bin
