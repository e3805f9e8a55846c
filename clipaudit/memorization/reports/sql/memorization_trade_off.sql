-- Memorization and utility of every point in the grid.
-- One row per (public set, point), in this order. A point without evaluated records has no gap; a
-- point whose utility was left out has no utility.
--
-- publics  position, public, title
-- points   position, point, title, is_default, family_position, family_title
-- models   point, encoder: the models trained on A and on B
-- gaps     public, point, k, source, target, measure, value, low, high, evaluated
-- utility  encoder, testset, right_rank
-- $k        neighbours of a caption
-- $measure  of the gap
-- $testset  the test set whose accuracy is the utility
with memorized as (
    select
        public,
        point,
        value,
        low,
        high,
        evaluated,
    from gaps
    where k = $k and source = '' and target = 'mean' and measure = $measure
),

scores as (
    select
        encoder,
        count(*) as images,
        count(*) filter (where right_rank = 0) as correct,
        exact_interval(correct, images) as bounds,
    from utility
    where testset = $testset
    group by encoder
),

useful as (
    select
        models.point,
        avg(scores.correct / scores.images) as value,
        min(scores.bounds.low) as low,
        max(scores.bounds.high) as high,
    from models
    inner join scores
        on scores.encoder = models.encoder
    group by models.point
)

select
    publics.position as panel_position, -- place of the public set
    publics.title as panel_title, -- the public set, as printed
    publics.public,
    points.is_default, -- whether no setting is varied
    points.family_position as series_position, -- place of the setting that is varied
    points.family_title as series_title, -- the setting, as printed
    points.point,
    points.title as point_title, -- the setting's value, as printed
    useful.value as x, -- mean zero-shot accuracy of the models of A and of B
    useful.low as x_low, -- the lower of both models' exact bounds, 95 %
    useful.high as x_high, -- the higher of both models' exact bounds, 95 %
    memorized.value as y, -- the gap, mean of the attacks on A and on B
    memorized.low as y_low, -- lower bound, 95 %
    memorized.high as y_high, -- upper bound, 95 %
    memorized.evaluated, -- records in the gap
from publics
cross join points
left join memorized
    on memorized.public = publics.public and memorized.point = points.point
left join useful
    on useful.point = points.point
order by publics.position, points.position
