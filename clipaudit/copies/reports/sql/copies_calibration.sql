-- How many of the copies made on purpose each method finds, before and after pixels are compared.
-- One row per (way to make a copy, method), and one per method for all copies, in the order of the
-- views `calibration` and `methods`. The copies of one original are not independent of each other,
-- so the interval of all copies is over the originals.
--
-- calibration  method, position, transformation, strength, label, original, found, verified
-- methods      position, method, title
with of_originals as (
    select
        method,
        position,
        transformation,
        strength,
        label,
        original,
        count(*) as copies,
        sum(found::bigint)::bigint as found,
        sum(verified::bigint)::bigint as verified,
    from calibration
    group by grouping sets (
        (method, position, transformation, strength, label, original),
        (method, original)
    )
),

of_ways as (
    select
        method,
        position,
        transformation,
        strength,
        label,
        sum(copies)::bigint as copies,
        sum(found)::bigint as found,
        sum(verified)::bigint as verified,
        avg(found / of_originals.copies) as found_mean,
        var_samp(found / of_originals.copies) / count(*) as found_variance,
        avg(verified / of_originals.copies) as verified_mean,
        var_samp(verified / of_originals.copies) / count(*) as verified_variance,
        count(*) as originals,
    from of_originals
    group by method, position, transformation, strength, label
),

bounded as (
    select
        *,
        case when position is null
            then grouped_share_bounds(found_mean, found_variance, originals, copies)
            else exact_interval(found, copies)
        end as found_bounds,
        case when position is null
            then grouped_share_bounds(verified_mean, verified_variance, originals, copies)
            else exact_interval(verified, copies)
        end as verified_bounds,
    from of_ways
)

select
    bounded.position, -- the way's place in the list of transformations; null: all copies
    bounded.transformation,
    bounded.strength,
    bounded.label,
    coalesce(bounded.transformation || ', ' || bounded.label, 'all copies') as way,
    methods.position as method_position,
    bounded.method,
    methods.title as method_title,
    bounded.originals, -- images that copies were made of
    bounded.copies, -- copies made
    bounded.found, -- copies whose original is a candidate; null: no threshold was chosen
    bounded.found / bounded.copies as found_share,
    if(bounded.found is null, null, bounded.found_bounds.low) as found_share_low,
    if(bounded.found is null, null, bounded.found_bounds.high) as found_share_high,
    bounded.verified, -- found copies that pixels confirm
    bounded.verified / bounded.copies as verified_share,
    if(bounded.verified is null, null, bounded.verified_bounds.low) as verified_share_low,
    if(bounded.verified is null, null, bounded.verified_bounds.high) as verified_share_high,
from bounded
inner join methods on methods.method = bounded.method
order by bounded.position nulls last, methods.position
