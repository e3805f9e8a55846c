-- Samples that two sets share, before those of the later set left and after: are the sets disjoint?
-- One row per (pair of sets, way of looking), in the order of the views.
--
-- pairs      position, earlier, later, title: all pairs of sets
-- ways       position, how, title, checked
-- removed    set, how, other_set: overlaps of what was drawn, all of which left
-- remaining  set, how, other_set: overlaps of what stayed, looked for anew
--            if $searched_again, else no rows
-- drawn      set: of the samples that were drawn
-- members    set: of the samples that stayed
with removed_counts as (
    select
        other_set as earlier,
        "set" as later,
        how,
        count(*) as samples,
    from removed
    group by earlier, later, how
),

remaining_counts as (
    select
        other_set as earlier,
        "set" as later,
        how,
        count(*) as samples,
    from remaining
    group by earlier, later, how
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
    pairs.earlier,
    pairs.later,
    pairs.title as sets,
    ways.how,
    ways.title as how_title,
    ways.checked,
    coalesce(earlier_drawn.samples, 0) as earlier_drawn,
    coalesce(later_drawn.samples, 0) as later_drawn,
    coalesce(earlier_sizes.samples, 0) as earlier_samples,
    coalesce(later_sizes.samples, 0) as later_samples,
    -- null: nobody looked
    if(ways.checked, coalesce(removed_counts.samples, 0), null) as removed,
    if(
        ways.checked and $searched_again, coalesce(remaining_counts.samples, 0), null
    ) as remaining,
from pairs
cross join ways
left join removed_counts
    on
        removed_counts.earlier = pairs.earlier
        and removed_counts.later = pairs.later
        and removed_counts.how = ways.how
left join remaining_counts
    on
        remaining_counts.earlier = pairs.earlier
        and remaining_counts.later = pairs.later
        and remaining_counts.how = ways.how
left join drawn_sizes as earlier_drawn
    on earlier_drawn.set = pairs.earlier
left join drawn_sizes as later_drawn
    on later_drawn.set = pairs.later
left join sizes as earlier_sizes
    on earlier_sizes.set = pairs.earlier
left join sizes as later_sizes
    on later_sizes.set = pairs.later
order by pairs.position, ways.position
