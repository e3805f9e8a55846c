-- Whether training on parrot captions teaches models to read text and costs accuracy, by seed.
-- One row per (comparison, seed, measure), in the order of the view `comparisons`. The row over all
-- seeds, with a null recipe, comes first in each. Its value is a mean and its bounds a 95 %
-- interval of the mean difference: over seeds and words (of the probe) or images; for the loss, over
-- seeds only. An average over tasks without known single images has no interval.
--
-- comparisons   position, arm, against, title: an arm minus another one; against '': the arm alone
-- models        position, arm, recipe, seed_title, curated, encoder, epochs: one for each arm of
--               each seed; `position` orders the seeds
-- task_results  encoder, position, track, value: one row per task
-- tasks         encoder, testset, shard, row, right_rank: of the task results of test sets
-- probes        encoder, gram, style, similarity, mismatched, right, choices: of the 1-grams of
--               captions
-- curves        recipe, manifest, step, epoch, loss
-- $t            the 97.5 % quantile of Student's t, one degree of freedom fewer than seeds
-- $imagenet     the test set that stands for ImageNet; '': a task without known single images does
with measures (measure_position, measure, measure_title) as (
    values
    (0, 'sync', 'Sync. S'),
    (1, 'mismatched', 'Other word'),
    (2, 'reading', 'Own less other'),
    (3, 'right_word', 'Right word'),
    (4, 'imagenet', 'IN'),
    (5, 'average', 'Avg.'),
    (6, 'final_loss', 'Final loss')
),

tracks as (
    select
        encoder,
        avg(value order by position) filter (where track = 'imagenet') as imagenet,
        avg(value order by position) as average,
    from task_results
    group by encoder
),

words as (
    select
        encoder,
        gram,
        avg(similarity::double order by style) as sync,
        avg(mismatched order by style) as mismatched,
        avg(similarity::double - mismatched order by style) as reading,
        avg("right" order by style) as right_word,
        max(choices) as choices,
    from probes
    group by encoder, gram
),

word_values as (
    select
        models.position,
        models.recipe,
        models.arm,
        words.gram,
        unnest([
            {'measure': 'sync', 'value': words.sync},
            {'measure': 'mismatched', 'value': words.mismatched},
            {'measure': 'reading', 'value': words.reading},
            {'measure': 'right_word', 'value': words.right_word},
        ], recursive := true),
    from words
    inner join models
        on models.encoder = words.encoder
),

image_values as (
    select
        models.position,
        models.recipe,
        models.arm,
        tasks.testset,
        tasks.shard,
        tasks.row,
        (tasks.right_rank = 0)::int as value,
    from tasks
    inner join models
        on models.encoder = tasks.encoder
),

final_losses as (
    select
        models.encoder,
        avg(curves.loss order by curves.step) as final_loss,
    from curves
    inner join models
        on
            models.recipe = curves.recipe
            and models.curated = curves.manifest
            and models.epochs - 1 = curves.epoch
    group by models.encoder
),

reached as (
    select
        position,
        recipe,
        seed_title,
        arm,
        unnest([
            {'measure': 'imagenet', 'value': tracks.imagenet},
            {'measure': 'average', 'value': tracks.average},
            {'measure': 'final_loss', 'value': final_losses.final_loss},
        ], recursive := true),
    from models
    left join tracks
        on tracks.encoder = models.encoder
    left join final_losses
        on final_losses.encoder = models.encoder
    union all by name
    select
        models.position,
        models.recipe,
        models.seed_title,
        models.arm,
        measures.measure,
        avg(word_values.value order by word_values.gram) as value,
    from models
    cross join measures
    left join word_values
        on
            word_values.recipe = models.recipe
            and word_values.arm = models.arm
            and word_values.measure = measures.measure
    where measures.measure_position < 4
    group by models.position, models.recipe, models.seed_title, models.arm, measures.measure
),

pairs as (
    select
        comparisons.position as comparison,
        own.position,
        own.recipe,
        own.seed_title,
        own.measure,
        own.value,
        other.value as against_value,
        if(comparisons.against = '', own.value, own.value - other.value) as difference,
    from comparisons
    inner join reached as own
        on own.arm = comparisons.arm
    left join reached as other
        on
            other.arm = comparisons.against
            and other.recipe = own.recipe
            and other.measure = own.measure
),

-- The contribution of one word, or one image of a test set, to the mean difference over seeds.
by_word as (
    select
        comparisons.position as comparison,
        own.measure,
        own.gram,
        avg(
            if(comparisons.against = '', own.value, own.value - other.value) order by own.position
        ) as difference,
    from comparisons
    inner join word_values as own
        on own.arm = comparisons.arm
    left join word_values as other
        on
            other.arm = comparisons.against
            and other.recipe = own.recipe
            and other.measure = own.measure
            and other.gram = own.gram
    group by comparisons.position, own.measure, own.gram
),

by_image as (
    select
        comparisons.position as comparison,
        own.testset,
        avg(
            if(comparisons.against = '', own.value, own.value - other.value) order by own.position
        ) as difference,
    from comparisons
    inner join image_values as own
        on own.arm = comparisons.arm
    left join image_values as other
        on
            other.arm = comparisons.against
            and other.recipe = own.recipe
            and other.testset = own.testset
            and other.shard = own.shard
            and other.row = own.row
    group by comparisons.position, own.testset, own.shard, own.row
),

of_testsets as (
    select
        comparison,
        testset,
        count(*) as drawn,
        coalesce(var_samp(difference), 0) / count(*) as variance,
    from by_image
    group by comparison, testset
),

task_counts as (
    select max(tasks) as tasks
    from (select encoder, count(*) as tasks from task_results group by encoder)
),

noise as (
    select
        comparison,
        measure,
        count(difference) as drawn,
        coalesce(var_samp(difference order by gram), 0) / count(difference) as variance,
    from by_word
    group by comparison, measure
    having count(difference) > 0
    union all
    select comparison, 'imagenet' as measure, drawn, variance,
    from of_testsets
    where testset = $imagenet
    union all
    select
        comparison,
        'average' as measure,
        min(drawn) as drawn,
        if(count(*) = (select tasks from task_counts), sum(variance) / count(*) ** 2, null) as variance,
    from of_testsets
    group by comparison
),

measured as (
    select
        comparison,
        measure,
        count(difference) as seeds,
        avg(value order by position) as value,
        avg(against_value order by position) as against_value,
        avg(difference order by position) as difference,
        $t * stddev_samp(difference order by position) / sqrt(count(difference)) as margin,
        list(difference order by position) filter (where difference is not null) as by_seed,
    from pairs
    group by comparison, measure
),

-- Intervals of cosines are Student's. Those of shares have a least width, because few images may
-- miss a change.
bounded as (
    select
        measured.comparison,
        measured.measure,
        if(
            measured.measure in ('sync', 'mismatched', 'reading'),
            mean_over_seeds(measured.by_seed, noise.variance, noise.drawn),
            difference_over_seeds(measured.by_seed, noise.variance, noise.drawn)
        ) as bounds,
    from measured
    inner join noise
        on noise.comparison = measured.comparison and noise.measure = measured.measure
    where measured.seeds > 0
),

summary as (
    select
        measured.*,
        case
            when measured.measure = 'final_loss' then measured.difference - measured.margin
            when
                comparisons.against = ''
                and measured.measure in ('right_word', 'imagenet', 'average')
                and bounded.bounds.low < 0
                then 0 -- these are shares
            else bounded.bounds.low
        end as low,
        if(measured.measure = 'final_loss', difference + margin, bounded.bounds.high) as high,
    from measured
    inner join comparisons
        on comparisons.position = measured.comparison
    left join bounded
        on bounded.comparison = measured.comparison and bounded.measure = measured.measure
),

agreeing as (
    select
        pairs.comparison,
        pairs.measure,
        count(*) filter (where sign(pairs.difference) = sign(summary.difference)) as same_sign,
    from pairs
    inner join summary
        on summary.comparison = pairs.comparison and summary.measure = pairs.measure
    group by pairs.comparison, pairs.measure
),

lines as (
    select
        summary.comparison,
        0 as place,
        null as recipe,
        'mean over seeds' as seed_title,
        summary.measure,
        summary.value,
        summary.against_value,
        summary.difference,
        summary.low as difference_low,
        summary.high as difference_high,
        summary.seeds,
        agreeing.same_sign,
    from summary
    inner join agreeing
        on agreeing.comparison = summary.comparison and agreeing.measure = summary.measure
    union all by name
    select
        comparison,
        position + 1 as place,
        recipe,
        seed_title,
        measure,
        value,
        against_value,
        difference,
    from pairs
)

select
    (dense_rank() over (order by lines.comparison, lines.place) - 1)::int as position,
    comparisons.arm,
    comparisons.against, -- '': the arm alone
    lines.recipe, -- null: over all seeds
    concat(comparisons.title, ', ', lines.seed_title) as title,
    lines.measure,
    measures.measure_title,
    lines.value, -- of the arm
    lines.against_value, -- of the arm that it is compared with
    lines.difference, -- the first minus the second; without a second, the first
    lines.difference_low,
    lines.difference_high,
    lines.seeds, -- that have both values
    lines.same_sign, -- seeds whose difference has the sign of the mean
    if(
        lines.measure = 'right_word', (select 1 / max(choices) from words), null
    ) as chance, -- 1 / number of words that the models distinguish
from lines
inner join comparisons
    on comparisons.position = lines.comparison
inner join measures
    on measures.measure = lines.measure
order by lines.comparison, lines.place, measures.measure_position
