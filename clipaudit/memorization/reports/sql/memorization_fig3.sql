-- The number of records of A with at least a given recall, under the model trained on A (the
-- target) and under the other one (the reference): Figure 3 of the VL-Deja-Vu paper.
-- One row per (panel, model, distinct recall), in the order of the panels, target first, recall
-- ascending; a panel without records has one row, without a model.
--
-- panels    panel_position, panel_title, is_default, in_grid, point
-- survival  public, point, k, attack, model, recall, at_least, records
-- gaps      public, point, k, source, target, measure, value, net, evaluated, dropped
-- $public   the public set
-- $k        neighbours of a caption
with stairs as (
    select
        point,
        model,
        recall,
        at_least,
        records,
    from survival
    where public = $public and k = $k and attack = 'a'
),

areas as (
    select
        point,
        value as aucg,
        net as aucg_net,
        evaluated + dropped as training_samples,
    from gaps
    where public = $public and k = $k and source = '' and target = 'a' and measure = 'aucg'
)

select
    panels.panel_position,
    panels.panel_title,
    panels.is_default,
    panels.in_grid,
    panels.point,
    areas.training_samples,
    areas.aucg,
    areas.aucg_net, -- minus the models' difference on the hold-out; null: no hold-out
    stairs.model,
    stairs.recall,
    stairs.at_least,
    stairs.records,
from panels
left join areas
    on areas.point = panels.point
left join stairs
    on stairs.point = panels.point
order by panels.panel_position, stairs.model desc, stairs.recall
