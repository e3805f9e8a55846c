-- The share of each test set's images that have a copy in the training corpus.
-- One row per test set with images, in the order of the view `testsets`. Intervals as in
-- `copies_summary`.
--
-- testsets  position, testset, title
-- images    corpus, shard, row, pixels_sha256
-- copies    testset, other_shard, other_row, corpus, shard, row, kind
-- kinds     position, kind: of copies
-- $title    of the training corpus
with totals as (
    select
        corpus,
        count(*) as images,
        count(*) ** 2 / sum(equal) as effective,
    from (
        select
            corpus,
            count(*) over (partition by corpus, pixels_sha256) as equal,
        from images
    )
    group by corpus
),

paired as (
    select distinct copies.testset, images.pixels_sha256
    from copies
    inner join kinds on kinds.kind = copies.kind
    inner join images
        on
            images.corpus = copies.testset
            and images.shard = copies.other_shard
            and images.row = copies.other_row
),

-- images with equal pixels have the same copies
copied as (
    select paired.testset, count(*) as test_images
    from images
    inner join paired
        on paired.testset = images.corpus and paired.pixels_sha256 = images.pixels_sha256
    group by paired.testset
)

select
    0 as panel_position,
    'in ' || $title as panel_title,
    0 as group_position,
    'test set' as group_title,
    testsets.position as row_position,
    testsets.title as row_title,
    0 as series_position,
    'images with a copy' as series_title,
    totals.images,
    coalesce(copied.test_images, 0) as with_copy,
    with_copy / totals.images as value,
    share_interval(value * totals.effective, totals.effective).low as low,
    share_interval(value * totals.effective, totals.effective).high as high,
from testsets
inner join totals on totals.corpus = testsets.testset
left join copied on copied.testset = testsets.testset
order by testsets.position
