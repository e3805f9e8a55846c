-- How many of the copies made on purpose each method finds, before and after pixels are compared.
-- One row per (way to make a copy, method), in the order of the views `calibration` and `methods`.
--
-- calibration  method, position, transformation, strength, label, copies, found, verified
-- methods      position, method, title
select
    calibration.position, -- the way's place in the list of transformations
    calibration.transformation,
    calibration.strength,
    calibration.label,
    calibration.transformation || ', ' || calibration.label as way,
    methods.position as method_position,
    calibration.method,
    methods.title as method_title,
    calibration.copies, -- copies made
    calibration.found, -- copies whose original is a candidate; null: no threshold was chosen
    calibration.found / calibration.copies as found_share,
    exact_interval(calibration.found, calibration.copies).low as found_share_low,
    exact_interval(calibration.found, calibration.copies).high as found_share_high,
    calibration.verified, -- found copies that pixels confirm
    calibration.verified / calibration.copies as verified_share,
    exact_interval(calibration.verified, calibration.copies).low as verified_share_low,
    exact_interval(calibration.verified, calibration.copies).high as verified_share_high,
from calibration
inner join methods on methods.method = calibration.method
order by calibration.position, methods.position
