-- Models' similarity of the image of a word to this word (the paper's Sync score), to all other
-- words, and the difference: Figures 6 and 9 of the parrot-caption paper, which show the first.
-- One row per (model, series), in the order of the views `models` and `series`; models outside the
-- grid have no value.
--
-- models      panel_position, panel_title, group_position, group_title, row_position, row_title,
--             encoder, in_grid
-- series      position, series (matched, mismatched, reading), title
-- probes      encoder, gram, style, similarity, mismatched; of one vocabulary
-- $reference  the encoder whose difference the others are compared with
with words as (
    select
        encoder,
        gram,
        avg(similarity::double order by style) as matched,
        avg(mismatched order by style) as mismatched,
        avg(similarity::double - mismatched order by style) as reading,
    from probes
    group by encoder, gram
),

measured as (
    select
        encoder,
        gram,
        unnest([
            {'series': 'matched', 'value': matched},
            {'series': 'mismatched', 'value': mismatched},
            {'series': 'reading', 'value': reading},
        ], recursive := true),
    from words
),

scores as (
    select
        encoder,
        series,
        count(value) as grams,
        avg(value order by gram) as mean,
        quantile_cont(value, [0.25, 0.75]) as quartiles,
        mean_over_seeds(
            [avg(value order by gram)], var_samp(value order by gram) / count(value), count(value)
        ) as bounds,
    from measured
    where value is not null
    group by encoder, series
)

select
    models.panel_position,
    models.panel_title,
    models.group_position,
    models.group_title,
    models.row_position,
    models.row_title,
    series.position as series_position,
    series.title as series_title,
    models.encoder,
    models.in_grid,
    scores.grams,
    scores.mean as value, -- mean over grams of the mean over styles
    -- matched and mismatched: quartiles over grams; the difference: its 95 % interval
    if(series.series = 'reading', scores.bounds.low, scores.quartiles[1]) as low,
    if(series.series = 'reading', scores.bounds.high, scores.quartiles[2]) as high,
    reference.mean as reference, -- the difference of the model that the others are compared with
from models
cross join series
left join scores
    on scores.encoder = models.encoder and scores.series = series.series
left join scores as reference
    on reference.encoder = $reference and reference.series = 'reading'
order by models.panel_position, models.group_position, models.row_position, series.position
