-- How far other encoders agree with the audit's own: Table 5 of the similarity paper, Spearman's
-- rank correlation of the similarities of test images to the small corpus. Added here: which samples
-- of the large corpus each encoder prunes to the gaps of a test set.
-- One row per (test set, other encoder), in the order of the views `testsets` and `others`.
--
-- testsets       position, testset, title
-- others         position, encoder, title: names the audit's own encoder and this one
-- neighbors      encoder, testset, test_shard, test_row, rank, similarity; of the small corpus only
-- similarities   encoder, testset, shard, row, gap_similarity, gap; of the large corpus only
-- drops          encoder, shard, row: samples of the large corpus that an encoder did not embed
-- manifest_rows  shard, row, kept: the set that prunings of the large corpus start from
-- published      row, testset, measure, value
-- $encoder       the audit's own, as the views name it
-- $small_title   title of the small corpus
with pairs as (
    select
        others.position,
        first.testset,
        doubled_rank(first.similarity, (others.position, first.testset)) as first_rank,
        doubled_rank(other.similarity, (others.position, first.testset)) as other_rank,
    from neighbors as first
    inner join neighbors as other
        on
            other.testset = first.testset
            and other.test_shard = first.test_shard
            and other.test_row = first.test_row
    inner join others
        on others.encoder = other.encoder
    where
        first.encoder = $encoder
        and first.rank = 0
        and other.rank = 0
),

correlations as (
    select
        position,
        testset,
        count(*) as images,
        rank_correlation(first_rank, other_rank) as correlation,
    from pairs
    group by position, testset
),

-- Few samples cross a gap or were not embedded: they are held in memory while the manifest is
-- streamed.
crossed as materialized (
    select
        others.position,
        similarities.testset,
        similarities.shard,
        similarities.row,
        bool_or(similarities.encoder = $encoder) as by_first,
        bool_or(similarities.encoder = others.encoder) as by_other,
    from similarities
    inner join others
        on similarities.encoder = $encoder or similarities.encoder = others.encoder
    where similarities.gap_similarity > similarities.gap
    group by all
),

undecided as materialized (
    select distinct
        others.position,
        drops.shard,
        drops.row,
    from drops
    inner join others
        on drops.encoder = $encoder or drops.encoder = others.encoder
),

base as (
    select
        shard,
        row,
    from manifest_rows
    where kept
),

sizes as (
    select
        others.position,
        any_value(whole.samples) - count(undecided.row) as samples,
    from others
    cross join (select count(*) as samples from base) as whole
    left join (
        select undecided.*
        from base
        inner join undecided
            on undecided.shard = base.shard and undecided.row = base.row
    ) as undecided
        on undecided.position = others.position
    group by others.position
),

decided as (
    select crossed.*
    from base
    inner join crossed
        on crossed.shard = base.shard and crossed.row = base.row
    anti join undecided
        on
            undecided.position = crossed.position
            and undecided.shard = crossed.shard
            and undecided.row = crossed.row
),

decisions as (
    select
        position,
        testset,
        count(*) filter (where by_first and by_other) as both,
        count(*) filter (where not by_other) as first_alone,
        count(*) filter (where not by_first) as other_alone,
    from decided
    group by position, testset
),

counts as (
    select
        others.position,
        testsets.testset,
        sizes.samples,
        coalesce(decisions.both, 0) as by_both,
        coalesce(decisions.first_alone, 0) as by_first_alone,
        coalesce(decisions.other_alone, 0) as by_other_alone,
        samples - by_both - by_first_alone - by_other_alone as by_neither,
        by_both + by_first_alone + by_other_alone as by_either,
    from testsets
    cross join others
    inner join sizes
        on sizes.position = others.position
    left join decisions
        on decisions.testset = testsets.testset and decisions.position = others.position
    where sizes.samples > 0
),

agreements as (
    select
        *,
        (by_both + by_first_alone) * ((by_both + by_other_alone) / samples) as both_by_chance,
        by_both / nullif(by_either, 0) as jaccard,
        exact_interval(by_both, by_either) as jaccard_interval,
        -- Cohen's kappa, with the fractions multiplied out: null if all decisions are the same
        2 * (by_both::hugeint * by_neither - by_first_alone::hugeint * by_other_alone) / nullif(
            (by_both + by_first_alone)::hugeint * (by_first_alone + by_neither)
            + (by_both + by_other_alone)::hugeint * (by_other_alone + by_neither),
            0
        ) as kappa,
        kappa_interval(by_both, by_first_alone, by_other_alone, by_neither) as kappa_interval,
    from counts
)

select
    testsets.position,
    testsets.testset,
    testsets.title as testset_title,
    others.position as encoder_position,
    concat_ws('/', $encoder, others.encoder) as encoders,
    others.title as encoders_title,
    coalesce(correlations.images, 0) as images,
    correlations.correlation,
    published.value as published_correlation,
    agreements.samples,
    agreements.by_both,
    agreements.by_first_alone,
    agreements.by_other_alone,
    agreements.by_neither,
    agreements.both_by_chance,
    agreements.jaccard,
    agreements.jaccard_interval.low as jaccard_low,
    agreements.jaccard_interval.high as jaccard_high,
    agreements.kappa,
    agreements.kappa_interval.low as kappa_low,
    agreements.kappa_interval.high as kappa_high,
from testsets
cross join others
left join correlations
    on correlations.testset = testsets.testset and correlations.position = others.position
left join agreements
    on agreements.testset = testsets.testset and agreements.position = others.position
left join published
    on
        paper_name(published.row) = paper_name(concat($small_title, ' by ', others.title))
        and published.testset = testsets.title
        and published.measure = 'spearman'
order by testsets.position, others.position
