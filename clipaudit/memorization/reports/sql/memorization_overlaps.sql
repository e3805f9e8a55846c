-- Samples that duplicate a record of A, B or the hold-out, before and after their removal, to check
-- that sets are disjoint and each lost the same kinds of records.
-- One row per (pair of sets, matching method), in the order of the views.
--
-- pairs      position, one, other, title: pairs of sets, their names in order; a set with itself, too
-- ways       position, how, title, checked
-- removed    set, how, other_set: overlaps of drawn samples, which were all removed
-- remaining  set, how, other_set: overlaps of the kept samples, from a second search
--            if $searched_again, else no rows
-- drawn      set: of the drawn samples
-- members    set: of the kept samples
with removed_counts as (
    select
        least("set", other_set) as one,
        greatest("set", other_set) as other,
        how,
        count(*) as samples,
    from removed
    group by one, other, how
),

remaining_counts as (
    select
        least("set", other_set) as one,
        greatest("set", other_set) as other,
        how,
        count(*) as samples,
    from remaining
    group by one, other, how
),

drawn_sizes as (
    select "set", count(*) as samples,
    from drawn
    group by "set"
),

sizes as (
    select "set", count(*) as samples,
    from members
    group by "set"
)

select
    pairs.position,
    pairs.one,
    pairs.other,
    pairs.title as sets,
    ways.how,
    ways.title as how_title,
    ways.checked,
    coalesce(one_drawn.samples, 0) as one_drawn,
    coalesce(other_drawn.samples, 0) as other_drawn,
    coalesce(one_sizes.samples, 0) as one_samples,
    coalesce(other_sizes.samples, 0) as other_samples,
    -- null: not checked
    if(ways.checked, coalesce(removed_counts.samples, 0), null) as removed,
    if(
        ways.checked and $searched_again, coalesce(remaining_counts.samples, 0), null
    ) as remaining,
from pairs
cross join ways
left join removed_counts
    on
        removed_counts.one = pairs.one
        and removed_counts.other = pairs.other
        and removed_counts.how = ways.how
left join remaining_counts
    on
        remaining_counts.one = pairs.one
        and remaining_counts.other = pairs.other
        and remaining_counts.how = ways.how
left join drawn_sizes as one_drawn
    on one_drawn.set = pairs.one
left join drawn_sizes as other_drawn
    on other_drawn.set = pairs.other
left join sizes as one_sizes
    on one_sizes.set = pairs.one
left join sizes as other_sizes
    on other_sizes.set = pairs.other
order by pairs.position, ways.position
