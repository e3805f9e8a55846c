-- Memorization and utility by one training setting, such as the size of the training sets:
-- Figures 2, 5 and 9 of the VL-Deja-Vu paper, which differ in the view `groups`.
-- One row per (panel, group, measure), in this order. A panel is a column of the figure, in the row
-- that shows the measure. Groups outside the grid have no value.
--
-- groups    panel_row (the panel's first row), panel_column, panel_title, group_position,
--           group_title, is_default, public, point, in_grid
-- measures  panel_row (counted from there), scale, series_position, series, title; series: ppg, prg, aucg, utility
-- models    point, encoder: the models trained on A and on B
-- gaps      public, point, k, source, target, measure, value, draws_mean, draws_std, evaluated, dropped
-- utility   encoder, testset, right_rank
-- $k        neighbours of a caption
-- $testset  the test set whose accuracy is the utility
with memorized as (
    select
        public,
        point,
        measure as series,
        draws_mean as value,
        draws_mean - draws_std as low,
        draws_mean + draws_std as high,
        value as over_all,
    from gaps
    where k = $k and source = '' and target = 'mean'
),

scores as (
    select
        encoder,
        count(*) as images,
        count(*) filter (where right_rank = 0) as correct,
        exact_interval(correct, images) as bounds,
    from utility
    where testset = $testset
    group by encoder
),

useful as (
    select
        models.point,
        avg(scores.correct / scores.images) as value,
        min(scores.bounds.low) as low,
        max(scores.bounds.high) as high,
    from models
    inner join scores
        on scores.encoder = models.encoder
    group by models.point
),

-- The records of an attack on A are the training set of A's model.
sizes as (
    select
        public,
        point,
        evaluated + dropped as training_samples,
    from gaps
    where k = $k and source = '' and target = 'a' and measure = 'aucg'
)

select
    groups.panel_row + measures.panel_row as panel_row,
    groups.panel_column,
    groups.panel_title,
    measures.scale,
    groups.group_position,
    groups.group_title,
    groups.is_default,
    groups.in_grid,
    groups.public,
    groups.point,
    sizes.training_samples,
    measures.series_position,
    measures.series,
    measures.title as series_title,
    -- gaps: the mean of the draws, plus and minus one standard deviation
    -- utility: the mean of both models, and the outer bounds of their exact 95 % intervals
    coalesce(memorized.value, useful.value) as value,
    coalesce(memorized.low, useful.low) as low,
    coalesce(memorized.high, useful.high) as high,
    -- the same without draws: over all records, over all images
    coalesce(memorized.over_all, useful.value) as over_all,
from groups
cross join measures
left join sizes
    on sizes.public = groups.public and sizes.point = groups.point
left join memorized
    on
        memorized.public = groups.public
        and memorized.point = groups.point
        and memorized.series = measures.series
left join useful
    on useful.point = groups.point and measures.series = 'utility'
order by
    groups.panel_row + measures.panel_row,
    groups.panel_column,
    groups.group_position,
    measures.series_position
