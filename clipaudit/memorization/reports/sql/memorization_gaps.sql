-- The additional recall of a model on its own training images over a model that never saw them: the
-- population metrics of the memorization paper (Figures 2, 5 and 9), at every point of the grid.
-- One row per (public set, k, point, source, target, measure), in the order of the views. Single
-- sources have only the mean and the control. A point that is not in the grid has one row per
-- (public set, k, measure), without a target and without numbers. The target `mean` has the means of
-- the two models' losses and utilities.
--
-- publics   position, public, title
-- points    position, point, title, asked, recipe, epochs, encoder_a, encoder_b, manifest_a,
--           manifest_b
-- targets   position, target, title: mean, a, b, control; the last is attacked like a
-- sources   position, source, title: "" means all together
-- gaps      public, point, k, source, target, measure, value, draws_mean, draws_std, low, high, net,
--           net_low, net_high, p_value, evaluated, dropped
-- curves    recipe, manifest, step, epoch, loss
-- utility   encoder, testset, right_rank
-- $neighbors  list of k
-- $utility    the test set that measures the models' utility; "": none
-- $utility_title  its title
with measures (measure_position, measure, measure_title) as (
    values
        (0, 'ppg', 'PPG'),
        (1, 'prg', 'PRG'),
        (2, 'aucg', 'AUCG'),
        (3, 'aucg_histogram', 'AUCG (histogram)')
),

final_losses as (
    select
        recipe,
        manifest,
        epoch,
        avg(loss order by step) as loss,
    from curves
    group by recipe, manifest, epoch
),

utilities as (
    select
        encoder,
        avg((right_rank = 0)::int) as accuracy,
        exact_interval(count(*) filter (where right_rank = 0), count(*)) as accuracy_interval,
    from utility
    where testset = $utility
    group by encoder
),

models as (
    select
        points.position,
        points.point,
        points.title,
        loss_a.loss as loss_a,
        loss_b.loss as loss_b,
        utility_a.accuracy as utility_a,
        utility_b.accuracy as utility_b,
        utility_a.accuracy_interval as utility_a_interval,
        utility_b.accuracy_interval as utility_b_interval,
    from points
    left join final_losses as loss_a
        on
            loss_a.recipe = points.recipe
            and loss_a.manifest = points.manifest_a
            and loss_a.epoch = points.epochs - 1
    left join final_losses as loss_b
        on
            loss_b.recipe = points.recipe
            and loss_b.manifest = points.manifest_b
            and loss_b.epoch = points.epochs - 1
    left join utilities as utility_a
        on utility_a.encoder = points.encoder_a
    left join utilities as utility_b
        on utility_b.encoder = points.encoder_b
    where points.asked
),

found as (
    select
        models.position as point_position,
        targets.position as target_position,
        targets.title as target_title,
        sources.position as source_position,
        sources.title as source_title,
        gaps.*,
        case targets.target
            when 'b' then loss_b when 'mean' then (loss_a + loss_b) / 2 else loss_a
        end as target_loss,
        case targets.target
            when 'b' then loss_a when 'mean' then (loss_a + loss_b) / 2 else loss_b
        end as reference_loss,
        case targets.target
            when 'b' then utility_b when 'mean' then (utility_a + utility_b) / 2 else utility_a
        end as utility,
        case targets.target
            when 'b' then utility_b_interval when 'mean' then null else utility_a_interval
        end as utility_interval,
    from gaps
    inner join models
        on models.point = gaps.point
    inner join targets
        on targets.target = gaps.target
    inner join sources
        on sources.source = gaps.source
    where gaps.source = '' or gaps.target in ('mean', 'control')
),

asked_for as (
    select
        publics.position as public_position,
        publics.public,
        publics.title as public_title,
        neighborhoods.k,
        points.position as point_position,
        points.point,
        points.title as point_title,
        points.asked as in_grid,
        measures.*,
    from publics
    cross join (select unnest($neighbors::int[]) as k) as neighborhoods
    cross join points
    cross join measures
),

cells as (
    select
        asked_for.*,
        found.* exclude (public, point, k, measure, point_position),
        -- sources, then targets, of which there are four
        coalesce(4 * found.source_position + found.target_position, -1) as row_position,
        row_position = min(row_position) over (
            partition by asked_for.public_position, asked_for.k, asked_for.point_position
        ) as is_first_of_point,
    from asked_for
    left join found
        on
            found.public = asked_for.public
            and found.point = asked_for.point
            and found.k = asked_for.k
            and found.measure = asked_for.measure
)

select
    dense_rank() over (
        order by public_position, k, point_position, row_position
    )::int - 1 as position,
    public,
    public_title,
    k,
    point,
    point_title,
    in_grid,
    target,
    target_title,
    source,
    source_title,
    if(
        is_first_of_point,
        concat(
            public_title, ', k = ', k, ': ', concat_ws(', ', point_title, target_title)
        ),
        concat_ws(', ', nullif(source_title, ''), target_title)
    ) as attack,
    not is_first_of_point as indent,
    measure,
    measure_title,
    value,
    low as value_low,
    high as value_high,
    net,
    net_low,
    net_high,
    draws_mean,
    draws_std,
    p_value,
    evaluated,
    dropped,
    target_loss,
    reference_loss,
    utility,
    utility_interval.low as utility_low,
    utility_interval.high as utility_high,
    $utility_title as utility_title,
from cells
order by public_position, k, point_position, row_position, measure_position
