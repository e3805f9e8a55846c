-- What it costs a test set to lose the training samples nearest to one test set, rather than as
-- many random ones, and those rather than the farthest ones; over seeds.
-- One row per (test set, measure), in the order of the view `testsets`; values are means over the
-- seeds and bounds are 95 % intervals of these means.
--
-- arms           recipe, manifest, pruning_order (near, rand, far): three for each recipe (seed)
-- testsets       position, testset, title
-- predictions    recipe, manifest, testset, right_rank
-- $t             the 97.5 % quantile of Student's t, one degree of freedom fewer than recipes
with accuracies as (
    select
        predictions.recipe,
        predictions.testset,
        arms.pruning_order,
        count(*) as images,
        avg((predictions.right_rank = 0)::int) as accuracy,
    from predictions
    inner join arms
        on arms.recipe = predictions.recipe and arms.manifest = predictions.manifest
    group by predictions.recipe, predictions.testset, arms.pruning_order
),

by_recipe as (
    select
        recipe,
        testset,
        max(images) as images,
        any_value(accuracy) filter (where pruning_order = 'near') as near,
        any_value(accuracy) filter (where pruning_order = 'rand') as rand,
        any_value(accuracy) filter (where pruning_order = 'far') as far,
    from accuracies
    group by recipe, testset
),

measured as (
    select testset, recipe, images, 0 as measure_position, 'near' as measure,
        'accuracy, near-pruned' as measure_title, near as value,
    from by_recipe
    union all
    select testset, recipe, images, 1, 'rand', 'accuracy, rand-pruned', rand
    from by_recipe
    union all
    select testset, recipe, images, 2, 'far', 'accuracy, far-pruned', far
    from by_recipe
    union all
    select testset, recipe, images, 3, 'near_effect', 'near less rand', near - rand
    from by_recipe
    union all
    select testset, recipe, images, 4, 'rand_effect', 'rand less far', rand - far
    from by_recipe
),

summary as (
    select
        testset,
        measure_position,
        measure,
        measure_title,
        if(measure in ('near_effect', 'rand_effect'), -1, 0) as least_possible,
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
