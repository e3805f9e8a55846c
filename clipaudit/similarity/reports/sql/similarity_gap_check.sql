-- Checks gap pruning: after it, no test image may have a kept training image nearer than its gap,
-- which is its similarity to the small corpus.
-- One row per (pruning, test set that it looks at), in the order of the views.
--
-- searches        position, search, testset: a pruning, and a test set whose gaps it prunes to
-- testsets        position, testset, title
-- neighbors       testset, test_shard, test_row, rank, similarity; of the small corpus only
-- kept_neighbors  search, testset, test_shard, test_row, rank, similarity; of the kept samples
with gaps as (
    select
        searches.search,
        neighbors.testset,
        neighbors.test_shard,
        neighbors.test_row,
        neighbors.similarity as gap,
    from neighbors
    inner join searches
        on searches.testset = neighbors.testset
    where neighbors.rank = 0
),

kept as (
    select
        search,
        testset,
        test_shard,
        test_row,
        similarity,
    from kept_neighbors
    where rank = 0
),

-- Without a small corpus there is no gap, and every image counts as nearer.
compared as (
    select
        coalesce(gaps.search, kept.search) as search,
        coalesce(gaps.testset, kept.testset) as testset,
        coalesce(gaps.gap, '-inf'::double) as gap,
        kept.similarity,
    from gaps
    full outer join kept
        on
            kept.search = gaps.search
            and kept.testset = gaps.testset
            and kept.test_shard = gaps.test_shard
            and kept.test_row = gaps.test_row
),

counts as (
    select
        search,
        testset,
        count(*) as images,
        count(*) filter (where similarity < gap) as below,
        count(*) filter (where similarity = gap) as ties,
        count(*) filter (where similarity > gap) as above,
        count(*) filter (where similarity is null) as without_neighbor,
    from compared
    group by search, testset
)

select
    searches.position,
    searches.search,
    testsets.testset,
    testsets.title as testset_title,
    coalesce(counts.images, 0) as images,
    coalesce(counts.below, 0) as below,
    coalesce(counts.ties, 0) as ties,
    coalesce(counts.above, 0) as above,
    coalesce(counts.without_neighbor, 0) as without_neighbor,
from searches
inner join testsets
    on testsets.testset = searches.testset
left join counts
    on counts.search = searches.search and counts.testset = searches.testset
order by searches.position, testsets.position
