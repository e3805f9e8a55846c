-- The shares of made copies that are found and verified, for the recall figure.
-- One row per (method, way to make a copy, series).
--
-- calibration  method, position, transformation, label, copies, found, verified
-- methods      position, method, title
-- stages       position, stage, title: found, verified
select
    methods.position as panel_position,
    methods.title as panel_title,
    dense_rank() over (order by first_positions.first_position) as group_position,
    calibration.transformation as group_title,
    calibration.position as row_position,
    calibration.label as row_title,
    stages.position as series_position,
    stages.title as series_title,
    calibration.copies,
    if(stages.stage = 'found', calibration.found, calibration.verified) as shown,
    shown / calibration.copies as value,
    exact_interval(shown, calibration.copies).low as low,
    exact_interval(shown, calibration.copies).high as high,
from calibration
inner join methods on methods.method = calibration.method
inner join (
    select
        transformation,
        min(position) as first_position,
    from calibration
    group by transformation
) as first_positions
    on first_positions.transformation = calibration.transformation
cross join stages
order by methods.position, calibration.position, stages.position
