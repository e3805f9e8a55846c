-- How many images of each test set have a copy in the training corpus, by the kind of the nearest copy.
-- One row per test set, in the order of the view `testsets`. Intervals of a test set's share take its
-- images of equal pixels as one draw: they have a copy together.
--
-- testsets  position, testset, title
-- images    corpus, shard, row, image_sha256, pixels_sha256, quality
-- copies    testset, other_shard, other_row, corpus, shard, row, kind
-- kinds     position, kind: of copies, from the nearest to the farthest
-- searched  searched, images: of the training images, if a sample of them was drawn; one row
-- $train    the training corpus
-- $most     candidates of a training image that are compared with it
with totals as (
    select
        corpus,
        count(*) as images,
        count(*) filter (where quality < 50) as flat,
    from images
    group by corpus
),

-- Kish's effective number: so many independent images give as certain a share.
drawn as (
    select
        corpus,
        count(*) ** 2 / sum(equal) as effective,
    from (
        select
            corpus,
            count(*) over (partition by corpus, pixels_sha256) as equal,
        from images
        where corpus in (select testset from testsets)
    )
    group by corpus
),

paired as (
    select
        copies.testset,
        images.pixels_sha256,
        images.image_sha256,
        min(kinds.position) as nearest,
    from copies
    inner join kinds on kinds.kind = copies.kind
    inner join images
        on
            images.corpus = copies.testset
            and images.shard = copies.other_shard
            and images.row = copies.other_row
    group by all
),

same_pixels as (
    select testset, pixels_sha256, min(nearest) as nearest
    from paired
    group by all
),

same_bytes as (
    select distinct testset, image_sha256
    from paired
    where nearest = 0
),

-- Only $most of many equal test images are paired with a training image, but each has the copy.
of_tests as (
    select
        same_pixels.testset,
        if(same_bytes.testset is null, greatest(same_pixels.nearest, 1), 0) as nearest,
    from images
    inner join same_pixels
        on
            same_pixels.testset = images.corpus
            and same_pixels.pixels_sha256 = images.pixels_sha256
    left join same_bytes
        on same_bytes.testset = images.corpus and same_bytes.image_sha256 = images.image_sha256
),

of_training as (
    select
        copies.testset,
        count(distinct (copies.shard, copies.row)) as training_images,
    from copies
    inner join kinds on kinds.kind = copies.kind
    group by copies.testset
),

counted as (
    select
        testset,
        count(*) as with_copy,
        count(*) filter (where nearest = 0) as identical_bytes,
        count(*) filter (where nearest = 1) as identical_pixels,
        count(*) filter (where nearest = 2) as resized,
        count(*) filter (where nearest = 3) as edited,
    from of_tests
    group by testset
),

compared as (
    select
        testset,
        sum(lookalikes)::bigint as lookalikes,
        count(*) filter (where pairs >= $most) as crowded,
    from (
        select
            testset,
            count(*) as pairs,
            count(*) filter (where kind = 'lookalike') as lookalikes,
        from copies
        group by testset, shard, row
    )
    group by testset
)

select
    testsets.position,
    testsets.testset,
    testsets.title as testset_title,
    coalesce(tests.images, 0) as images,
    coalesce(tests.flat, 0) as flat, -- images too flat for the hash, compared by thumbnails
    coalesce(counted.with_copy, 0) as with_copy, -- test images with a copy
    coalesce(counted.with_copy, 0) / tests.images as share, -- of the test images
    drawn.effective, -- independent images that give as certain a share; equal pixels are one draw
    share_interval(share * drawn.effective, drawn.effective).low as share_low,
    share_interval(share * drawn.effective, drawn.effective).high as share_high,
    chosen_interval(share * drawn.effective, drawn.effective, count(*) over ()).low
        as largest_low, -- of the share if it is chosen as the largest of all test sets
    chosen_interval(share * drawn.effective, drawn.effective, count(*) over ()).high
        as largest_high, -- the same
    coalesce(counted.identical_bytes, 0) as identical_bytes,
    coalesce(counted.identical_pixels, 0) as identical_pixels,
    coalesce(counted.resized, 0) as resized, -- re-encoded or resized
    coalesce(counted.edited, 0) as edited,
    coalesce(training.images, 0) as searched, -- training images
    sampling.searched < sampling.images as is_sampled, -- whether only a sample of the training images was searched
    coalesce(of_training.training_images, 0) as training_images, -- training images that are copies
    coalesce(of_training.training_images, 0) / training.images as training_share,
    exact_interval(coalesce(of_training.training_images, 0), training.images).low
        as training_share_low,
    exact_interval(coalesce(of_training.training_images, 0), training.images).high
        as training_share_high,
    coalesce(compared.lookalikes, 0) as lookalikes, -- candidate pairs that pixels refuted
    coalesce(compared.crowded, 0) as crowded, -- training images that may have further candidates
from testsets
left join totals as tests on tests.corpus = testsets.testset
left join drawn on drawn.corpus = testsets.testset
left join totals as training on training.corpus = $train
left join counted on counted.testset = testsets.testset
left join of_training on of_training.testset = testsets.testset
left join compared on compared.testset = testsets.testset
cross join searched as sampling
order by testsets.position
