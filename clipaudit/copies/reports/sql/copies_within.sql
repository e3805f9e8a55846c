-- How many images of the training corpus repeat others, and how large the groups are.
-- One row. The share has no interval: all images are counted, and in a sample it is lower than in the
-- corpus, since a sample holds an image and its repeat less often than one image.
--
-- images    corpus, shard, row
-- groups    first_shard, first_row, size: one row per image of a group of repeats
-- searched  searched, images: of the training images, if a sample of them was drawn; one row
-- $train    the training corpus
-- $title    its title in tables
with totals as (
    select count(*) as images from images where corpus = $train
),

grouped as (
    select
        count(*) as in_groups,
        count(distinct (first_shard, first_row)) as groups,
        max(size) as largest,
    from groups
)

select
    0 as position,
    $title as corpus_title,
    totals.images, -- images searched
    grouped.in_groups, -- images in a group of two or more
    grouped.groups,
    grouped.in_groups - grouped.groups as repeats, -- images beyond the first of each group
    (grouped.in_groups - grouped.groups) / nullif(totals.images, 0) as share, -- repeats / images
    sampling.searched < sampling.images as is_sampled, -- whether only a sample of the images was searched
    coalesce(grouped.largest, 0) as largest, -- images in the largest group
from totals
cross join grouped
cross join searched as sampling
