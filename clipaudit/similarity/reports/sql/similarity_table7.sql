-- How many test images have their nearest training image in the large corpus rather than in the
-- small one: Table 7 of the similarity paper.
-- One row per (test set, train set), in the order of the views `testsets` and `train_sets`.
--
-- testsets        position, testset, title
-- train_sets      position, corpus, title, search: the large corpus, whole (search 'all') and
--                 deduplicated
-- neighbors       corpus, testset, test_shard, test_row, rank, similarity; of whole corpora
-- kept_neighbors  search, corpus, testset, test_shard, test_row, rank, similarity; of kept samples
-- published       row, testset, measure, value
-- $small, $large  corpora, as the views name them
with small as (
    select
        testset,
        test_shard,
        test_row,
        similarity,
    from neighbors
    where corpus = $small and rank = 0
),

large as (
    select
        'all' as search,
        testset,
        test_shard,
        test_row,
        similarity,
    from neighbors
    where corpus = $large and rank = 0

    union all

    select
        search,
        testset,
        test_shard,
        test_row,
        similarity,
    from kept_neighbors
    where corpus = $large and rank = 0
),

-- A tie is not nearer; similarities are exact, so ties are true ones (an image that is in both).
shares as (
    select
        large.search,
        large.testset,
        count(*) as images,
        count(*) filter (where large.similarity > small.similarity) as nearer,
        count(*) filter (where large.similarity = small.similarity) as ties,
        nearer / images as share,
        exact_interval(nearer, images) as share_interval,
    from large
    inner join small
        on
            small.testset = large.testset
            and small.test_shard = large.test_shard
            and small.test_row = large.test_row
    group by large.search, large.testset
)

select
    testsets.position,
    testsets.testset,
    testsets.title as testset_title,
    train_sets.corpus,
    train_sets.title as corpus_title,
    coalesce(shares.images, 0) as images,
    coalesce(shares.nearer, 0) as nearer,
    coalesce(shares.ties, 0) as ties,
    shares.share,
    shares.share_interval.low as share_low,
    shares.share_interval.high as share_high,
    published_sizes.value::bigint as published_images,
    round(published_shares.value / 100, 6) as published_share,
from testsets
cross join train_sets
left join shares
    on shares.testset = testsets.testset and shares.search = train_sets.search
left join published as published_sizes
    on
        published_sizes.testset = testsets.title
        and published_sizes.row = ''
        and published_sizes.measure = 'images'
left join published as published_shares
    on
        published_shares.testset = testsets.title
        and paper_name(published_shares.row) = paper_name(train_sets.title)
        and published_shares.measure = 'nearer_percent'
order by testsets.position, train_sets.position
