-- Zero-shot accuracy of models trained on corrected data sets: Tables 1 and 4 of the similarity
-- paper. The two differ only in the data sets that the view `rows` lists.
-- One row per (data set, test set), in the order of the views `rows` and `testsets`.
--
-- rows           position, dataset, recipe, manifest, baseline, indent, in_grid; one row per data
--                set and (recipe, manifest). baseline is the manifest of the same recipe that
--                relative changes refer to, or null; without in_grid there are no predictions
-- testsets       position, testset, title
-- predictions    recipe, manifest, testset, shard, row, right_rank
-- members        manifest, corpus, pruning: a manifest is made of corpora, each pruned somehow
-- manifest_rows  corpus, pruning, kept
-- published      row, testset, measure, value
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
-- a model that finds all classes equally similar is right for the first class alone, not for all.
scores as (
    select
        recipe,
        manifest,
        testset,
        count(*) as images,
        count(*) filter (where right_rank = 0) as correct,
        exact_interval(correct, images) as accuracy_interval,
    from predictions
    group by recipe, manifest, testset
),

compared_with as (
    select distinct
        recipe,
        baseline as manifest,
    from rows
    where baseline is not null
),

base_predictions as (
    select
        predictions.recipe,
        predictions.manifest,
        predictions.testset,
        predictions.shard,
        predictions.row,
        predictions.right_rank,
    from predictions
    inner join compared_with
        on
            compared_with.recipe = predictions.recipe
            and compared_with.manifest = predictions.manifest
),

pairs as (
    select
        rows.position,
        own.testset,
        own.right_rank = 0 as is_right,
        base.right_rank = 0 as was_right,
    from predictions as own
    inner join rows
        on rows.recipe = own.recipe and rows.manifest = own.manifest
    inner join base_predictions as base
        on
            base.recipe = rows.recipe
            and base.manifest = rows.baseline
            and base.testset = own.testset
            and base.shard = own.shard
            and base.row = own.row
),

changes as (
    select
        position,
        testset,
        count(*) as compared,
        count(*) filter (where was_right and is_right) as kept,
        count(*) filter (where was_right and not is_right) as lost,
        count(*) filter (where is_right and not was_right) as gained,
        count(*) filter (where not was_right and not is_right) as neither,
        relative_change_interval(kept, lost, gained, neither) as change_interval,
    from pairs
    group by position, testset
),

-- The data set that a baseline is shown as. A pruned row is the paper's only if its baseline is:
-- 'sketch-pruned' of other data bears the same name.
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
)

select
    rows.position,
    rows.dataset,
    rows.indent,
    rows.in_grid,
    rows.recipe,
    rows.manifest,
    rows.baseline,
    sizes.size,
    -- as the paper has it: what the data set lacks of its baseline
    baseline_sizes.size - sizes.size as removed,
    testsets.testset,
    testsets.title as testset_title,
    coalesce(scores.images, 0) as images,
    coalesce(scores.correct, 0) as correct,
    scores.correct / scores.images as accuracy,
    scores.accuracy_interval.low as accuracy_low,
    scores.accuracy_interval.high as accuracy_high,
    changes.compared,
    changes.lost,
    changes.gained,
    (changes.gained - changes.lost) / nullif(changes.kept + changes.lost, 0) as relative_change,
    changes.change_interval.low as relative_change_low,
    changes.change_interval.high as relative_change_high,
    published_sizes.size as published_size,
    published_sizes.removed as published_removed,
    published_accuracies.accuracy as published_accuracy,
    published_accuracies.accuracy / published_accuracies.baseline_accuracy - 1
        as published_relative_change,
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
    on changes.position = rows.position and changes.testset = testsets.testset
left join published_sizes
    on published_sizes.position = rows.position
left join published_accuracies
    on
        published_accuracies.position = rows.position
        and published_accuracies.title = testsets.title
order by rows.position, testsets.position
