-- The tasks of DataComp's suite: each model's results, and tasks without one.
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
    case
        when listed.reason != '' then 'skipped'
        when main_metrics.value is null then 'left out'
        else 'evaluated'
    end as status, -- evaluated, skipped, or left out: the data are too small
    nullif(listed.reason, '') as reason, -- null: the task was not skipped
    models.encoder,
    models.title as encoder_title,
    main_metrics.metric, -- the one that DataComp averages, as clip_benchmark names it
    main_metrics.value, -- from 0 to 1; null: the task was not evaluated
from listed
cross join models
left join main_metrics
    on main_metrics.encoder = models.encoder and main_metrics.task = listed.task
order by listed.position, models.position
