-- How many samples the sets have, and how many objects their images show.
-- One row per (source, set), in the order of the view `sets`.
--
-- sets     position, source, source_title, set, set_title, asked: the requested size, as text
-- drawn    source, set, shard, row: one sample of each group of duplicates
-- members  source, set, shard, row: of these, the samples that repeat no record
-- objects  corpus (source.drawn), shard, row, labels
with drawn_counts as (
    select source, "set", count(*) as samples,
    from drawn
    group by source, "set"
),

member_counts as (
    select source, "set", count(*) as samples,
    from members
    group by source, "set"
),

-- the objects are streamed, the members are held in memory
pictures as (
    select
        members.source,
        members.set,
        list_distinct(objects.labels) as labels,
    from objects
    inner join members
        on
            members.source || '.drawn' = objects.corpus
            and members.shard = objects.shard
            and members.row = objects.row
),

picture_counts as (
    select
        source,
        "set",
        count(*) as pictures,
        count(*) filter (where len(labels) = 0) as without_objects,
        sum(len(labels)) as objects,
    from pictures
    group by source, "set"
),

label_counts as (
    select source, "set", count(distinct label) as labels,
    from (select source, "set", unnest(labels) as label from pictures)
    group by source, "set"
)

select
    sets.position,
    sets.source,
    sets.source_title,
    sets.set,
    sets.set_title,
    sets.asked,
    coalesce(drawn_counts.samples, 0) as allotted,
    coalesce(drawn_counts.samples, 0) - coalesce(member_counts.samples, 0) as left_for_overlaps,
    coalesce(member_counts.samples, 0) as samples,
    -- images that no annotator could read, or, without a public set, none was given
    coalesce(member_counts.samples, 0) - coalesce(picture_counts.pictures, 0) as not_annotated,
    coalesce(picture_counts.without_objects, 0) as without_objects,
    picture_counts.objects::bigint / picture_counts.pictures as objects_per_picture,
    coalesce(label_counts.labels, 0) as labels,
from sets
left join drawn_counts
    on drawn_counts.source = sets.source and drawn_counts.set = sets.set
left join member_counts
    on member_counts.source = sets.source and member_counts.set = sets.set
left join picture_counts
    on picture_counts.source = sets.source and picture_counts.set = sets.set
left join label_counts
    on label_counts.source = sets.source and label_counts.set = sets.set
order by sets.position
