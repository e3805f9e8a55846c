-- How well models spot text: the similarity of words and pictures of them, the paper's Sync score:
-- Figures 6 and 9 of the parrot-caption paper.
-- One row per model, in the order of the view `models`; models outside the grid have no value.
--
-- models      panel_position, panel_title, group_position, group_title, row_position, row_title,
--             encoder, in_grid
-- probes      encoder, gram, style, similarity; of one vocabulary
-- $reference  the encoder that all are compared with
with means as (
    select
        encoder,
        gram,
        avg(similarity::double order by style) as similarity,
    from probes
    group by encoder, gram
),

scores as (
    select
        encoder,
        count(*) as grams,
        avg(similarity order by gram) as value,
        quantile_cont(similarity, [0.25, 0.75]) as quartiles,
    from means
    group by encoder
)

select
    models.panel_position,
    models.panel_title,
    models.group_position,
    models.group_title,
    models.row_position,
    models.row_title,
    0 as series_position,
    'mean and quartiles over words' as series_title,
    models.encoder,
    models.in_grid,
    scores.grams,
    scores.value, -- mean similarity over grams and styles
    scores.quartiles[1] as low, -- quartiles over grams, of the mean over styles
    scores.quartiles[2] as high,
    reference.value as reference, -- the value of the model that all are compared with
from models
left join scores
    on scores.encoder = models.encoder
left join scores as reference
    on reference.encoder = $reference
order by models.panel_position, models.group_position, models.row_position
