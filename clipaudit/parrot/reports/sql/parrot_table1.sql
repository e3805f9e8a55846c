-- The text in images, and how much of it their captions repeat: Tables 1, 6 and 7 of the
-- parrot-caption paper in one.
-- One row per (measure, corpus), in the order of the views `measures` and `corpora`.
--
-- corpora    position, corpus, title
-- measures   position, measure, tokenization (words, plain; "" where it does not matter), title,
--            unit (count, share), definition
-- matches    corpus, shard, row, spans and, by tokenization, <t>_co, <t>_rate, <t>_fuzzy_rate: one
--            row per image that was read, rates null if the caption has no words
-- truths     corpus, shard, row, word: what a synthetic world wrote into its images; null: nothing.
--            No corpus of `checked`, so that no image counts twice
-- checked    corpus, shard, row, has_text: images that a person checked
-- drops      corpus, shard, row: images that could not be read
-- published  row, testset, measure, value
with dropped as (
    select corpus, count(*) as images,
    from drops
    group by corpus
),

read as (
    select
        corpus,
        count(*) as images,
        count(*) filter (where spans > 0) as with_text,
    from matches
    group by corpus
),

rated as (
    select
        corpus,
        'words' as tokenization,
        spans > 0 as has_text,
        len(words_co) > 0 as parrots,
        words_rate as rate,
        words_fuzzy_rate as fuzzy_rate,
    from matches
    union all
    select
        corpus,
        'plain' as tokenization,
        spans > 0 as has_text,
        len(plain_co) > 0 as parrots,
        plain_rate as rate,
        plain_fuzzy_rate as fuzzy_rate,
    from matches
),

-- Decimals are summed exactly, so that no mean depends on how a corpus is cut into parts. Means
-- omit nulls: captions without words, which are counted apart.
rates as (
    select
        corpus,
        tokenization,
        count(*) as images,
        count(rate) as captions,
        count(rate) filter (where has_text) as captions_with_text,
        count(rate) filter (where has_text and parrots) as parroting,
        avg(rate::decimal(18, 15)) as rate,
        avg(rate::decimal(18, 15)) filter (where has_text) as rate_with_text,
        avg(fuzzy_rate::decimal(18, 15)) as fuzzy_rate,
        avg(fuzzy_rate::decimal(18, 15)) filter (where has_text) as fuzzy_rate_with_text,
        avg((rate ** 2)::decimal(18, 15)) as rate_square,
        avg((rate ** 2)::decimal(18, 15)) filter (where has_text) as rate_with_text_square,
        avg((fuzzy_rate ** 2)::decimal(18, 15)) as fuzzy_rate_square,
        avg((fuzzy_rate ** 2)::decimal(18, 15)) filter (where has_text)
            as fuzzy_rate_with_text_square,
    from rated
    group by corpus, tokenization
),

known as (
    select corpus, shard, row, word is not null as has_text,
    from truths
    union all
    select corpus, shard, row, has_text,
    from checked
),

mistaken as (
    select
        matches.corpus,
        count(*) filter (where not has_text) as without_text,
        count(*) filter (where not has_text and spans > 0) as false_alarms,
        count(*) filter (where has_text) as with_text,
        count(*) filter (where has_text and spans = 0) as missed,
    from matches
    inner join known
        on
            known.corpus = matches.corpus
            and known.shard = matches.shard
            and known.row = matches.row
    group by matches.corpus
),

-- `pictures`: the images that a share or a mean is over
measured as (
    select
        corpora.corpus,
        '' as tokenization,
        unnest([
            {
                'measure': 'images',
                'unit': 'count',
                'pictures': coalesce(read.images, 0),
                'value': coalesce(read.images, 0)::double,
            },
            {
                'measure': 'unreadable',
                'unit': 'count',
                'pictures': coalesce(read.images, 0) + coalesce(dropped.images, 0),
                'value': coalesce(dropped.images, 0)::double,
            },
            {
                'measure': 'with_text',
                'unit': 'count',
                'pictures': coalesce(read.images, 0),
                'value': coalesce(read.with_text, 0)::double,
            },
            {
                'measure': 'with_text',
                'unit': 'share',
                'pictures': coalesce(read.images, 0),
                'value': read.with_text / read.images,
            },
            {
                'measure': 'false_alarms',
                'unit': 'share',
                'pictures': coalesce(mistaken.without_text, 0),
                'value': mistaken.false_alarms / nullif(mistaken.without_text, 0),
            },
            {
                'measure': 'missed',
                'unit': 'share',
                'pictures': coalesce(mistaken.with_text, 0),
                'value': mistaken.missed / nullif(mistaken.with_text, 0),
            },
        ], recursive := true),
    from corpora
    left join read
        on read.corpus = corpora.corpus
    left join dropped
        on dropped.corpus = corpora.corpus
    left join mistaken
        on mistaken.corpus = corpora.corpus
    union all by name
    select
        corpus,
        tokenization,
        unnest([
            {
                'measure': 'without_words',
                'unit': 'count',
                'pictures': images,
                'value': (images - captions)::double,
                'square': null,
            },
            {
                'measure': 'rate',
                'unit': 'share',
                'pictures': captions,
                'value': rate,
                'square': rate_square,
            },
            {
                'measure': 'rate_with_text',
                'unit': 'share',
                'pictures': captions_with_text,
                'value': rate_with_text,
                'square': rate_with_text_square,
            },
            {
                'measure': 'fuzzy_rate',
                'unit': 'share',
                'pictures': captions,
                'value': fuzzy_rate,
                'square': fuzzy_rate_square,
            },
            {
                'measure': 'fuzzy_rate_with_text',
                'unit': 'share',
                'pictures': captions_with_text,
                'value': fuzzy_rate_with_text,
                'square': fuzzy_rate_with_text_square,
            },
            {
                'measure': 'parroting',
                'unit': 'share',
                'pictures': captions_with_text,
                'value': parroting / nullif(captions_with_text, 0),
                'square': null,
            },
            {
                'measure': 'parrots',
                'unit': 'share',
                'pictures': captions,
                'value': parroting / nullif(captions, 0),
                'square': null,
            },
        ], recursive := true),
    from rates
),

-- Rates vary less than counts, so the interval of their mean is narrower. As few images may miss a
-- change, it has a least width.
bounded as (
    select
        *,
        case
            when square is not null and pictures > 1 then difference_over_seeds(
                [value], greatest(square - value * value, 0) / (pictures - 1), pictures
            )
            else share_interval(value * pictures, pictures)
        end as bounds,
    from measured
)

select
    measures.position,
    measures.measure,
    nullif(measures.tokenization, '') as tokenization, -- null: the measure does not tokenize captions
    measures.title as measure_title,
    measures.unit, -- count; share: between 0 and 1
    measures.definition, -- the exact definition of the measure
    corpora.corpus,
    corpora.title as corpus_title,
    coalesce(measured.pictures, 0) as pictures, -- images behind a share or a mean
    measured.value, -- null: no image
    -- 95 %, over images; null: a count, or no image
    if(measures.unit = 'share', if(bounds.low < 0, 0, bounds.low), null) as value_low,
    if(measures.unit = 'share', bounds.high, null) as value_high,
    -- of the corpus of that title, for both tokenizations: the paper does not name its own
    if(measures.unit = 'share', round(published.value / 100, 6), published.value)
        as published_value,
from measures
cross join corpora
left join bounded as measured
    on
        measured.measure = measures.measure
        and measured.unit = measures.unit
        and measured.tokenization = measures.tokenization
        and measured.corpus = corpora.corpus
left join published
    on
        paper_name(published.row) = paper_name(corpora.title)
        and published.measure = if(
            measures.unit = 'share', measures.measure || '_percent', measures.measure
        )
order by measures.position, corpora.position
