-- Zero-shot accuracy of models trained on corrected data sets: Tables 1 and 4 of the similarity
-- paper. The two differ only in the data sets that the view `rows` lists.
-- One row per (data set, test set), in the order of the views `rows` and `testsets`.
--
-- A model may have been trained with several seeds: accuracies are then means over these, counts
-- are sums over them, and intervals are over seeds and images.
--
-- rows           position, dataset, recipe, manifest, baseline, control, indent, in_grid; one row per
--                data set and (recipe, manifest). baseline is the manifest of the same recipe that
--                relative changes refer to, or null; control that of a random set of equal size, or
--                null; without in_grid there are no predictions
-- trainings      recipe, manifest, training, trained_on: a model's recipe and manifest in `rows`, and
--                those in the predictions, one row per seed; random sets are drawn for each seed
-- testsets       position, testset, title
-- predictions    recipe, manifest, testset, shard, row, label, top, right_rank
-- members        manifest, corpus, pruning: a manifest is made of corpora, each with a pruning
-- manifest_rows  corpus, pruning, kept
-- published      row, testset, measure, value
-- $over_seeds    whether to add the columns for several seeds and random sets
with kept_rows as (
    select
        corpus,
        pruning,
        count(*) filter (where kept) as size,
    from manifest_rows
    group by corpus, pruning
),

sizes as (
    select
        members.manifest,
        sum(kept_rows.size)::bigint as size,
    from members
    inner join kept_rows
        on kept_rows.corpus = members.corpus and kept_rows.pruning = members.pruning
    group by members.manifest
),

-- An image counts as right when the right class has rank 0. The rank is the class's place in the
-- order (similarity descending, label ascending), so each image has exactly one class of rank 0:
-- a model that finds all classes equally similar is right only for the first class, not for all.
answers as (
    select
        trainings.recipe,
        trainings.training,
        trainings.manifest,
        predictions.testset,
        predictions.shard,
        predictions.row,
        predictions.label,
        predictions.top[1] as guess,
        predictions.right_rank = 0 as is_right,
    from predictions
    inner join trainings
        on
            trainings.training = predictions.recipe
            and trainings.trained_on = predictions.manifest
),

scores_by_seed as (
    select
        recipe,
        training,
        manifest,
        testset,
        count(*) as images,
        count(*) filter (where is_right) as correct,
    from answers
    group by recipe, training, manifest, testset
),

scores as (
    select
        recipe,
        manifest,
        testset,
        count(*) as seeds,
        max(images) as images,
        sum(correct)::bigint as correct,
        sum(correct) / sum(images) as accuracy,
        accuracy_over_seeds(list(correct order by training), max(images)) as accuracy_interval,
    from scores_by_seed
    group by recipe, manifest, testset
),

-- The accuracy by chance, as in Cohen's kappa: of predictions with the same frequencies of classes
-- that do not depend on the image. A model that predicts one class has just this accuracy. It is
-- null if predictions are of other classes than the labels, as with a label map.
guesses as (
    select
        recipe,
        manifest,
        testset,
        label,
        guess,
        count(*) as images,
        bool_and(is_right = (guess = label)) as comparable,
    from answers
    group by recipe, manifest, testset, label, guess
),

frequencies as (
    select
        recipe,
        manifest,
        testset,
        class,
        sum(images) filter (where kind = 'label') as labelled,
        sum(images) filter (where kind = 'guess') as guessed,
        bool_and(comparable) as comparable,
    from (
        select
            recipe,
            manifest,
            testset,
            images,
            comparable,
            unnest(['label', 'guess']) as kind,
            unnest([label, guess]) as class,
        from guesses
    )
    group by recipe, manifest, testset, class
),

chances as (
    select
        recipe,
        manifest,
        testset,
        sum(coalesce(labelled, 0) * coalesce(guessed, 0)) / (sum(labelled) * sum(guessed))
            as chance,
    from frequencies
    group by recipe, manifest, testset
    having bool_and(comparable)
),

comparisons as (
    select
        position,
        recipe,
        manifest,
        unnest(['baseline', 'control']) as kind,
        unnest([baseline::varchar, control::varchar]) as other,
    from rows
),

compared_with as (
    select distinct
        recipe,
        other as manifest,
    from comparisons
    where other is not null
),

other_answers as (
    select answers.*
    from answers
    inner join compared_with
        on compared_with.recipe = answers.recipe and compared_with.manifest = answers.manifest
),

-- Models of one seed are compared with each other.
pairs as (
    select
        comparisons.position,
        comparisons.kind,
        own.training,
        own.testset,
        own.shard,
        own.row,
        own.is_right,
        other.is_right as was_right,
    from answers as own
    inner join comparisons
        on comparisons.recipe = own.recipe and comparisons.manifest = own.manifest
    inner join other_answers as other
        on
            other.training = own.training
            and other.manifest = comparisons.other
            and other.testset = own.testset
            and other.shard = own.shard
            and other.row = own.row
),

changes_by_seed as (
    select
        position,
        kind,
        testset,
        training,
        count(*) as compared,
        count(*) filter (where was_right and is_right) as kept,
        count(*) filter (where was_right and not is_right) as lost,
        count(*) filter (where is_right and not was_right) as gained,
    from pairs
    group by position, kind, testset, training
),

-- Images by how many seeds classify them correctly, with the data set and with the other one.
image_kinds as (
    select
        position,
        kind,
        testset,
        times_right,
        times_was_right,
        count(*) as images,
    from (
        select
            position,
            kind,
            testset,
            count(*) filter (where is_right) as times_right,
            count(*) filter (where was_right) as times_was_right,
        from pairs
        group by position, kind, testset, shard, row
    )
    group by position, kind, testset, times_right, times_was_right
),

images_by_kind as (
    select
        position,
        kind,
        testset,
        list(times_right order by times_right, times_was_right) as times_right,
        list(times_was_right order by times_right, times_was_right) as times_was_right,
        list(images order by times_right, times_was_right) as images,
    from image_kinds
    group by position, kind, testset
),

totals as (
    select
        position,
        kind,
        testset,
        max(compared) as compared,
        sum(lost)::bigint as lost,
        sum(gained)::bigint as gained,
        (sum(gained) - sum(lost)) / nullif(sum(kept) + sum(lost), 0) as change,
        list(kept + gained order by training) as times_right,
        list(kept + lost order by training) as times_was_right,
    from changes_by_seed
    group by position, kind, testset
),

changes as (
    select
        totals.*,
        change_over_seeds(
            totals.times_right,
            totals.times_was_right,
            images_by_kind.times_right,
            images_by_kind.times_was_right,
            images_by_kind.images,
            1
        ) as change_interval,
        change_over_seeds(
            totals.times_right,
            totals.times_was_right,
            images_by_kind.times_right,
            images_by_kind.times_was_right,
            images_by_kind.images,
            (select count(distinct testset) from scores)
        ) as joint_interval,
    from totals
    inner join images_by_kind
        on
            images_by_kind.position = totals.position
            and images_by_kind.kind = totals.kind
            and images_by_kind.testset = totals.testset
),

-- The data set that a baseline is shown as. A pruned row is the paper's only if its baseline is:
-- 'sketch-pruned' of other data has the same name.
baselines as (
    select
        recipe,
        manifest,
        min_by(dataset, position) as dataset,
    from rows
    group by recipe, manifest
),

papers as (
    select
        rows.position,
        paper_name(rows.dataset) as dataset,
        paper_name(baselines.dataset) as baseline_dataset,
    from rows
    left join baselines
        on baselines.recipe = rows.recipe and baselines.manifest = rows.baseline
    where
        rows.baseline is null
        or paper_name(baselines.dataset) in (select paper_name(row) from published)
),

published_sizes as (
    select
        papers.position,
        max(published.value) filter (where measure = 'size')::bigint as size,
        max(published.value) filter (where measure = 'removed')::bigint as removed,
    from papers
    inner join published
        on paper_name(published.row) = papers.dataset and published.testset = ''
    group by papers.position
),

published_accuracies as (
    select
        papers.position,
        own.testset as title,
        round(own.value / 100, 6) as accuracy,
        round(base.value / 100, 6) as baseline_accuracy,
    from papers
    inner join published as own
        on paper_name(own.row) = papers.dataset and own.measure = 'accuracy_percent'
    left join published as base
        on
            paper_name(base.row) = papers.baseline_dataset
            and base.measure = 'accuracy_percent'
            and base.testset = own.testset
),

cells as (
    select
        rows.position,
        rows.dataset,
        rows.indent,
        rows.in_grid,
        rows.recipe,
        rows.manifest,
        rows.baseline,
        sizes.size,
        -- as in the paper: the samples of the baseline that the data set lacks
        baseline_sizes.size - sizes.size as removed,
        testsets.testset,
        testsets.title as testset_title,
        coalesce(scores.images, 0) as images,
        coalesce(scores.correct, 0) as correct,
        scores.accuracy,
        scores.accuracy_interval.low as accuracy_low,
        scores.accuracy_interval.high as accuracy_high,
        chances.chance,
        changes.compared,
        changes.lost,
        changes.gained,
        changes.change as relative_change,
        changes.change_interval.low as relative_change_low,
        changes.change_interval.high as relative_change_high,
        changes.joint_interval.low as relative_change_joint_low,
        changes.joint_interval.high as relative_change_joint_high,
        published_sizes.size as published_size,
        published_sizes.removed as published_removed,
        published_accuracies.accuracy as published_accuracy,
        published_accuracies.accuracy / published_accuracies.baseline_accuracy - 1
            as published_relative_change,
        coalesce(scores.seeds, 0) as seeds,
        rows.control::varchar as control,
        against.change as control_change,
        against.change_interval.low as control_change_low,
        against.change_interval.high as control_change_high,
        against.joint_interval.low as control_change_joint_low,
        against.joint_interval.high as control_change_joint_high,
        testsets.position as testset_position,
    from rows
    cross join testsets
    left join sizes
        on sizes.manifest = rows.manifest
    left join sizes as baseline_sizes
        on baseline_sizes.manifest = rows.baseline
    left join scores
        on
            scores.recipe = rows.recipe
            and scores.manifest = rows.manifest
            and scores.testset = testsets.testset
    left join changes
        on
            changes.position = rows.position
            and changes.kind = 'baseline'
            and changes.testset = testsets.testset
    left join changes as against
        on
            against.position = rows.position
            and against.kind = 'control'
            and against.testset = testsets.testset
    left join chances
        on
            chances.recipe = rows.recipe
            and chances.manifest = rows.manifest
            and chances.testset = testsets.testset
    left join published_sizes
        on published_sizes.position = rows.position
    left join published_accuracies
        on
            published_accuracies.position = rows.position
            and published_accuracies.title = testsets.title
)

select
    columns(
        lambda name: name != 'testset_position'
        and ($over_seeds or name not in ('seeds', 'control') and not starts_with(name, 'control_'))
    ),
from cells
order by position, testset_position
