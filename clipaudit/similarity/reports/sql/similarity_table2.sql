-- How many test images have a near duplicate in the small and in the large corpus: Table 2 of the
-- similarity paper.
-- One row per (test set, corpus), in the order of the view `testsets`, the small corpus first.
--
-- testsets   position, testset, title
-- neighbors  corpus, testset, test_shard, test_row, rank, similarity
-- published  row, testset, measure, value
-- $small, $large              corpora, as `neighbors` names them
-- $small_title, $large_title  corpora, as people and the paper name them
-- $near_duplicate_distance    the paper's 0.05; a near duplicate is strictly nearer
with corpora as (
    select 0 as position, $small as corpus, $small_title as title
    union all
    select 1 as position, $large as corpus, $large_title as title
),

-- The distance is written as the paper has it, 1 - similarity, which is exact for every
-- similarity from 0.5 to 2. Its mirror image, similarity > 1 - $near_duplicate_distance, rounds the
-- bound and so decides some borders the other way.
nearest as (
    select
        corpus,
        testset,
        test_shard,
        test_row,
        1 - similarity < $near_duplicate_distance as has_near_duplicate,
    from neighbors
    where rank = 0
),

-- over both corpora, so that an empty corpus does not empty the test set
images as (
    select
        testset,
        count(distinct (test_shard, test_row)) as images,
    from nearest
    where corpus in ($small, $large)
    group by testset
),

near_duplicates as (
    select
        corpus,
        testset,
        count(*) filter (where has_near_duplicate) as near_duplicates,
    from nearest
    group by corpus, testset
),

counts as (
    select
        testsets.position,
        testsets.testset,
        testsets.title as testset_title,
        corpora.position as corpus_position,
        corpora.corpus,
        corpora.title as corpus_title,
        coalesce(images.images, 0) as images,
        coalesce(near_duplicates.near_duplicates, 0) as near_duplicates,
    from testsets
    cross join corpora
    left join images
        on images.testset = testsets.testset
    left join near_duplicates
        on near_duplicates.testset = testsets.testset and near_duplicates.corpus = corpora.corpus
),

shares as (
    select
        *,
        near_duplicates / nullif(images, 0) as share,
        exact_interval(near_duplicates, images) as share_interval,
    from counts
)

select
    shares.position,
    shares.testset,
    shares.testset_title,
    shares.corpus,
    shares.corpus_title,
    shares.images,
    shares.near_duplicates,
    shares.share,
    shares.share_interval.low as share_low,
    shares.share_interval.high as share_high,
    published_sizes.value::bigint as published_images,
    published_counts.value::bigint as published_near_duplicates,
from shares
left join published as published_sizes
    on
        published_sizes.testset = shares.testset_title
        and published_sizes.row = ''
        and published_sizes.measure = 'images'
left join published as published_counts
    on
        published_counts.testset = shares.testset_title
        and paper_name(published_counts.row) = paper_name(shares.corpus_title)
        and published_counts.measure = 'near_duplicates'
order by shares.position, shares.corpus_position
