-- How alike two encoders rank the images of a test set by their similarity to the small corpus:
-- Table 5 of the similarity paper, Spearman's rank correlation.
-- One row per test set, in the order of the view `testsets`.
--
-- testsets   position, testset, title
-- neighbors  encoder, testset, test_shard, test_row, rank, similarity; of the small corpus alone
-- $encoder, $second_encoder  encoders, as `neighbors` names them
-- published  row, testset, measure, value
-- $encoders_title            the two, as people name them
-- $small_title               the small corpus, as people name it
with pairs as (
    select
        first.testset,
        doubled_rank(first.similarity, first.testset) as first_rank,
        doubled_rank(second.similarity, first.testset) as second_rank,
    from neighbors as first
    inner join neighbors as second
        on
            second.testset = first.testset
            and second.test_shard = first.test_shard
            and second.test_row = first.test_row
    where
        first.encoder = $encoder
        and second.encoder = $second_encoder
        and first.rank = 0
        and second.rank = 0
),

correlations as (
    select
        testset,
        count(*) as images,
        rank_correlation(first_rank, second_rank) as correlation,
    from pairs
    group by testset
)

select
    testsets.position,
    testsets.testset,
    testsets.title as testset_title,
    concat_ws('/', $encoder, $second_encoder) as encoders,
    $encoders_title as encoders_title,
    coalesce(correlations.images, 0) as images,
    correlations.correlation,
    published.value as published_correlation,
from testsets
left join correlations
    on correlations.testset = testsets.testset
left join published
    on
        paper_name(published.row) = paper_name($small_title)
        and published.testset = testsets.title
        and published.measure = 'spearman'
order by testsets.position
