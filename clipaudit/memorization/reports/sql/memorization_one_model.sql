-- What a model recalls of its training pictures' objects beyond what captions alone tell.
-- One row per (test, k, reference, measure, part), in the order of the views. A measure's row of the
-- reference `model` has no agreement with itself.
--
-- tests       position, encoder, source, holdout, title
-- baselines   position, reference, title: words, captions, model
-- parts       position, part, title: members, holdout, net, agreement_members, agreement_holdout
-- one_model   encoder, source, holdout, k, reference, measure, part, records, value, low, high
with measures (measure_position, measure, measure_name) as (
    values
        (0, 'prg', 'PRG'),
        (1, 'aucg', 'AUCG')
)

select
    dense_rank() over (
        order by tests.position, one_model.k, baselines.position, measures.measure_position
    )::int - 1 as position,
    one_model.encoder, -- the model whose training records are tested
    one_model.source,
    one_model.holdout, -- source of the hold-out
    one_model.k,
    one_model.reference, -- words: naive Bayes; captions: nearest public ones; model: a second model
    concat(
        tests.title, ', k = ', one_model.k, ', against ', baselines.title, ': ',
        measures.measure_name
    ) as attack,
    one_model.measure, -- prg or aucg, as in memorization_gaps
    one_model.part, -- members, holdout: the gap on them; net: their difference; agreement_members, agreement_holdout
    parts.title as part_title, -- as printed
    one_model.records, -- with an object of their own
    one_model.value, -- the gap, or Spearman's correlation with the gaps of two models
    one_model.low as value_low, -- lower bound, 95 %
    one_model.high as value_high, -- upper bound, 95 %
from one_model
inner join tests
    on
        tests.encoder = one_model.encoder
        and tests.source = one_model.source
        and tests.holdout = one_model.holdout
inner join baselines
    on baselines.reference = one_model.reference
inner join parts
    on parts.part = one_model.part
inner join measures
    on measures.measure = one_model.measure
order by
    tests.position,
    one_model.k,
    baselines.position,
    measures.measure_position,
    parts.position
