-- The result of one model on each zero-shot and retrieval task of the parrot audit.
-- One row per task, in the order of the view `listed`.
--
-- listed      position, task, title, track, source (zero-shot, retrieval, suite): the tasks; a name
--             can occur once per source
-- tasks       encoder, testset, right_rank: one row per image of a test set
-- pair_ranks  encoder, corpus, direction, rank: one row per image and one per caption
-- suite       encoder, task, metric, value, main: DataComp's tasks
with accuracies as (
    select
        testset as task,
        'acc1' as metric,
        count(*) filter (where right_rank = 0) / count(*) as value,
    from tasks
    group by testset
),

recalls as (
    select
        corpus as task,
        direction,
        count(*) filter (where rank = 0) / count(*) as recall,
    from pair_ranks
    group by corpus, direction
),

mean_recalls as (
    select
        task,
        'mean_recall@1' as metric,
        avg(recall order by direction) as value,
    from recalls
    group by task
),

main_metrics as (
    select
        task,
        string_agg(metric, ', ' order by metric) as metric,
        avg(value order by metric) as value,
    from suite
    where main
    group by task
),

results as (
    select 'zero-shot' as source, * from accuracies
    union all
    select 'retrieval' as source, * from mean_recalls
    union all
    select 'suite' as source, * from main_metrics
)

select
    listed.position,
    listed.task,
    listed.title,
    listed.track,
    results.metric,
    results.value, -- from 0 to 1; null: the set is empty or too small
from listed
left join results
    on results.source = listed.source and results.task = listed.task
order by listed.position
