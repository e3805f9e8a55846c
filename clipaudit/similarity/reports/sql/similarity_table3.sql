-- Zero-shot accuracy of models trained on core sets: Table 3 of the similarity paper.
-- One row per (data set, test set), in the order of the views `rows` and `testsets`, followed by
-- the data set's average over all test sets, with a null test set.
--
-- rows           position, dataset, recipe, manifest, in_grid; one row per data set. Without
--                in_grid there are no predictions
-- testsets       position, testset, title
-- predictions    recipe, manifest, testset, right_rank
-- members        manifest, corpus, pruning: a manifest is made of corpora, each with a pruning
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

scores as (
    select
        recipe,
        manifest,
        testset,
        count(*) as images,
        count(*) filter (where right_rank = 0) as correct,
        correct / images as accuracy,
        exact_interval(correct, images) as accuracy_interval,
    from predictions
    group by recipe, manifest, testset
),

published_accuracies as (
    select
        paper_name(row) as dataset,
        testset as title,
        round(value / 100, 6) as accuracy,
    from published
    where measure = 'accuracy_percent'
),

cells as (
    select
        rows.position,
        testsets.position as testset_position,
        testsets.testset,
        testsets.title as testset_title,
        coalesce(scores.images, 0) as images,
        coalesce(scores.correct, 0) as correct,
        scores.accuracy,
        scores.accuracy_interval.low as accuracy_low,
        scores.accuracy_interval.high as accuracy_high,
        published_accuracies.accuracy as published_accuracy,
    from rows
    cross join testsets
    left join scores
        on
            scores.recipe = rows.recipe
            and scores.manifest = rows.manifest
            and scores.testset = testsets.testset
    left join published_accuracies
        on
            published_accuracies.dataset = paper_name(rows.dataset)
            and published_accuracies.title = testsets.title
),

-- Over test sets, not over images, as in the paper; null unless every test set was evaluated.
averages as (
    select
        cells.position,
        null as testset_position,
        null as testset,
        'Avg.' as testset_title,
        sum(cells.images)::bigint as images,
        sum(cells.correct)::bigint as correct,
        case
            when count(cells.accuracy) = count(*)
            then avg(cells.accuracy order by cells.testset_position)
        end as accuracy,
        null as accuracy_low,
        null as accuracy_high,
    from cells
    group by cells.position
),

published_averages as (
    select
        paper_name(row) as dataset,
        round(value / 100, 6) as accuracy,
    from published
    where measure = 'average_accuracy_percent'
),

published_sizes as (
    select
        paper_name(row) as dataset,
        value::bigint as size,
    from published
    where measure = 'size'
),

all_cells as (
    select * from cells
    union all by name
    select
        averages.*,
        published_averages.accuracy as published_accuracy,
    from averages
    inner join rows
        on rows.position = averages.position
    left join published_averages
        on published_averages.dataset = paper_name(rows.dataset)
)

select
    rows.position,
    rows.dataset,
    rows.in_grid,
    rows.recipe,
    rows.manifest,
    sizes.size,
    all_cells.testset,
    all_cells.testset_title,
    all_cells.images,
    all_cells.correct,
    all_cells.accuracy,
    all_cells.accuracy_low,
    all_cells.accuracy_high,
    published_sizes.size as published_size,
    all_cells.published_accuracy,
from all_cells
inner join rows
    on rows.position = all_cells.position
left join sizes
    on sizes.manifest = rows.manifest
left join published_sizes
    on published_sizes.dataset = paper_name(rows.dataset)
order by rows.position, all_cells.testset_position nulls last
