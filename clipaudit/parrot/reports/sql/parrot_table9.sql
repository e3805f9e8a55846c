-- Models' similarity of images to their captions, before and after text is erased: Table 9 of
-- the parrot-caption paper, for every profiled corpus and every inspected model.
-- One row per (corpus, model, measure), in the order of the views `models` and `measures`. Bounds
-- are over images: Student's of means, exact ones of shares. They are null for scores in which
-- images without text keep theirs.
--
-- models     position, corpus, corpus_title, encoder, title: which model's scores of which corpus
-- measures   position, measure, title, unit (score, difference, share)
-- scores     encoder, corpus, shard, row, raw, all, co, random_all, random_co: one row per image,
--            null where nothing is erased
-- published  row, testset, measure, value
-- $encoder   the model shown with the paper's numbers: the audit's own
with pictures as (
    select
        encoder,
        corpus,
        raw::double as raw,
        "all"::double as without_all,
        co::double as without_co,
        random_all::double as random_all,
        random_co::double as random_co,
        raw - without_all as rsa,
        raw - without_co as rsc,
        without_co - without_all as spared,
    from scores
),

-- Decimals are summed exactly, so that no mean depends on how a corpus is cut into parts. An image
-- without text to erase keeps its score.
summed as (
    select
        encoder,
        corpus,
        count(*) as pictures,
        count(without_all) as with_text,
        count(without_co) as with_co,
        count(without_all) filter (where random_all is not null) as with_random_all,
        count(without_co) filter (where random_co is not null) as with_random_co,
        count(spared) as with_both,
        avg(raw::decimal(18, 15)) as raw,
        avg(coalesce(without_all, raw)::decimal(18, 15)) as without_all,
        avg(coalesce(without_co, raw)::decimal(18, 15)) as without_co,
        avg(coalesce(random_all, raw)::decimal(18, 15)) filter (where without_all is not null)
            as random_all,
        avg(coalesce(random_co, raw)::decimal(18, 15)) filter (where without_co is not null)
            as random_co,
        avg(rsa::decimal(18, 15)) as rsa,
        avg(rsc::decimal(18, 15)) as rsc,
        avg((raw - random_all)::decimal(18, 15)) filter (where without_all is not null)
            as random_rsa,
        avg((raw - random_co)::decimal(18, 15)) filter (where without_co is not null)
            as random_rsc,
        avg(spared::decimal(18, 15)) as spared,
        avg((raw * raw)::decimal(18, 15)) as raw_square,
        avg((rsa * rsa)::decimal(18, 15)) as rsa_square,
        avg((rsc * rsc)::decimal(18, 15)) as rsc_square,
        avg(((raw - random_all) ** 2)::decimal(18, 15)) filter (where without_all is not null)
            as random_rsa_square,
        avg(((raw - random_co) ** 2)::decimal(18, 15)) filter (where without_co is not null)
            as random_rsc_square,
        avg((spared * spared)::decimal(18, 15)) as spared_square,
        count(*) filter (where rsa < 0) as rsa_negative,
        count(*) filter (where rsc < 0) as rsc_negative,
        count(*) filter (where spared > 0) as spared_positive,
    from pictures
    group by encoder, corpus
),

measured as (
    select
        encoder,
        corpus,
        unnest([
            {
                'measure': 'raw',
                'pictures': pictures,
                'value': raw,
                'square': raw_square,
            },
            {
                'measure': 'all',
                'pictures': pictures,
                'value': without_all,
                'square': null,
            },
            {
                'measure': 'co',
                'pictures': pictures,
                'value': without_co,
                'square': null,
            },
            {
                'measure': 'random_all',
                'pictures': with_text,
                'value': random_all,
                'square': null,
            },
            {
                'measure': 'random_co',
                'pictures': with_co,
                'value': random_co,
                'square': null,
            },
            {
                'measure': 'rsa',
                'pictures': with_text,
                'value': rsa,
                'square': rsa_square,
            },
            {
                'measure': 'random_rsa',
                'pictures': with_random_all,
                'value': random_rsa,
                'square': random_rsa_square,
            },
            {
                'measure': 'rsa_negative',
                'pictures': with_text,
                'value': rsa_negative / nullif(with_text, 0),
                'square': null,
            },
            {
                'measure': 'rsc',
                'pictures': with_co,
                'value': rsc,
                'square': rsc_square,
            },
            {
                'measure': 'random_rsc',
                'pictures': with_random_co,
                'value': random_rsc,
                'square': random_rsc_square,
            },
            {
                'measure': 'rsc_negative',
                'pictures': with_co,
                'value': rsc_negative / nullif(with_co, 0),
                'square': null,
            },
            {
                'measure': 'spared',
                'pictures': with_both,
                'value': spared,
                'square': spared_square,
            },
            {
                'measure': 'spared_positive',
                'pictures': with_both,
                'value': spared_positive / nullif(with_both, 0),
                'square': null,
            },
        ], recursive := true),
    from summed
),

-- The variance of a mean is that of single images, divided by their number.
bounded as (
    select
        *,
        case
            when square is not null then mean_over_seeds(
                [value],
                greatest(square - value * value, 0) / nullif(pictures - 1, 0),
                pictures
            )
        end as of_mean,
        exact_interval(round(value * pictures)::bigint, pictures) as of_share,
    from measured
)

select
    models.position,
    models.corpus,
    models.encoder,
    models.title as model,
    measures.measure,
    measures.title as measure_title,
    measures.unit, -- score and difference: of cosines; share: between 0 and 1
    coalesce(measured.pictures, 0) as pictures, -- images that the mean or share is over
    measured.value, -- null: no image
    if(measures.unit = 'share', measured.of_share.low, measured.of_mean.low) as value_low, -- 95 %
    if(measures.unit = 'share', measured.of_share.high, measured.of_mean.high) as value_high,
    published.value as published_value, -- of the corpus of that title, by a CLIP ViT-B-32
from models
cross join measures
left join bounded as measured
    on
        measured.corpus = models.corpus
        and measured.encoder = models.encoder
        and measured.measure = measures.measure
left join published
    on
        models.encoder = $encoder
        and paper_name(published.row) = paper_name(models.corpus_title)
        and published.measure = measures.measure
order by models.position, measures.position
