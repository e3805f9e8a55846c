-- Models' similarity of the image of a text to this text, minus that to all others, by frequency or
-- length of the text: Figures 5b, 5c and 5d of the parrot-caption paper, which show the
-- similarity to its own text. Without another text there is no difference, and no gram is counted.
-- One row per (model and vocabulary, interval), in the order of the view `series`, then ascending.
-- Intervals of frequencies go from one power of ten to the next, or of two if no gram occurs
-- 1000 times. Intervals of lengths are equally wide, but the last is open if texts are longer.
--
-- series   position, encoder, encoder_position, encoder_title, vocabulary, vocabulary_position,
--          vocabulary_title
-- probes   encoder, vocabulary, gram, frequency, style, similarity, mismatched
-- $by      frequency or length: what the intervals divide
-- $width   width of an interval of lengths, in characters
-- $most    the maximum number of intervals of lengths
with recursive means as (
    select
        encoder,
        vocabulary,
        gram,
        if($by = 'frequency', max(frequency), length(gram)) as amount,
        avg(similarity::double - mismatched order by style) as difference,
    from probes
    group by encoder, vocabulary, gram
),

scale as (
    select
        if(coalesce(max(amount), 0) < 1000, 2, 10) as base,
        coalesce(max(amount), 1) as largest,
    from means
),

-- in integers, so that a power falls into the interval that starts with it
intervals as (
    select
        0 as position,
        1::hugeint as low,
        if($by = 'frequency', base, 1 + $width)::hugeint as above,
    from scale
    union all
    select
        intervals.position + 1 as position,
        intervals.above as low,
        if($by = 'frequency', intervals.above * scale.base, intervals.above + $width) as above,
    from intervals
    cross join scale
    where
        intervals.above <= scale.largest
        and ($by = 'frequency' or intervals.position + 1 < $most)
),

bounds as (
    select
        intervals.position,
        intervals.low::bigint as low,
        if(
            $by = 'length' and intervals.position + 1 = $most and intervals.above <= scale.largest,
            null,
            intervals.above - 1
        )::bigint as high,
    from intervals
    cross join scale
),

spread as (
    select
        means.encoder,
        means.vocabulary,
        bounds.position,
        count(means.difference) as grams,
        avg(means.difference order by means.gram) as mean,
        quantile_cont(means.difference, [0.05, 0.25, 0.5, 0.75, 0.95]) as quantiles,
    from means
    inner join bounds
        on means.amount >= bounds.low and means.amount <= coalesce(bounds.high, means.amount)
    group by means.encoder, means.vocabulary, bounds.position
)

select
    series.position as series_position,
    series.encoder,
    series.encoder_position,
    series.encoder_title,
    series.vocabulary,
    series.vocabulary_position,
    series.vocabulary_title,
    bounds.position as interval_position,
    bounds.low, -- the fewest occurrences or characters in the interval
    bounds.high, -- the most in the interval; null: the interval is open
    coalesce(spread.grams, 0) as grams,
    spread.mean, -- mean over grams of the mean difference over styles; null: no gram
    spread.quantiles[1] as low_tail, -- 5 % of the grams are below
    spread.quantiles[2] as low_quartile, -- 25 %
    spread.quantiles[3] as median,
    spread.quantiles[4] as high_quartile, -- 75 %
    spread.quantiles[5] as high_tail, -- 95 %
from series
cross join bounds
left join spread
    on
        spread.encoder = series.encoder
        and spread.vocabulary = series.vocabulary
        and spread.position = bounds.position
order by series.position, bounds.position
