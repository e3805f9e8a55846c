-- Does memorization show under every seed, and does a setting lower it? The population metrics over
-- models that differ in their seed alone.
-- One row per (public set, k, setting, target, measure), in the order of the views; values are means
-- over the seeds and bounds are Student's 95 % intervals of these means. A change is that of a
-- setting from the default one, seed by seed.
--
-- publics  position, public, title
-- points   point, seed, setting_position, setting, setting_title, recipe, epochs, manifest_a,
--          manifest_b: one for each seed at each setting
-- targets  position, target, title: a, b, mean, control; the last is attacked as a is
-- gaps     public, point, k, target, measure, value, low, high, evaluated
-- curves   recipe, manifest, step, epoch, loss
-- $t       the 97.5 % quantile of Student's t, one degree of freedom fewer than seeds
-- $default the default setting
with measures (measure_position, measure, measure_title) as (
    values (0, 'ppg', 'PPG'), (1, 'prg', 'PRG'), (2, 'aucg', 'AUCG')
),

final_losses as (
    select
        points.point,
        avg(curves.loss order by curves.step)
        filter (where curves.manifest = points.manifest_a) as loss_a,
        avg(curves.loss order by curves.step)
        filter (where curves.manifest = points.manifest_b) as loss_b,
    from curves
    inner join points
        on points.recipe = curves.recipe and curves.epoch = points.epochs - 1
    group by points.point
),

found as (
    select
        gaps.*,
        points.seed,
        points.setting,
        case gaps.target
            when 'b' then loss_b when 'mean' then (loss_a + loss_b) / 2 else loss_a
        end as target_loss,
        case gaps.target
            when 'b' then loss_a when 'mean' then (loss_a + loss_b) / 2 else loss_b
        end as reference_loss,
    from gaps
    inner join points
        on points.point = gaps.point
    inner join final_losses
        on final_losses.point = gaps.point
),

compared as (
    select
        found.*,
        if(found.setting = $default, null, found.value - defaults.value) as change,
    from found
    inner join found as defaults
        on
            defaults.setting = $default
            and defaults.seed = found.seed
            and defaults.public = found.public
            and defaults.k = found.k
            and defaults.target = found.target
            and defaults.measure = found.measure
),

summary as (
    select
        public,
        k,
        setting,
        target,
        measure,
        count(value) as seeds,
        count(*) filter (where low > 0 or high < 0) as excluding_zero,
        max(evaluated) as evaluated,
        avg(value order by seed) as value,
        $t * stddev_samp(value order by seed) / sqrt(count(value)) as margin,
        avg(change order by seed) as change,
        $t * stddev_samp(change order by seed) / sqrt(count(change)) as change_margin,
        avg(target_loss order by seed) as target_loss,
        avg(reference_loss order by seed) as reference_loss,
    from compared
    group by public, k, setting, target, measure
),

settings as (
    select distinct setting_position, setting, setting_title
    from points
)

select
    dense_rank() over (
        order by publics.position, summary.k, settings.setting_position, targets.position
    )::int - 1 as position,
    summary.public,
    publics.title as public_title,
    summary.k,
    summary.setting,
    settings.setting_title,
    summary.target,
    targets.title as target_title,
    concat(
        publics.title, ', k = ', summary.k, ': ', settings.setting_title, ', ', targets.title
    ) as attack,
    summary.measure,
    measures.measure_title,
    summary.seeds,
    summary.excluding_zero,
    summary.evaluated,
    summary.value,
    -- greatest and least pass nulls over: one seed alone would have the whole scale
    if(summary.margin is null, null, greatest(summary.value - summary.margin, -1)) as value_low,
    if(summary.margin is null, null, least(summary.value + summary.margin, 1)) as value_high,
    summary.change,
    summary.change - summary.change_margin as change_low,
    summary.change + summary.change_margin as change_high,
    summary.target_loss,
    summary.reference_loss,
from summary
inner join publics
    on publics.public = summary.public
inner join settings
    on settings.setting = summary.setting
inner join targets
    on targets.target = summary.target
inner join measures
    on measures.measure = summary.measure
order by
    publics.position,
    summary.k,
    settings.setting_position,
    targets.position,
    measures.measure_position
