-- A model's recall of its training images' objects beyond what captions alone reveal.
-- One row per (test, k, reference, measure, part), in the order of the views. The reference
-- `model` has no agreement, which would compare it with itself.
--
-- tests       position, encoder, source, holdout, title
-- baselines   position, reference, title: words, captions, model
-- parts       position, part, title: members, holdout, net, less_model, agreement_members,
--             agreement_holdout
-- one_model   encoder, source, holdout, k, reference, measure, part, records, value, low, high
-- one_model_over_seeds  the same without encoder; a test with the encoder "" is over seeds
with tested as (
    select encoder, source, holdout, k, reference, measure, part, records, value, low, high,
    from one_model
    union all
    select '' as encoder, source, holdout, k, reference, measure, part, records, value, low, high,
    from one_model_over_seeds
),

measures (measure_position, measure, measure_name) as (
    values
        (0, 'prg', 'PRG'),
        (1, 'aucg', 'AUCG')
)

select
    dense_rank() over (
        order by tests.position, tested.k, baselines.position, measures.measure_position
    )::int - 1 as position,
    tested.encoder, -- the model whose training records are tested; "": mean over seeds
    tested.source,
    tested.holdout, -- source of the hold-out
    tested.k,
    tested.reference, -- words: naive Bayes; captions: nearest public ones; model: a second model
    concat(
        tests.title, ', k = ', tested.k, ', against ', baselines.title, ': ',
        measures.measure_name
    ) as attack,
    tested.measure, -- prg or aucg, as in memorization_gaps
    tested.part, -- members, holdout: the gap on them; net: their difference; less_model: minus that of two models; agreement_members, agreement_holdout
    parts.title as part_title, -- as printed
    tested.records, -- records with an object of their own
    tested.value, -- the gap, or Spearman's correlation with the gaps of two models
    tested.low as value_low, -- lower bound, 95 %
    tested.high as value_high, -- upper bound, 95 %
from tested
inner join tests
    on
        tests.encoder = tested.encoder
        and tests.source = tested.source
        and tests.holdout = tested.holdout
inner join baselines
    on baselines.reference = tested.reference
inner join parts
    on parts.part = tested.part
inner join measures
    on measures.measure = tested.measure
order by
    tests.position,
    tested.k,
    baselines.position,
    measures.measure_position,
    parts.position
