-- How a model's accuracy on test images depends on their similarity to the nearest image of its
-- training set: Figures 3 (left), 6, 11 and 12 (right) of the similarity paper.
-- One row per (test set, bin that holds an image or a point of the paper), in the order of the
-- view `testsets`, bins ascending; a test set without either has one row, without a bin. Rank
-- correlation and fit are over the single images of the test set, the same in all its rows.
--
-- testsets     position, testset, title
-- neighbors    testset, test_shard, test_row, rank, similarity: in the model's training set
-- predictions  testset, shard, row, right_rank: of one model
-- published    row, testset, measure, value: row is the similarity at which the paper has an accuracy
-- $bins        bins per unit of similarity, 100 or less: bin i is [i/bins, (i+1)/bins)
with answers as (
    select
        predictions.testset,
        neighbors.similarity,
        predictions.right_rank = 0 as is_right,
    from predictions
    left join neighbors
        on
            neighbors.testset = predictions.testset
            and neighbors.test_shard = predictions.shard
            and neighbors.test_row = predictions.row
            and neighbors.rank = 0
),

ranked as (
    select
        testset,
        similarity,
        is_right,
        doubled_rank(similarity, testset) as similarity_rank,
        doubled_rank(is_right, testset) as right_rank,
    from answers
    where similarity is not null
),

-- An image that could not be embedded has no similarity: it is counted and left out.
unknown as (
    select
        testset,
        count(*) as images,
    from answers
    where similarity is null
    group by testset
),

-- The chance of a right answer is 1 / (1 + exp(-(intercept + slope * similarity))).
relations as (
    select
        testset,
        count(*) as images,
        rank_correlation(similarity_rank, right_rank) as rank_correlation,
        logistic_fit(list(similarity), list(is_right)) as fit,
    from ranked
    group by testset
),

-- The product is rounded once, identically on every machine. A similarity within 2^-52 of an edge
-- may fall on its other side. Equal vectors have similarity 1 and fall into the last bin below it.
binned as (
    select
        testset,
        least(floor(similarity * $bins), $bins - 1)::bigint as bin,
        is_right,
    from ranked
),

bins as (
    select
        testset,
        bin,
        count(*) as images,
        count(*) filter (where is_right) as correct,
        exact_interval(correct, images) as accuracy_interval,
    from binned
    group by testset, bin
),

papers as (
    select
        testsets.testset,
        published.row::double as similarity,
        round(published.value / 100, 6) as accuracy,
        least(floor(published.row::double * $bins), $bins - 1)::bigint as bin,
    from published
    inner join testsets
        on testsets.title = published.testset
    where published.measure = 'accuracy_percent'
),

places as (
    select testset, bin from bins
    union
    select testset, bin from papers
)

select
    testsets.position,
    testsets.testset,
    testsets.title as testset_title,
    places.bin / $bins as bin_low,
    (places.bin + 1) / $bins as bin_high,
    coalesce(bins.images, 0) as images,
    coalesce(bins.correct, 0) as correct,
    bins.correct / bins.images as accuracy,
    bins.accuracy_interval.low as accuracy_low,
    bins.accuracy_interval.high as accuracy_high,
    coalesce(relations.images, 0) as all_images,
    coalesce(unknown.images, 0) as without_similarity,
    relations.rank_correlation,
    relations.fit.intercept,
    relations.fit.slope,
    papers.similarity as published_similarity,
    papers.accuracy as published_accuracy,
from testsets
left join relations
    on relations.testset = testsets.testset
left join unknown
    on unknown.testset = testsets.testset
left join places
    on places.testset = testsets.testset
left join bins
    on bins.testset = testsets.testset and bins.bin = places.bin
left join papers
    on papers.testset = testsets.testset and papers.bin = places.bin
order by testsets.position, places.bin
