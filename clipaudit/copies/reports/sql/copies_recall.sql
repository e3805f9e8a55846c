-- The shares of made copies that are found and verified, for the recall figure.
-- One row per (method, way to make a copy, series).
--
-- calibration  method, position, transformation, label, found, verified
-- methods      position, method, title
-- stages       position, stage, title: found, verified
with of_ways as (
    select
        method,
        position,
        transformation,
        label,
        count(*) as copies,
        sum(found::bigint)::bigint as found,
        sum(verified::bigint)::bigint as verified,
    from calibration
    group by method, position, transformation, label
)

select
    methods.position as panel_position,
    methods.title as panel_title,
    dense_rank() over (order by first_positions.first_position) as group_position,
    of_ways.transformation as group_title,
    of_ways.position as row_position,
    of_ways.label as row_title,
    stages.position as series_position,
    stages.title as series_title,
    of_ways.copies,
    if(stages.stage = 'found', of_ways.found, of_ways.verified) as shown,
    shown / of_ways.copies as value,
    exact_interval(shown, of_ways.copies).low as low,
    exact_interval(shown, of_ways.copies).high as high,
from of_ways
inner join methods on methods.method = of_ways.method
inner join (
    select
        transformation,
        min(position) as first_position,
    from of_ways
    group by transformation
) as first_positions
    on first_positions.transformation = of_ways.transformation
cross join stages
order by methods.position, of_ways.position, stages.position
