-- How often models choose the right one of several captions of an image (ARO): Figure 7 of the
-- VL-Deja-Vu paper.
-- One row per (panel, group, selection set), in this order. A group is a model, or the two models
-- of A and B with equal training, whose accuracies are averaged. Groups outside the grid have no
-- value. With several kinds of samples the accuracy is the mean of the kinds' accuracies;
-- samples without a kind then form one more kind.
--
-- groups      panel_row, panel_column, panel_title, scale, group_position, group_title, is_default,
--             in_grid, point: a name for the models of a group
-- encoders    point, encoder: which models these are
-- sets        series_position, selection, title
-- selections  encoder, selection, kind, candidates, right, chosen
with per_candidates as (
    select
        encoder,
        selection,
        kind,
        candidates,
        count(*) as samples,
        count(*) filter (where chosen = "right") as correct,
    from selections
    group by encoder, selection, kind, candidates
),

-- Fractions are summed in a fixed order, so that the last bit does not depend on the rows' order.
per_kind as (
    select
        encoder,
        selection,
        kind,
        sum(samples)::bigint as all_samples,
        sum(correct)::bigint as all_correct,
        sum(samples / candidates order by candidates) / all_samples as chance,
    from per_candidates
    group by encoder, selection, kind
),

per_model as (
    select
        encoder,
        selection,
        count(*) as kinds,
        sum(all_samples)::bigint as samples,
        sum(all_correct)::bigint as correct,
        avg(all_correct / all_samples order by kind nulls last) as accuracy,
        avg(chance order by kind nulls last) as chance,
        exact_interval(sum(all_correct)::bigint, sum(all_samples)::bigint) as bounds,
    from per_kind
    group by encoder, selection
),

per_group as (
    select
        encoders.point,
        per_model.selection,
        max(per_model.kinds) as kinds,
        max(per_model.samples) as samples,
        avg(per_model.accuracy) as accuracy,
        avg(per_model.correct / per_model.samples) as plain_accuracy,
        min(per_model.bounds.low) as plain_low,
        max(per_model.bounds.high) as plain_high,
        max(per_model.chance) as chance,
    from encoders
    inner join per_model
        on per_model.encoder = encoders.encoder
    group by encoders.point, per_model.selection
)

select
    groups.panel_row,
    groups.panel_column,
    groups.panel_title,
    groups.scale,
    groups.group_position,
    groups.group_title,
    groups.is_default,
    groups.in_grid,
    groups.point,
    sets.series_position,
    sets.selection as series,
    sets.title as series_title,
    per_group.samples,
    per_group.kinds,
    per_group.accuracy as value,
    -- a mean over several kinds has no exact interval
    case when per_group.kinds = 1 then per_group.plain_low end as low,
    case when per_group.kinds = 1 then per_group.plain_high end as high,
    per_group.chance,
    per_group.plain_accuracy,
    -- the outer bounds of the models' exact 95 % intervals
    per_group.plain_low,
    per_group.plain_high,
from groups
cross join sets
left join per_group
    on per_group.point = groups.point and per_group.selection = sets.selection
order by
    groups.panel_row,
    groups.panel_column,
    groups.group_position,
    sets.series_position
