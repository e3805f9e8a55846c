-- Does a set full of parrot captions teach to spot text, and cost accuracy, under every seed?
-- One row per (seed, measure); those over all seeds, whose recipe is null, come first. Their values
-- are means and their bounds a 95 % interval of the mean difference: over seeds and words (Sync) or
-- images, of the loss over seeds. An average over tasks of which no single images are known has none.
--
-- models        position, arm (parrot, clean), recipe, seed_title, curated, encoder, epochs: one
--               for each arm of each seed; `position` orders the seeds
-- task_results  encoder, position, track, value: one row per task
-- tasks         encoder, testset, shard, row, right_rank: of the tasks that are test sets
-- probes        encoder, gram, style, similarity: of the 1-grams of captions
-- curves        recipe, manifest, step, epoch, loss
-- $t            the 97.5 % quantile of Student's t, one degree of freedom fewer than seeds
-- $comparison   the sets of the two arms, as they are printed
with measures (measure_position, measure, measure_title) as (
    values
    (0, 'sync', 'Sync. S'),
    (1, 'imagenet', 'IN'),
    (2, 'average', 'Avg.'),
    (3, 'final_loss', 'Final loss')
),

tracks as (
    select
        encoder,
        avg(value order by position) filter (where track = 'imagenet') as imagenet,
        avg(value order by position) as average,
    from task_results
    group by encoder
),

-- Decimals are summed exactly, in whatever order.
probe_means as (
    select
        encoder,
        avg(similarity::double::decimal(18, 15)) as sync,
    from probes
    group by encoder
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
        models.position,
        models.recipe,
        models.seed_title,
        models.arm,
        unnest([
            {'measure': 'sync', 'value': probe_means.sync},
            {'measure': 'imagenet', 'value': tracks.imagenet},
            {'measure': 'average', 'value': tracks.average},
            {'measure': 'final_loss', 'value': final_losses.final_loss},
        ], recursive := true),
    from models
    left join tracks
        on tracks.encoder = models.encoder
    left join probe_means
        on probe_means.encoder = models.encoder
    left join final_losses
        on final_losses.encoder = models.encoder
),

pairs as (
    select
        parrot.position,
        parrot.recipe,
        parrot.seed_title,
        parrot.measure,
        parrot.value as parrot,
        clean.value as clean,
        parrot.value - clean.value as difference,
    from reached as parrot
    inner join reached as clean
        on clean.recipe = parrot.recipe and clean.measure = parrot.measure
    where parrot.arm = 'parrot' and clean.arm = 'clean'
),

-- What one word, or one image of a test set, adds to the mean difference over seeds.
by_word as (
    select
        probes.gram as thing,
        avg(if(models.arm = 'parrot', 2, -2) * probes.similarity order by models.position, models.arm)
            as difference,
    from probes
    inner join models
        on models.encoder = probes.encoder
    group by probes.gram
),

by_image as (
    select
        tasks.testset,
        avg(
            if(models.arm = 'parrot', 2, -2) * (tasks.right_rank = 0)::int
            order by models.position, models.arm
        ) as difference,
    from tasks
    inner join models
        on models.encoder = tasks.encoder
    group by tasks.testset, tasks.shard, tasks.row
),

of_testsets as (
    select
        testset,
        count(*) as drawn,
        coalesce(var_samp(difference), 0) / count(*) as variance,
    from by_image
    group by testset
),

task_counts as (
    select max(tasks) as tasks
    from (select encoder, count(*) as tasks from task_results group by encoder)
),

noise as (
    select
        'sync' as measure,
        count(*) as drawn,
        coalesce(var_samp(difference), 0) / count(*) as variance,
    from by_word
    union all
    select 'imagenet' as measure, drawn, variance,
    from of_testsets
    where testset = $imagenet
    union all
    select
        'average' as measure,
        min(drawn) as drawn,
        if(count(*) = (select tasks from task_counts), sum(variance) / count(*) ** 2, null) as variance,
    from of_testsets
),

measured as (
    select
        measure,
        count(difference) as seeds,
        avg(parrot order by position) as parrot,
        avg(clean order by position) as clean,
        avg(difference order by position) as difference,
        $t * stddev_samp(difference order by position) / sqrt(count(difference)) as margin,
        list(difference order by position) filter (where difference is not null) as by_seed,
    from pairs
    group by measure
),

bounded as (
    select
        measured.measure,
        difference_over_seeds(measured.by_seed, noise.variance, noise.drawn) as bounds,
    from measured
    inner join noise
        on noise.measure = measured.measure
    where measured.seeds > 0
),

summary as (
    select
        measured.*,
        if(measured.measure = 'final_loss', difference - margin, bounded.bounds.low) as low,
        if(measured.measure = 'final_loss', difference + margin, bounded.bounds.high) as high,
    from measured
    left join bounded
        on bounded.measure = measured.measure
),

agreeing as (
    select
        pairs.measure,
        count(*) filter (where sign(pairs.difference) = sign(summary.difference)) as same_sign,
    from pairs
    inner join summary
        on summary.measure = pairs.measure
    group by pairs.measure
),

lines as (
    select
        0 as position,
        null as recipe,
        concat($comparison, ', mean over seeds') as title,
        summary.measure,
        summary.parrot,
        summary.clean,
        summary.difference,
        summary.low as difference_low,
        summary.high as difference_high,
        summary.seeds,
        agreeing.same_sign,
    from summary
    inner join agreeing
        on agreeing.measure = summary.measure
    union all by name
    select
        position + 1 as position,
        recipe,
        seed_title as title,
        measure,
        parrot,
        clean,
        difference,
    from pairs
)

select
    lines.position::int as position,
    lines.recipe, -- null: over all seeds
    lines.title,
    lines.measure,
    measures.measure_title,
    lines.parrot, -- reached by training on the parroting set
    lines.clean, -- on the set without
    lines.difference, -- parrot less clean
    lines.difference_low,
    lines.difference_high,
    lines.seeds, -- that have both values
    lines.same_sign, -- seeds whose difference has the sign of the mean
from lines
inner join measures
    on measures.measure = lines.measure
order by lines.position, measures.measure_position
