-- The tasks of DataComp's suite: each model's results, and skipped tasks.
-- One row per (task, model), in the order of the views `listed` and `models`.
--
-- listed  position, task, title, track, reason: why the task is skipped, or ''
-- models  position, encoder, title
-- suite   encoder, task, metric, value, main
with main_metrics as (
    select
        encoder,
        task,
        string_agg(metric, ', ' order by metric) as metric,
        avg(value order by metric) as value,
    from suite
    where main
    group by encoder, task
)

select
    listed.position,
    listed.task,
    listed.title,
    listed.track,
    if(listed.reason = '', 'evaluated', 'skipped') as status,
    nullif(listed.reason, '') as reason, -- null: the task was evaluated
    models.encoder,
    models.title as encoder_title,
    main_metrics.metric, -- the one that DataComp averages, as clip_benchmark names it
    main_metrics.value, -- from 0 to 1; null: the task was skipped
from listed
cross join models
left join main_metrics
    on main_metrics.encoder = models.encoder and main_metrics.task = listed.task
order by listed.position, models.position
