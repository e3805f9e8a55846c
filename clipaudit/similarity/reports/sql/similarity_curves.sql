-- Accuracy of models trained on near-, far- and rand-pruned sets, by the size of the set: Figures
-- 3 (centre, right) and 7 to 10 of the similarity paper, and the dose response, which differ in the
-- view `points`.
-- One row per point of a curve: (panel, series, model), in the order of the panels and series,
-- larger sets first, models that are not in the grid last. The unpruned set, `baseline`, is a
-- point of every series.
--
-- points         panel_position, panel_title, series_position, series_title, pruning (near, far or
--                rand), group_position, group_title, recipe, manifest, baseline, testset, in_grid.
--                Series of equal `pruning` in one panel differ in their group
-- predictions    recipe, manifest, testset, shard, row, right_rank
-- members        manifest, corpus, pruning: a manifest is made of corpora, each with a pruning
-- manifest_rows  corpus, pruning, kept
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

-- Several panels and series show the same models.
compared as (
    select distinct
        recipe,
        manifest,
        baseline,
        testset,
    from points
    where manifest != baseline
),

baselines as (
    select
        unpruned.recipe,
        unpruned.baseline,
        predictions.testset,
        predictions.shard,
        predictions.row,
        predictions.right_rank,
    from predictions
    inner join (select distinct recipe, baseline from compared) as unpruned
        on unpruned.recipe = predictions.recipe and unpruned.baseline = predictions.manifest
),

pairs as (
    select
        compared.*,
        predictions.right_rank = 0 as is_right,
        baselines.right_rank = 0 as was_right,
    from predictions
    inner join compared
        on
            compared.recipe = predictions.recipe
            and compared.manifest = predictions.manifest
            and compared.testset = predictions.testset
    inner join baselines
        on
            baselines.recipe = compared.recipe
            and baselines.baseline = compared.baseline
            and baselines.testset = predictions.testset
            and baselines.shard = predictions.shard
            and baselines.row = predictions.row
),

changes as (
    select
        recipe,
        manifest,
        baseline,
        testset,
        count(*) filter (where was_right and is_right) as kept,
        count(*) filter (where was_right and not is_right) as lost,
        count(*) filter (where is_right and not was_right) as gained,
        count(*) filter (where not was_right and not is_right) as neither,
        (gained - lost) / nullif(kept + lost, 0) as change,
        relative_change_interval(kept, lost, gained, neither) as change_interval,
    from pairs
    group by recipe, manifest, baseline, testset
)

select
    points.panel_position,
    points.panel_title,
    points.series_position,
    points.series_title,
    points.pruning,
    points.group_position,
    points.group_title,
    points.testset,
    points.recipe,
    points.manifest,
    points.baseline,
    points.in_grid,
    sizes.size,
    baseline_sizes.size - sizes.size as removed,
    sizes.size / nullif(baseline_sizes.size, 0) as share,
    coalesce(scores.images, 0) as images,
    coalesce(scores.correct, 0) as correct,
    scores.correct / scores.images as accuracy,
    scores.accuracy_interval.low as accuracy_low,
    scores.accuracy_interval.high as accuracy_high,
    -- the baseline itself has no change and no uncertainty
    case
        when points.manifest != points.baseline then changes.change
        when scores.correct > 0 then 0
    end as relative_change,
    changes.change_interval.low as relative_change_low,
    changes.change_interval.high as relative_change_high,
from points
left join sizes
    on sizes.manifest = points.manifest
left join sizes as baseline_sizes
    on baseline_sizes.manifest = points.baseline
left join scores
    on
        scores.recipe = points.recipe
        and scores.manifest = points.manifest
        and scores.testset = points.testset
left join changes
    on
        changes.recipe = points.recipe
        and changes.manifest = points.manifest
        and changes.baseline = points.baseline
        and changes.testset = points.testset
order by
    points.panel_position,
    points.series_position,
    sizes.size desc nulls last,
    points.manifest
