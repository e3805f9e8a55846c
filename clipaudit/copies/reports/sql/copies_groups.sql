-- The largest groups of repeats within the training corpus.
-- One row per group: the $shown largest, by size, then address.
--
-- groups  shard, row, first_shard, first_row, size
-- $shown  how many groups
select
    row_number() over (order by size desc, first_shard, first_row) as position, -- of the group, from 1
    first_shard as shard, -- of the first image of the group
    first_row as row,
    size, -- images in the group
from groups
where shard = first_shard and row = first_row
order by position
limit $shown
