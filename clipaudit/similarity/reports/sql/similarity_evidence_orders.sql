-- What it costs a test set to lose the training samples nearest to one test set, rather than as
-- many random ones, and those rather than the farthest ones; over seeds.
-- One row per (test set, measure), in the order of the view `testsets`; values are means over the
-- seeds and bounds are 95 % intervals of these means, over seeds and images.
--
-- arms           recipe, manifest, pruning_order (near, rand, far): three for each recipe (seed)
-- testsets       position, testset, title
-- predictions    recipe, manifest, testset, shard, row, right_rank
with judged as (
    select
        arms.recipe,
        arms.pruning_order,
        predictions.testset,
        predictions.shard,
        predictions.row,
        (predictions.right_rank = 0)::int as is_right,
    from arms
    inner join predictions
        on predictions.recipe = arms.recipe and predictions.manifest = arms.manifest
),

-- What one image adds to each measure under one seed.
answers as (
    select
        recipe,
        testset,
        shard,
        row,
        unnest([
            {'measure': 'near', 'value': near},
            {'measure': 'rand', 'value': rand},
            {'measure': 'far', 'value': far},
            {'measure': 'near_effect', 'value': near - rand},
            {'measure': 'rand_effect', 'value': rand - far},
        ], recursive := true),
    from (
        select
            recipe,
            testset,
            shard,
            row,
            max(is_right) filter (where pruning_order = 'near') as near,
            max(is_right) filter (where pruning_order = 'rand') as rand,
            max(is_right) filter (where pruning_order = 'far') as far,
        from judged
        group by recipe, testset, shard, row
    )
),

by_seed as (
    select
        testset,
        measure,
        recipe,
        sum(value) as total,
        avg(value order by shard, row) as value,
    from answers
    group by testset, measure, recipe
),

by_image as (
    select
        testset,
        measure,
        avg(value order by recipe) as value,
    from answers
    group by testset, measure, shard, row
),

over_images as (
    select
        testset,
        measure,
        count(*) as images,
        coalesce(var_samp(value), 0) / count(*) as variance,
    from by_image
    group by testset, measure
),

measures (measure_position, measure, measure_title) as (
    values
    (0, 'near', 'accuracy, near-pruned'),
    (1, 'rand', 'accuracy, rand-pruned'),
    (2, 'far', 'accuracy, far-pruned'),
    (3, 'near_effect', 'near less rand'),
    (4, 'rand_effect', 'rand less far')
),

summary as (
    select
        by_seed.testset,
        by_seed.measure,
        count(*) as seeds,
        any_value(over_images.images) as images,
        avg(by_seed.value order by by_seed.recipe) as value,
        if(
            by_seed.measure in ('near', 'rand', 'far'),
            accuracy_over_seeds(
                list(by_seed.total::bigint order by by_seed.recipe), any_value(over_images.images)
            ),
            difference_over_seeds(
                list(by_seed.value order by by_seed.recipe),
                any_value(over_images.variance),
                any_value(over_images.images)
            )
        ) as bounds,
    from by_seed
    inner join over_images
        on over_images.testset = by_seed.testset and over_images.measure = by_seed.measure
    group by by_seed.testset, by_seed.measure
)

select
    testsets.position,
    testsets.testset,
    testsets.title as testset_title,
    summary.measure,
    measures.measure_title,
    summary.seeds,
    summary.images,
    summary.value,
    summary.bounds.low as value_low,
    summary.bounds.high as value_high,
from testsets
inner join summary
    on summary.testset = testsets.testset
inner join measures
    on measures.measure = summary.measure
order by testsets.position, measures.measure_position
