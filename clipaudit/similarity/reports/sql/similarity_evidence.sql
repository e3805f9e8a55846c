-- What pruning to one test set's gap costs, against a random set of the same size, over seeds.
-- One row per (test set, measure), in the order of the view `testsets`; values are means over the
-- seeds and bounds are 95 % intervals of these means.
--
-- arms           recipe, manifest, is_pruned: two arms for each recipe (seed)
-- testsets       position, testset, title
-- predictions    recipe, manifest, testset, right_rank
-- $reference     the test set that the others' effects are compared with
-- $t             the 97.5 % quantile of Student's t, one degree of freedom fewer than recipes
with accuracies as (
    select
        arms.recipe,
        arms.is_pruned,
        predictions.testset,
        count(*) as images,
        avg((predictions.right_rank = 0)::int) as accuracy,
    from arms
    inner join predictions
        on predictions.recipe = arms.recipe and predictions.manifest = arms.manifest
    group by arms.recipe, arms.is_pruned, predictions.testset
),

effects as (
    select
        recipe,
        testset,
        any_value(images) as images,
        any_value(accuracy) filter (where is_pruned) as pruned_accuracy,
        any_value(accuracy) filter (where not is_pruned) as random_accuracy,
        pruned_accuracy - random_accuracy as effect,
    from accuracies
    group by recipe, testset
),

-- The effect beyond what the reference test set suffers under the same seed.
compared as (
    select
        effects.*,
        effects.effect - reference.effect as excess,
    from effects
    inner join effects as reference
        on reference.recipe = effects.recipe and reference.testset = $reference
),

measured as (
    select testset, recipe, images, 0 as measure_position, 'pruned' as measure,
        'accuracy, pruned set' as measure_title, pruned_accuracy as value,
    from compared
    union all
    select testset, recipe, images, 1, 'random', 'accuracy, random set', random_accuracy
    from compared
    union all
    select testset, recipe, images, 2, 'effect', 'difference', effect
    from compared
    union all
    select testset, recipe, images, 3, 'excess', 'difference beyond the reference', excess
    from compared
),

summary as (
    select
        testset,
        measure_position,
        measure,
        measure_title,
        if(measure in ('pruned', 'random'), 0, -1) as least_possible,
        count(*) as seeds,
        max(images) as images,
        avg(value order by recipe) as value,
        $t * stddev_samp(value order by recipe) / sqrt(count(*)) as margin,
    from measured
    group by testset, measure_position, measure, measure_title
)

select
    testsets.position,
    testsets.testset,
    testsets.title as testset_title,
    summary.measure,
    summary.measure_title,
    summary.seeds,
    summary.images,
    summary.value,
    greatest(summary.value - summary.margin, least_possible) as value_low,
    least(summary.value + summary.margin, 1) as value_high,
from testsets
inner join summary
    on summary.testset = testsets.testset
order by testsets.position, summary.measure_position
