-- How many test images have a near duplicate in the small and in the large corpus: Table 2 of the
-- similarity paper.
-- One row per (test set, corpus), in the order of the view `testsets`, the small corpus first.
--
-- testsets        position, testset, title
-- neighbors       corpus, testset, test_shard, test_row, rank, similarity
-- encoder_checks  corpus, random_q50, collapsed; of the encoder of `neighbors` on each test set
-- calibrated      threshold, chosen; empty if a distance is given
-- published       row, testset, measure, value
-- $small, $large              corpora, as `neighbors` names them
-- $small_title, $large_title  titles of the corpora, as in the paper; $small and its title may be
--                             null: then rows are only about the large corpus
-- $near_duplicate_distance    the paper's 0.05; a near duplicate is strictly nearer. Null: it is
--                             at least as similar as the calibration's threshold
with corpora as (
    select
        0 as position,
        $small::varchar as corpus,
        $small_title::varchar as title
    where $small is not null
    union all
    select 1 as position, $large as corpus, $large_title as title
),

-- one row; both are null if the calibration chose no threshold
thresholds as (
    select
        max(threshold) filter (where chosen) as similarity,
        coalesce($near_duplicate_distance::double, 1 - similarity) as distance,
    from calibrated
),

-- A note says why near duplicates are not counted.
notes as (
    select
        testsets.testset,
        thresholds.distance,
        case
            when encoder_checks.collapsed then 'the encoder does not distinguish images'
            when thresholds.distance is null then 'calibration chose no threshold'
            when 1 - encoder_checks.random_q50 < thresholds.distance
                then 'random pairs are as near'
        end as note,
    from testsets
    cross join thresholds
    left join encoder_checks
        on encoder_checks.corpus = testsets.testset
),

-- The distance is written as in the paper, 1 - similarity, which is exact for every similarity
-- from 0.5 to 2. The mirrored form, similarity > 1 - $near_duplicate_distance, rounds the bound and
-- so decides some borderline cases differently.
nearest as (
    select
        corpus,
        testset,
        test_shard,
        test_row,
        case
            when $near_duplicate_distance::double is null
                then neighbors.similarity >= thresholds.similarity
            else 1 - neighbors.similarity < $near_duplicate_distance::double
        end as has_near_duplicate,
    from neighbors
    cross join thresholds
    where rank = 0
),

-- over both corpora, so that an empty corpus does not empty the test set
images as (
    select
        testset,
        count(distinct (test_shard, test_row)) as images,
    from nearest
    where corpus in (select corpora.corpus from corpora)
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
        notes.distance,
        notes.note,
    from testsets
    cross join corpora
    inner join notes
        on notes.testset = testsets.testset
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
    if(shares.note is null, shares.near_duplicates, null) as near_duplicates,
    if(shares.note is null, shares.share, null) as share,
    if(shares.note is null, shares.share_interval.low, null) as share_low,
    if(shares.note is null, shares.share_interval.high, null) as share_high,
    shares.distance, -- a near duplicate is nearer: 1 - similarity
    $near_duplicate_distance::double is null as is_calibrated, -- it may also be just as far
    shares.note, -- why near duplicates are not counted; null: they are
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
