-- The population metrics of memorization over models of several seeds, each with its own cut of the
-- records into A, B and hold-out, and the change that a setting makes.
-- One row per (public set, k, setting, source, target, measure), in the order of the views. Single
-- sources have only the mean and the control. Values are means over the seeds, their bounds are
-- over seeds and records. A change compares a setting with the default one, seed by seed.
--
-- publics  position, public, title
-- points   point, setting_position, setting, setting_title, recipe, epochs, manifest_a, manifest_b:
--          one for each seed at each setting
-- targets  position, target, title: mean, a, b, control; a and b are net of the control
-- sources  position, source, title: "" means all together
-- gaps     public, point, k, source, target, measure, seeds, evaluated, by_seed, value, low, high,
--          change, change_low, change_high; a point is a setting
-- curves   recipe, manifest, step, epoch, loss
with measures (measure_position, measure, measure_title) as (
    values (0, 'ppg', 'PPG'), (1, 'prg', 'PRG'), (2, 'aucg', 'AUCG')
),

final_losses as (
    select
        points.point,
        points.setting,
        avg(curves.loss order by curves.step)
        filter (where curves.manifest = points.manifest_a) as loss_a,
        avg(curves.loss order by curves.step)
        filter (where curves.manifest = points.manifest_b) as loss_b,
    from curves
    inner join points
        on points.recipe = curves.recipe and curves.epoch = points.epochs - 1
    group by points.point, points.setting
),

losses as (
    select
        setting,
        avg(loss_a order by point) as loss_a,
        avg(loss_b order by point) as loss_b,
    from final_losses
    group by setting
),

settings as (
    select distinct setting_position, setting, setting_title
    from points
)

select
    dense_rank() over (
        order by
            publics.position,
            gaps.k,
            settings.setting_position,
            sources.position,
            targets.position
    )::int - 1 as position,
    gaps.public,
    publics.title as public_title,
    gaps.k,
    settings.setting,
    settings.setting_title,
    gaps.source,
    sources.title as source_title,
    gaps.target,
    targets.title as target_title,
    concat(
        publics.title,
        ', k = ',
        gaps.k,
        ': ',
        concat_ws(
            ', ',
            nullif(settings.setting_title, ''),
            nullif(sources.title, ''),
            targets.title
        )
    ) as attack,
    gaps.measure,
    measures.measure_title,
    gaps.seeds,
    gaps.by_seed,
    gaps.evaluated,
    gaps.value,
    gaps.low as value_low,
    gaps.high as value_high,
    gaps.change,
    gaps.change_low,
    gaps.change_high,
    case gaps.target
        when 'b' then losses.loss_b when 'mean' then (losses.loss_a + losses.loss_b) / 2
        else losses.loss_a
    end as target_loss,
    case gaps.target
        when 'b' then losses.loss_a when 'mean' then (losses.loss_a + losses.loss_b) / 2
        else losses.loss_b
    end as reference_loss,
from gaps
inner join publics
    on publics.public = gaps.public
inner join settings
    on settings.setting = gaps.point
inner join sources
    on sources.source = gaps.source
inner join targets
    on targets.target = gaps.target
inner join measures
    on measures.measure = gaps.measure
inner join losses
    on losses.setting = gaps.point
where gaps.source = '' or gaps.target in ('mean', 'control')
order by
    publics.position,
    gaps.k,
    settings.setting_position,
    sources.position,
    targets.position,
    measures.measure_position
