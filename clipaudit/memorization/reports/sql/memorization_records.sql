-- Single records of A and B, each attacked at the model trained on it: both models' recall
-- of its image, the share of records with as large a gap, the image's similarity to test images,
-- and the share of its caption in the image.
-- One row per (k, record, quantity): k ascending, the largest recall gaps first, then the most
-- labels recalled beyond the reference, then by uid and (source, shard, row); quantities in the
-- order of their view. Records without an object of their own are left out.
--
-- attacks        source, manifest, attacked, target, reference: models that recalled, as encoders;
--                attacked is a, b or holdout, whose records no model was trained on
-- quantities     position, quantity (recall_gap, precision_gap, similarity, text_rate), testset or
--                "", title
-- manifest_rows  corpus, set, shard, row, kept: which records are in a set
-- samples        source, shard, row, uid, caption
-- recalls        encoder, source, shard, row, k, truths, predicted, correct; of one public set
-- similarities   corpus (source.drawn), shard, row, testset, similarity
-- matches        corpus, shard, row, words_rate, plain_rate: of captions, CoTR
-- $tokenization  words or plain: which of the two rates counts
-- $limit         records listed per k; null: all
with records as (
    select
        attacks.source,
        attacks.attacked,
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

every as (
    select
        of_target.k,
        records.source,
        records.attacked,
        records.shard,
        records.row,
        of_target.truths,
        of_target.correct as target_correct,
        of_target.predicted as target_predicted,
        of_reference.correct as reference_correct,
        of_reference.predicted as reference_predicted,
        (target_correct - reference_correct) / of_target.truths as recall_gap,
        target_correct / greatest(target_predicted, 1)
        - reference_correct / greatest(reference_predicted, 1) as precision_gap,
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

pairs as (
    select
        *,
        cume_dist() over (partition by k order by recall_gap desc) as share_of_members,
    from every
    where attacked <> 'holdout'
),

unseen as (
    select
        k,
        recall_gap,
        cume_dist() over (partition by k order by recall_gap desc) as share,
    from every
    where attacked = 'holdout'
),

-- without captions, which are looked up only for the listed records
placed as (
    select
        pairs.*,
        samples.uid::varchar as uid,
        row_number() over (
            partition by pairs.k
            order by
                pairs.recall_gap desc,
                pairs.target_correct - pairs.reference_correct desc,
                samples.uid::varchar,
                pairs.source,
                pairs.shard,
                pairs.row
        ) - 1 as place,
    from samples
    inner join pairs
        on
            pairs.source = samples.source
            and pairs.shard = samples.shard
            and pairs.row = samples.row
),

listed as (
    select *,
    from placed
    where place < coalesce($limit::bigint, place + 1)
),

shares as (
    select
        gaps.k,
        gaps.recall_gap,
        if(
            exists (select 1 from unseen where unseen.k = gaps.k),
            (
                select coalesce(max(unseen.share), 0)
                from unseen
                where unseen.k = gaps.k and unseen.recall_gap >= gaps.recall_gap
            ),
            null
        ) as share_of_holdout,
    from (select distinct k, recall_gap from listed) as gaps
),

described as (
    select listed.*, shares.share_of_holdout, samples.caption,
    from samples
    inner join listed
        on
            listed.source = samples.source
            and listed.shard = samples.shard
            and listed.row = samples.row
    inner join shares
        on shares.k = listed.k and shares.recall_gap = listed.recall_gap
),

measured as (
    select k, place, 'recall_gap' as quantity, '' as testset, recall_gap as value,
    from listed
    union all
    select k, place, 'precision_gap' as quantity, '' as testset, precision_gap as value,
    from listed
    union all
    select
        listed.k,
        listed.place,
        'similarity' as quantity,
        similarities.testset,
        similarities.similarity as value,
    from similarities
    inner join listed
        on
            listed.source || '.drawn' = similarities.corpus
            and listed.shard = similarities.shard
            and listed.row = similarities.row
    union all
    select
        listed.k,
        listed.place,
        'text_rate' as quantity,
        '' as testset,
        if($tokenization = 'plain', matches.plain_rate, matches.words_rate) as value,
    from matches
    inner join listed
        on
            listed.source = matches.corpus
            and listed.shard = matches.shard
            and listed.row = matches.row
)

select
    dense_rank() over (order by described.k, described.place)::int - 1 as position,
    concat('k = ', described.k, ': ', left(coalesce(described.caption, described.uid), 100)) as record,
    described.k,
    described.source,
    described.attacked as "set",
    described.shard,
    described.row,
    described.uid,
    described.caption,
    described.truths,
    described.target_correct,
    described.target_predicted,
    described.reference_correct,
    described.reference_predicted,
    described.share_of_members,
    described.share_of_holdout,
    concat_ws(' ', quantities.quantity, nullif(quantities.testset, '')) as measure,
    quantities.quantity,
    nullif(quantities.testset, '') as testset,
    quantities.title as measure_title,
    measured.value,
from described
cross join quantities
left join measured
    on
        measured.k = described.k
        and measured.place = described.place
        and measured.quantity = quantities.quantity
        and measured.testset = quantities.testset
order by described.k, described.place, quantities.position
