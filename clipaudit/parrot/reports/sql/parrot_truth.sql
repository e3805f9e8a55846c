-- How well the spotter reads text, in images of a synthetic world, whose written words are known.
-- One row per (corpus, height of the written word), in the order of the view `classes`. An image
-- without a written word has no height and counts only under all.
--
-- classes  position, corpus, title, height (small, large, all), height_title
-- truths   corpus and the columns of clipaudit.parrot.spotted_truth's SPOTTED_TRUTH
-- $small   height in pixels below which a word is small
with classified as (
    select 'all' as height, *,
    from truths
    union all
    select if(word_height < $small, 'small', 'large') as height, *,
    from truths
    where word_height is not null
),

-- Decimals are summed exactly, so that no mean depends on how a corpus is cut into parts.
counts as (
    select
        corpus,
        height,
        count(*) as pictures,
        count(word) as words,
        count(*) filter (where found) as found_words,
        exact_interval(found_words, words) as found_interval,
        sum(spotted)::bigint as spotted,
        sum("right")::bigint as "right",
        count(truth_rate) as captions,
        avg(truth_rate::decimal(18, 15)) as truth_rate,
        avg(spotted_rate::decimal(18, 15)) as spotted_rate,
        count(*) filter (where truth_rate = spotted_rate) as equal_rates,
        count(*) filter (where spans > 0) as with_spans,
        count(*) filter (where spans > 0 and word is null) as false_pictures,
        coalesce(sum(spans) filter (where word is null), 0)::bigint as false_spans,
    from classified
    group by corpus, height
)

select
    classes.position,
    classes.corpus,
    classes.title as corpus_title,
    classes.height,
    classes.height_title,
    coalesce(counts.pictures, 0) as pictures,
    coalesce(counts.words, 0) as words, -- images with a written word, at most one each
    coalesce(counts.found_words, 0) as found, -- of these, images whose word was spotted
    counts.found_words / nullif(counts.words, 0) as recall,
    counts.found_interval.low as recall_low,
    counts.found_interval.high as recall_high,
    coalesce(counts.spotted, 0) as spotted, -- distinct spotted words of each image, summed
    coalesce(counts.right, 0) as right_words, -- of these, written words
    counts.right / nullif(counts.spotted, 0) as precision,
    coalesce(counts.captions, 0) as captions, -- captions with words, which the rates are over
    counts.truth_rate, -- mean CoTR with the written words
    counts.spotted_rate, -- mean CoTR with the spotted words
    counts.equal_rates / nullif(counts.captions, 0) as equal_rates, -- share of captions with both equal
    coalesce(counts.with_spans, 0) as with_spans, -- images in which the spotter found text
    -- in images without a written word; null: images of this height have one
    if(classes.height = 'all', coalesce(counts.false_pictures, 0), null) as false_pictures,
    if(classes.height = 'all', coalesce(counts.false_spans, 0), null) as false_spans,
from classes
left join counts
    on counts.corpus = classes.corpus and counts.height = classes.height
order by classes.position
