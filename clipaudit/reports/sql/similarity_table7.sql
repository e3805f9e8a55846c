-- For how many test images the nearest training image lies in the large corpus rather than in the
-- small one: Table 7 of the similarity paper.
-- One row per test set, in the order of the view `testsets`.
--
-- testsets   position, testset, title
-- neighbors  corpus, testset, test_shard, test_row, rank, similarity
-- published  row, testset, measure, value
-- $small, $large  corpora, as `neighbors` names them
-- $large_title    the large corpus, as people and the paper name it
with nearest as (
    select
        large.testset,
        large.similarity as large_similarity,
        small.similarity as small_similarity,
    from neighbors as large
    inner join neighbors as small
        on
            small.testset = large.testset
            and small.test_shard = large.test_shard
            and small.test_row = large.test_row
    where
        large.corpus = $large
        and small.corpus = $small
        and large.rank = 0
        and small.rank = 0
),

-- A tie is not nearer; similarities are exact, so ties are true ones (an image that is in both).
shares as (
    select
        testset,
        count(*) as images,
        count(*) filter (where large_similarity > small_similarity) as nearer,
        count(*) filter (where large_similarity = small_similarity) as ties,
        nearer / images as share,
        exact_interval(nearer, images) as share_interval,
    from nearest
    group by testset
)

select
    testsets.position,
    testsets.testset,
    testsets.title as testset_title,
    $large as corpus,
    $large_title as corpus_title,
    coalesce(shares.images, 0) as images,
    coalesce(shares.nearer, 0) as nearer,
    coalesce(shares.ties, 0) as ties,
    shares.share,
    shares.share_interval.low as share_low,
    shares.share_interval.high as share_high,
    published_sizes.value::bigint as published_images,
    round(published_shares.value / 100, 6) as published_share,
from testsets
left join shares
    on shares.testset = testsets.testset
left join published as published_sizes
    on
        published_sizes.testset = testsets.title
        and published_sizes.row = ''
        and published_sizes.measure = 'images'
left join published as published_shares
    on
        published_shares.testset = testsets.title
        and published_shares.row = $large_title
        and published_shares.measure = 'nearer_percent'
order by testsets.position
