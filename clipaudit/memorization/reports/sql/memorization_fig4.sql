-- The additional recall of the model trained on A over the other one, for the first records of A in
-- some order, and for the hold-out in the same order: Figures 4, 8 and 10 of the VL-Deja-Vu
-- paper, which has no hold-out.
-- One row per (panel, number of first records, measure), in this order. If no record has a
-- label, there is one row per (panel, measure), without a value.
--
-- panels       panel_row, panel_column, panel_title, scale, sort
-- measures     series_position (null: not drawn), series, title
-- sample_gaps  public, point, k, attack, sort, records, share, measure, target, reference, gap
-- $public      the public set
-- $point       the models
-- $k           neighbours of a caption
with shown as (
    select *
    from sample_gaps
    where public = $public and point = $point and k = $k
),

exposed as (
    select
        members.*,
        unseen.records as unseen_records,
        unseen.gap as unseen_gap,
    from shown as members
    left join shown as unseen
        on
            unseen.attack = 'control'
            and unseen.sort = members.sort
            and unseen.measure = members.measure
            -- the same number of first records, or all of both
            and if(members.share = 1, unseen.share = 1, unseen.records = members.records)
    where members.attack = 'a'
)

select
    panels.panel_row,
    panels.panel_column,
    panels.panel_title,
    panels.scale,
    panels.sort,
    exposed.records as group_position,
    false as is_default,
    exposed.records,
    exposed.share,
    measures.series_position,
    measures.series,
    measures.title as series_title,
    exposed.target,
    exposed.reference,
    exposed.gap as value,
    null::double as low,
    null::double as high,
    -- on the hold-out, where training cannot explain a gap
    exposed.unseen_records,
    exposed.unseen_gap as chance,
from panels
cross join measures
left join exposed
    on exposed.sort = panels.sort and exposed.measure = measures.series
order by
    panels.panel_row,
    panels.panel_column,
    exposed.records,
    measures.series_position nulls last,
    measures.series
