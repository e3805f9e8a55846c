-- How many training samples are just outside the similarity gap: Table 6 of the similarity paper.
-- One row per (test set, corpus), in the order of the view `testsets`; first the large corpus,
-- pruned to the test set's gap, then the whole small one.
--
-- testsets       position, testset, title
-- pruned         testset, manifest: the one pruned to this test set alone; a row per test set
-- members        manifest, corpus, pruning: a manifest is made of corpora, each with a pruning
-- manifest_rows  corpus, pruning, shard, row, kept
-- similarities   corpus, testset, shard, row, similarity, test_shard, test_row
-- neighbors      corpus, testset, test_shard, test_row, rank, similarity
-- published      row, testset, measure, value
-- $small, $large              corpora, as the views name them
-- $small_title, $large_title  titles of the corpora, as in the paper
-- $near_gap                   normalized similarity above which, strictly, a sample is near
--                             the gap; the paper's 0.9
with corpora as (
    select 0 as position, $large as corpus, $large_title as title
    union all
    select 1 as position, $small as corpus, $small_title as title
),

gaps as (
    select
        testset,
        test_shard,
        test_row,
        similarity as gap,
    from neighbors
    where corpus = $small and rank = 0
),

-- A sample's similarity to its most similar test image, relative to that image's gap. It has no
-- meaning for a gap of 0 or less: it is null, and counted.
normalized as (
    select
        similarities.corpus = $large as is_large,
        testsets.position,
        similarities.shard,
        similarities.row,
        case when gaps.gap > 0 then similarities.similarity / gaps.gap end as normalized_similarity,
    from similarities
    inner join testsets
        on testsets.testset = similarities.testset
    left join gaps
        on
            gaps.testset = similarities.testset
            and gaps.test_shard = similarities.test_shard
            and gaps.test_row = similarities.test_row
    where similarities.corpus in ($small, $large)
),

-- Few samples are near the gap: they are held in memory while the manifests are streamed.
candidates as materialized (
    select
        is_large,
        position,
        shard,
        row,
        normalized_similarity is not null as is_near,
    from normalized
    where normalized_similarity > $near_gap or normalized_similarity is null
),

prunings as (
    select
        testsets.position,
        members.pruning,
    from testsets
    inner join pruned
        on pruned.testset = testsets.testset
    inner join members
        on members.manifest = pruned.manifest and members.corpus = $large
),

kept_rows as (
    select
        prunings.position,
        manifest_rows.shard,
        manifest_rows.row,
    from manifest_rows
    inner join prunings
        on prunings.pruning = manifest_rows.pruning
    where manifest_rows.kept and manifest_rows.corpus = $large
),

near as (
    select
        $large as corpus,
        candidates.position,
        candidates.is_near,
    from kept_rows
    inner join candidates
        on
            candidates.position = kept_rows.position
            and candidates.shard = kept_rows.shard
            and candidates.row = kept_rows.row
    where candidates.is_large

    union all

    select
        $small as corpus,
        position,
        is_near,
    from candidates
    where not is_large
),

counts as (
    select
        corpus,
        position,
        count(*) filter (where is_near) as near_gap,
        count(*) filter (where not is_near) as not_normalized,
    from near
    group by corpus, position
)

select
    testsets.position,
    testsets.testset,
    testsets.title as testset_title,
    corpora.corpus,
    corpora.title as corpus_title,
    case when corpora.corpus = $large then pruned.manifest end as manifest,
    coalesce(counts.near_gap, 0) as near_gap,
    coalesce(counts.not_normalized, 0) as not_normalized,
    published.value::bigint as published_near_gap,
from testsets
cross join corpora
left join pruned
    on pruned.testset = testsets.testset
left join counts
    on counts.position = testsets.position and counts.corpus = corpora.corpus
left join published
    on
        paper_name(published.row) = paper_name(corpora.title)
        and published.testset = testsets.title
        and published.measure = 'near_gap'
order by testsets.position, corpora.position
