-- The cost of prunings over seeds: accuracies of the models of several arms, and differences between
-- two arms, seed by seed.
-- One row per (test set, measure), in the order of the views. Values are means over the seeds and
-- bounds are 95 % intervals of these means, over seeds and images. On the reference test set, a
-- difference beyond it is 0 and has no interval.
--
-- arms         recipe, manifest, arm: one of each for each recipe (seed)
-- measures     position, measure, title, arm, less ("": none), is_beyond: the accuracy of an arm, or
--              its difference from another arm's, optionally beyond the reference test set
-- testsets     position, testset, title
-- predictions  recipe, manifest, testset, shard, row, right_rank
-- $reference   the test set that differences are compared with; "": none
with judged as (
    select
        arms.recipe,
        arms.arm,
        predictions.testset,
        predictions.shard,
        predictions.row,
        (predictions.right_rank = 0)::int as is_right,
    from arms
    inner join predictions
        on predictions.recipe = arms.recipe and predictions.manifest = arms.manifest
),

-- The contribution of one image to each measure under one seed; none if an arm has no model.
answers as (
    select
        measures.measure,
        judged.recipe,
        judged.testset,
        judged.shard,
        judged.row,
        sum(if(judged.arm = measures.arm, judged.is_right, -judged.is_right)) as value,
    from judged
    inner join measures
        on judged.arm in (measures.arm, measures.less)
    group by all
    having count(*) = if(any_value(measures.less) = '', 1, 2)
),

own_by_seed as (
    select
        measure,
        recipe,
        testset,
        sum(value)::bigint as total,
        avg(value order by shard, row) as value,
    from answers
    group by measure, recipe, testset
),

-- Minus the effect on the reference test set under the same seed.
by_seed as (
    select
        own.measure,
        own.recipe,
        own.testset,
        own.total,
        own.value - if(measures.is_beyond, reference.value, 0) as value,
    from own_by_seed as own
    inner join measures
        on measures.measure = own.measure
    left join own_by_seed as reference
        on
            reference.measure = own.measure
            and reference.recipe = own.recipe
            and reference.testset = $reference
),

by_image as (
    select
        measure,
        testset,
        avg(value order by recipe) as value,
    from answers
    group by measure, testset, shard, row
),

own_noise as (
    select
        measure,
        testset,
        count(*) as images,
        coalesce(var_samp(value), 0) / count(*) as variance,
    from by_image
    group by measure, testset
),

noise as (
    select
        own.measure,
        own.testset,
        own.images,
        if(measures.is_beyond, least(own.images, reference.images), own.images) as fewest,
        case
            when not measures.is_beyond then own.variance
            when own.testset <> $reference then own.variance + reference.variance
        end as variance,
    from own_noise as own
    inner join measures
        on measures.measure = own.measure
    left join own_noise as reference
        on reference.measure = own.measure and reference.testset = $reference
),

summary as (
    select
        by_seed.measure,
        by_seed.testset,
        count(*) as seeds,
        any_value(noise.images) as images,
        avg(by_seed.value order by by_seed.recipe) as value,
        accuracy_over_seeds(
            list(by_seed.total order by by_seed.recipe), any_value(noise.images)
        ) as of_accuracy,
        difference_over_seeds(
            list(by_seed.value order by by_seed.recipe),
            any_value(noise.variance),
            any_value(noise.fewest)
        ) as of_difference,
    from by_seed
    inner join noise
        on noise.measure = by_seed.measure and noise.testset = by_seed.testset
    group by by_seed.measure, by_seed.testset
)

select
    testsets.position,
    testsets.testset,
    testsets.title as testset_title,
    measures.measure,
    measures.title as measure_title,
    summary.seeds,
    summary.images,
    summary.value,
    if(measures.less = '', summary.of_accuracy.low, summary.of_difference.low) as value_low,
    if(measures.less = '', summary.of_accuracy.high, summary.of_difference.high) as value_high,
from testsets
inner join summary
    on summary.testset = testsets.testset
inner join measures
    on measures.measure = summary.measure
order by testsets.position, measures.position
