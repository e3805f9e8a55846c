-- How near training samples are to the similarity gap: Figure 14 of the similarity paper.
-- One row per (test set, corpus, bin that holds a sample), in the order of the view `testsets`; first
-- the large corpus, pruned to the test set's gap, then the whole small one; bins ascending. A corpus
-- without samples has one row, without a bin.
--
-- testsets       position, testset, title
-- pruned         testset, manifest: the one pruned to this test set alone; a row per test set
-- members        manifest, corpus, pruning: a manifest is made of corpora, each with a pruning
-- manifest_rows  corpus, pruning, shard, row, kept
-- similarities   corpus, testset, shard, row, similarity, test_shard, test_row
-- neighbors      testset, test_shard, test_row, rank, similarity: of the small corpus, the gaps
-- $small, $large              corpora, as the views name them
-- $small_title, $large_title  titles of the small corpus and of the pruned large one
-- $bins                       bins per unit of normalized similarity
with series as (
    select 0 as position, 'pruned' as series, $large as corpus, $large_title as title
    union all
    select 1 as position, 'small' as series, $small as corpus, $small_title as title
),

gaps as (
    select
        testset,
        test_shard,
        test_row,
        similarity as gap,
    from neighbors
    where rank = 0
),

-- A sample's similarity to its most similar test image, relative to that image's gap. Without a
-- positive gap it has no meaning: such samples have no bin, and are counted. A sample on the gap, at
-- 1, or so near that the quotient is rounded to 1, is in the last bin below 1. No sample of either
-- corpus is above 1.
normalized as (
    select
        similarities.corpus = $large as is_large,
        testsets.position,
        similarities.shard,
        similarities.row,
        case
            when gaps.gap <= 0 then null
            when similarities.similarity <= gaps.gap
                then least(floor($bins * similarities.similarity / gaps.gap), $bins - 1)
            else floor($bins * similarities.similarity / gaps.gap)
        end::int as bin,
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

-- A manifest may have hundreds of millions of rows, and there is one for each test set. Each row
-- is one bit here, 64 to a word, so that the lookup table is small.
kept_words as (
    select
        prunings.position,
        manifest_rows.shard,
        manifest_rows.row // 64 as word,
        bit_or(1::ubigint << (manifest_rows.row % 64)::ubigint) as bits,
    from manifest_rows
    inner join prunings
        on prunings.pruning = manifest_rows.pruning
    where manifest_rows.kept and manifest_rows.corpus = $large
    group by prunings.position, manifest_rows.shard, word
),

counts as (
    select
        if(normalized.is_large, 'pruned', 'small') as series,
        normalized.position,
        normalized.bin,
        count(*) as samples,
    from normalized
    left join kept_words
        on
            kept_words.position = normalized.position
            and kept_words.shard = normalized.shard
            and kept_words.word = normalized.row // 64
    where
        not normalized.is_large
        or (kept_words.bits >> (normalized.row % 64)::ubigint) & 1 = 1
    group by normalized.is_large, normalized.position, normalized.bin
),

totals as (
    select
        series,
        position,
        coalesce(sum(samples) filter (where bin is not null), 0)::bigint as samples,
        coalesce(sum(samples) filter (where bin is null), 0)::bigint as not_normalized,
    from counts
    group by series, position
)

select
    testsets.position,
    testsets.testset,
    testsets.title as testset_title,
    series.position as series_position,
    series.series,
    series.title as series_title,
    series.corpus,
    case when series.series = 'pruned' then pruned.manifest end as manifest,
    counts.bin / $bins as bin_low,
    (counts.bin + 1) / $bins as bin_high,
    coalesce(counts.samples, 0) as samples,
    coalesce(totals.samples, 0) as all_samples,
    coalesce(totals.not_normalized, 0) as not_normalized,
    counts.samples / totals.samples as share,
    counts.samples * $bins / totals.samples as density,
from testsets
cross join series
left join pruned
    on pruned.testset = testsets.testset
left join totals
    on totals.series = series.series and totals.position = testsets.position
left join counts
    on
        counts.series = series.series
        and counts.position = testsets.position
        and counts.bin is not null
order by testsets.position, series.position, counts.bin
