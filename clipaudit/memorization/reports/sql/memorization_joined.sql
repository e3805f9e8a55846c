-- The audits' values of records side by side: recall gaps, similarity to test images, and text in
-- the image.
-- One row per (k, group of records, quantity): groups by the record's recall gap, and all records;
-- k ascending, quantities in the order of their view. Records are those of A and B, each attacked
-- at the model that trained on it. Records without an object of their own are left out.
--
-- attacks        source, manifest, attacked, target, reference: models that recalled, as encoders
-- quantities     position, quantity (recall_gap, similarity, text_rate), testset or "", title
-- manifest_rows  corpus, set, shard, row, kept: which records are in a set
-- recalls        encoder, source, shard, row, k, truths, correct; of one public set
-- similarities   corpus (source.drawn), shard, row, testset, similarity
-- matches        corpus, shard, row, words_rate, plain_rate: of captions, CoTR
-- $tokenization  words or plain: which of the two rates counts
-- $neighbors     list of k
with groups (group_position, gap_group, group_title) as (
    values
        (0, 'above', 'target recalls more'),
        (1, 'equal', 'equal recall'),
        (2, 'below', 'reference recalls more'),
        (3, 'all', 'all records')
),

records as (
    select
        attacks.source,
        manifest_rows.shard,
        manifest_rows.row,
        attacks.target,
        attacks.reference,
    from manifest_rows
    inner join attacks
        on
            attacks.source = manifest_rows.corpus
            and attacks.manifest = manifest_rows.set
    where manifest_rows.kept
),

-- Equal fractions divide to equal floats: ties stay ties.
gaps as (
    select
        of_target.k,
        records.source,
        records.shard,
        records.row,
        (of_target.correct - of_reference.correct) / of_target.truths as recall_gap,
    from recalls as of_target
    inner join records
        on
            records.target = of_target.encoder
            and records.source = of_target.source
            and records.shard = of_target.shard
            and records.row = of_target.row
    inner join recalls as of_reference
        on
            of_reference.encoder = records.reference
            and of_reference.source = of_target.source
            and of_reference.shard = of_target.shard
            and of_reference.row = of_target.row
            and of_reference.k = of_target.k
    where of_target.truths > 0
),

measured as (
    select
        'recall_gap' as quantity,
        '' as testset,
        k,
        recall_gap,
        recall_gap as value,
    from gaps
    union all
    select
        'similarity' as quantity,
        similarities.testset,
        gaps.k,
        gaps.recall_gap,
        similarities.similarity as value,
    from similarities
    inner join gaps
        on
            gaps.source || '.drawn' = similarities.corpus
            and gaps.shard = similarities.shard
            and gaps.row = similarities.row
    union all
    select
        'text_rate' as quantity,
        '' as testset,
        gaps.k,
        gaps.recall_gap,
        if($tokenization = 'plain', matches.plain_rate, matches.words_rate) as value,
    from matches
    inner join gaps
        on
            gaps.source = matches.corpus
            and gaps.shard = matches.shard
            and gaps.row = matches.row
),

grouped as (
    select
        *,
        case sign(recall_gap) when 1 then 'above' when 0 then 'equal' else 'below' end as gap_group,
    from measured
    where value is not null
    union all
    select *, 'all' as gap_group,
    from measured
    where value is not null
),

-- summed by ascending value, so that the order of files does not matter
means as (
    select
        quantity,
        testset,
        k,
        gap_group,
        count(*) as records,
        avg(value order by value) as value,
    from grouped
    group by quantity, testset, k, gap_group
),

ranked as (
    select
        quantity,
        testset,
        k,
        doubled_rank(recall_gap, (quantity, testset, k)) as gap_rank,
        doubled_rank(value, (quantity, testset, k)) as value_rank,
    from measured
    where value is not null and quantity <> 'recall_gap'
),

correlations as (
    select
        quantity,
        testset,
        k,
        'all' as gap_group,
        rank_correlation(gap_rank, value_rank) as rank_correlation,
    from ranked
    group by quantity, testset, k
),

record_counts as (
    select k, gap_group, records,
    from means
    where quantity = 'recall_gap'
),

cells as (
    select
        neighborhoods.k,
        groups.*,
        quantities.position as quantity_position,
        quantities.quantity,
        quantities.testset,
        quantities.title as quantity_title,
    from (select unnest($neighbors::int[]) as k) as neighborhoods
    cross join groups
    cross join quantities
)

select
    dense_rank() over (order by cells.k, cells.group_position)::int - 1 as position,
    cells.k,
    cells.gap_group,
    cells.group_title,
    if(
        cells.group_position = 0, concat('k = ', cells.k, ': ', cells.group_title),
        cells.group_title
    ) as records_of,
    cells.group_position > 0 as indent,
    coalesce(record_counts.records, 0) as records,
    concat_ws(' ', cells.quantity, nullif(cells.testset, '')) as measure,
    cells.quantity,
    nullif(cells.testset, '') as testset,
    cells.quantity_title as measure_title,
    coalesce(means.records, 0) as known,
    means.value,
    correlations.rank_correlation,
from cells
left join record_counts
    on record_counts.k = cells.k and record_counts.gap_group = cells.gap_group
left join means
    on
        means.k = cells.k
        and means.gap_group = cells.gap_group
        and means.quantity = cells.quantity
        and means.testset = cells.testset
left join correlations
    on
        correlations.k = cells.k
        and correlations.gap_group = cells.gap_group
        and correlations.quantity = cells.quantity
        and correlations.testset = cells.testset
order by cells.k, cells.group_position, cells.quantity_position
