-- The nearest pairs of a test image and a training image that copies it.
-- One row per pair: the first $shown of each test set, by kind, then agreement, then address.
--
-- testsets  position, testset, title
-- copies    testset, other_shard, other_row, corpus, shard, row, kind, edits, method, distance,
--           view, similarity, encoder, agreement, covered_other, covered, correlation, inliers
-- kinds     position, kind: of copies, from the nearest to the farthest
with ranked as (
    select
        testsets.position,
        testsets.title as testset_title,
        copies.*,
        kinds.position as kind_position,
        row_number() over (
            partition by copies.testset
            order by
                kinds.position,
                copies.agreement desc nulls first,
                copies.other_shard,
                copies.other_row,
                copies.shard,
                copies.row
        ) as place,
    from copies
    inner join kinds on kinds.kind = copies.kind
    inner join testsets on testsets.testset = copies.testset
)

select
    position, -- of the test set, from 0
    testset,
    testset_title,
    place, -- within the test set, from 1
    other_shard as test_shard,
    other_row as test_row,
    corpus,
    shard,
    row,
    kind,
    edits, -- edits made to one of them, where known
    distance, -- differing bits, of 256, between the two nearest views' hashes; null: beyond the threshold
    view, -- view of the test image whose hash was nearest
    similarity, -- by the encoder; null: no encoder proposed the pair
    encoder,
    method, -- how pixels were compared; null: digests decided
    agreement, -- share of the content that agrees
    covered_other as covered_test, -- share of the test image that the training image shows
    covered, -- share of the training image that the test image shows
    correlation, -- of the aligned pixels
    inliers, -- matched features that fit the alignment; null: none were needed
from ranked
where place <= $shown
order by position, place
