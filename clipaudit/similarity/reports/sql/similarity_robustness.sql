-- Effective robustness (Taori et al., 2020; Fang et al., 2022): how much more accurate a model is
-- on a test set than models trained only on the small corpus would be with the same accuracy on the
-- reference test set. In the similarity paper's Discussion this is ImageNet's "effective
-- robustness line".
-- One row per (data set, test set), in the order of the views. The reference test set has no
-- expected accuracy. Bounds are those of a further model of the small corpus: a prediction interval,
-- which needs three models.
--
-- rows         position, dataset, recipe, manifest: the models that are compared
-- testsets     position, testset, title
-- predictions  recipe, manifest, testset, right_rank
-- line_models  recipe, manifest: models of the small corpus, to which the line is fitted
-- line_points  model, testset, accuracy: further models, from the settings
-- published    row, testset, measure, value
-- $reference   the test set of the horizontal axis
with accuracies as (
    select
        recipe,
        manifest,
        testset,
        count(*) as images,
        count(*) filter (where right_rank = 0) / images as accuracy,
        -- An accuracy of 0 or 1 has no logit.
        case when accuracy > 0 and accuracy < 1 then ln(accuracy / (1 - accuracy)) end as logit,
    from predictions
    group by recipe, manifest, testset
),

points as (
    select
        concat_ws('/', accuracies.recipe, accuracies.manifest) as model,
        accuracies.testset,
        accuracies.logit,
    from accuracies
    inner join line_models
        on
            line_models.recipe = accuracies.recipe
            and line_models.manifest = accuracies.manifest
    union all
    select
        model,
        testset,
        ln(accuracy / (1 - accuracy)) as logit,
    from line_points
),

pairs as (
    select
        points.testset,
        reference.logit as reference_logit,
        points.logit,
    from points
    inner join points as reference
        on reference.model = points.model
    where reference.testset = $reference and points.testset != $reference
),

lines as (
    select
        testset,
        count(*) filter (where reference_logit is not null and logit is not null) as points,
        count(*) - points as points_left_out,
        line_fit(list(reference_logit), list(logit)) as line,
        list(reference_logit) as reference_logits,
        list(logit) as logits,
    from pairs
    group by testset
),

models as (
    select
        rows.position,
        rows.dataset,
        rows.recipe,
        rows.manifest,
        testsets.position as testset_position,
        testsets.testset,
        testsets.title as testset_title,
        coalesce(own.images, 0) as images,
        reference.accuracy as reference_accuracy,
        own.accuracy,
        coalesce(lines.points, 0) as points,
        coalesce(lines.points_left_out, 0) as points_left_out,
        lines.line.intercept,
        lines.line.slope,
        -- digits beyond the line's precision are dropped
        round(1 / (1 + exp(-(lines.line.intercept + lines.line.slope * reference.logit))), 9)
            as expected_accuracy,
        line_bounds(lines.reference_logits, lines.logits, reference.logit) as bounds,
    from rows
    cross join testsets
    left join accuracies as own
        on
            own.recipe = rows.recipe
            and own.manifest = rows.manifest
            and own.testset = testsets.testset
    left join accuracies as reference
        on
            reference.recipe = rows.recipe
            and reference.manifest = rows.manifest
            and reference.testset = $reference
    left join lines
        on lines.testset = testsets.testset
)

select
    models.position,
    models.dataset,
    models.recipe,
    models.manifest,
    models.testset,
    models.testset_title,
    models.testset = $reference as is_reference,
    models.images,
    models.points,
    models.points_left_out,
    models.intercept,
    models.slope,
    models.reference_accuracy,
    models.accuracy,
    models.expected_accuracy,
    round(models.accuracy - models.expected_accuracy, 9) as effective_robustness,
    round(models.accuracy - 1 / (1 + exp(-models.bounds.high)), 9)
        as effective_robustness_low, -- 95 %; null: fewer than three models
    round(models.accuracy - 1 / (1 + exp(-models.bounds.low)), 9)
        as effective_robustness_high, -- 95 %; null: fewer than three models
    round(expected.value / 100, 6) as published_expected_accuracy,
    round(observed.value / 100, 6) as published_accuracy,
    round((observed.value - expected.value) / 100, 6) as published_effective_robustness,
from models
left join published as expected
    on
        paper_name(expected.row) = paper_name(models.dataset)
        and expected.testset = models.testset_title
        and expected.measure = 'expected_accuracy_percent'
left join published as observed
    on
        paper_name(observed.row) = paper_name(models.dataset)
        and observed.testset = models.testset_title
        and observed.measure = 'accuracy_percent'
order by models.position, models.testset_position
