-- The results of models on every task, by track: Figures 11, 12 and 13 of the parrot-caption paper,
-- which differ in the view `models`.
-- One row per (model, task), in the order of `models`, then in that of the tracks and tasks; a model
-- outside the grid, or without a task, has one row, without a task.
--
-- models        panel_position, panel_title, series_position, series_title, encoder, in_grid
-- tracks        position, track, title
-- task_results  encoder, position, task, title, track, metric, value
with results as (
    select
        task_results.encoder,
        tracks.position as group_position,
        tracks.title as group_title,
        task_results.position as row_position,
        task_results.title as row_title,
        task_results.task,
        task_results.track,
        task_results.metric,
        task_results.value,
    from task_results
    inner join tracks
        on tracks.track = task_results.track
)

select
    models.panel_position,
    models.panel_title,
    models.series_position,
    models.series_title,
    models.encoder,
    models.in_grid,
    results.group_position,
    results.group_title,
    results.row_position,
    results.row_title,
    results.task,
    results.track,
    results.metric,
    results.value, -- from 0 to 1
from models
left join results
    on results.encoder = models.encoder and models.in_grid
order by
    models.panel_position,
    models.series_position,
    results.group_position,
    results.row_position
