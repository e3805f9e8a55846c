-- Whether a score of each pair distinguishes a model's training pairs from a hold-out.
-- One row per (test, score, measure), in the order of the views. A test without a reference has
-- only the score `target`.
--
-- tests       position, encoder, source, holdout, title
-- scores      position, score, title: target, difference, augmented, augmented_pictures, recall_gap,
--             reference
-- measures    position, measure, title, needed: hold-out records without which there is no value
-- pair_tests  encoder, source, holdout, score, measure, members, holdout_records, value, low, high
-- pair_tests_over_seeds  the same without encoder; a test with the encoder "" is over seeds
with tested as (
    select
        encoder, source, holdout, score, measure, members, holdout_records, value, low, high,
    from pair_tests
    union all
    select
        '' as encoder, source, holdout, score, measure, members, holdout_records, value, low, high,
    from pair_tests_over_seeds
),

found as (
    select
        tests.position as test_position,
        tests.title as test_title,
        scores.position as score_position,
        scores.title as score_title,
        measures.position as measure_position,
        measures.title as measure_title,
        measures.needed,
        tested.*,
        scores.position = min(scores.position) over (partition by tests.position) as is_first,
    from tested
    inner join tests
        on
            tests.encoder = tested.encoder
            and tests.source = tested.source
            and tests.holdout = tested.holdout
    inner join scores
        on scores.score = tested.score
    inner join measures
        on measures.measure = tested.measure
)

select
    dense_rank() over (order by test_position, score_position)::int - 1 as position,
    encoder, -- the model whose training pairs are tested; "": mean over seeds
    source,
    holdout, -- source of the hold-out
    source = holdout as by_lot, -- whether members and hold-out are drawn at random from one source
    test_title, -- the source and the model, as printed
    if(is_first, concat(test_title, ': ', score_title), score_title) as test, -- as printed
    not is_first as indent,
    score, -- target: its cosine; difference: minus the reference's; augmented: minus that with a word dropped; augmented_pictures: minus that of crops; recall_gap: of objects
    score_title, -- as printed
    measure, -- auc, or the true-positive rate at 1 % or 0.1 % false positives
    measure_title,
    value, -- of the measure; null: too few hold-out records
    low as value_low, -- lower bound, 95 %
    high as value_high, -- upper bound, 95 %
    members, -- pairs that the model trained on
    holdout_records, -- pairs that it never saw
    needed, -- hold-out records that the measure needs
    -- the reference saw neither set: if it separates them, they differ for another reason
    coalesce(score = 'reference' and measure = 'auc' and not 0.5 between low and high, false)
        as control_fails, -- whether members and hold-out differ without any training
from found
order by test_position, score_position, measure_position
