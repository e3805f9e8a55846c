-- What pruning to one test set's gap costs, against a random set of the same size, over seeds.
-- One row per (test set, measure), in the order of the view `testsets`; values are means over the
-- seeds and bounds are 95 % intervals of these means, over seeds and images. Beyond itself the
-- reference has no difference, and no interval.
--
-- arms           recipe, manifest, is_pruned: two arms for each recipe (seed)
-- testsets       position, testset, title
-- predictions    recipe, manifest, testset, shard, row, right_rank
-- $reference     the test set that the others' effects are compared with
with judged as (
    select
        arms.recipe,
        arms.is_pruned,
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
            {'measure': 'pruned', 'value': pruned},
            {'measure': 'random', 'value': random},
            {'measure': 'effect', 'value': pruned - random},
        ], recursive := true),
    from (
        select
            recipe,
            testset,
            shard,
            row,
            max(is_right) filter (where is_pruned) as pruned,
            max(is_right) filter (where not is_pruned) as random,
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
    (0, 'pruned', 'accuracy, pruned set'),
    (1, 'random', 'accuracy, random set'),
    (2, 'effect', 'difference'),
    (3, 'excess', 'difference beyond the reference')
),

-- The effect beyond what the reference test set suffers under the same seed.
excesses as (
    select
        own.testset,
        'excess' as measure,
        own.recipe,
        null as total,
        own.value - reference.value as value,
    from by_seed as own
    inner join by_seed as reference
        on
            reference.recipe = own.recipe
            and reference.measure = own.measure
            and reference.testset = $reference
    where own.measure = 'effect'
),

excess_noise as (
    select
        own.testset,
        'excess' as measure,
        own.images,
        if(own.testset = $reference, null, own.variance + reference.variance) as variance,
        least(own.images, reference.images) as fewest,
    from over_images as own
    inner join over_images as reference
        on reference.measure = own.measure and reference.testset = $reference
    where own.measure = 'effect'
),

summary as (
    select
        seeds.testset,
        seeds.measure,
        count(*) as seeds,
        any_value(noise.images) as images,
        avg(seeds.value order by seeds.recipe) as value,
        if(
            seeds.measure in ('pruned', 'random'),
            accuracy_over_seeds(
                list(seeds.total::bigint order by seeds.recipe), any_value(noise.images)
            ),
            difference_over_seeds(
                list(seeds.value order by seeds.recipe),
                any_value(noise.variance),
                any_value(noise.fewest)
            )
        ) as bounds,
    from (
        select * from by_seed
        union all
        select * from excesses
    ) as seeds
    inner join (
        select *, images as fewest from over_images
        union all
        select * from excess_noise
    ) as noise
        on noise.testset = seeds.testset and noise.measure = seeds.measure
    group by seeds.testset, seeds.measure
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
