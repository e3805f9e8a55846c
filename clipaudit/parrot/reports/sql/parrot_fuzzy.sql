-- The share of captions that counts as repeated at several thresholds of the fuzzy match, which the
-- paper does not state.
-- One row per (threshold, tokenization, corpus), in the order of the views `thresholds` and
-- `corpora`.
--
-- corpora      position, corpus, title
-- thresholds   position, threshold, tokenization (words, plain), title
-- fuzzy_sweep  corpus, threshold, tokenization, has_text, captions, rates (a sum)
-- published    row, testset, measure, value
with summed as (
    select
        corpus,
        threshold,
        tokenization,
        sum(captions)::bigint as captions,
        sum(rates) as rates,
        (sum(captions) filter (where has_text))::bigint as captions_with_text,
        sum(rates) filter (where has_text) as rates_with_text,
    from fuzzy_sweep
    group by corpus, threshold, tokenization
),

papers as (
    select
        paper_name(row) as title,
        max(value) filter (where measure = 'fuzzy_rate_percent') as rate,
        max(value) filter (where measure = 'fuzzy_rate_with_text_percent') as rate_with_text,
    from published
    group by paper_name(row)
)

select
    thresholds.position,
    thresholds.threshold, -- Levenshtein similarity from which words count as equal
    thresholds.tokenization,
    thresholds.title as threshold_title,
    corpora.corpus,
    corpora.title as corpus_title,
    coalesce(summed.captions, 0) as captions, -- captions with words, which the rate is a mean over
    summed.rates::double / nullif(summed.captions, 0) as rate, -- mean fuzzy CoTR
    coalesce(summed.captions_with_text, 0) as captions_with_text, -- of images with text
    -- the same mean over these
    summed.rates_with_text::double / nullif(summed.captions_with_text, 0) as rate_with_text,
    round(papers.rate / 100, 6) as published_rate,
    round(papers.rate_with_text / 100, 6) as published_rate_with_text,
from thresholds
cross join corpora
left join summed
    on
        summed.corpus = corpora.corpus
        and summed.threshold = thresholds.threshold
        and summed.tokenization = thresholds.tokenization
left join papers
    on papers.title = paper_name(corpora.title)
order by thresholds.position, corpora.position
