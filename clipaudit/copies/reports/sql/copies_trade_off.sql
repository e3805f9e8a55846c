-- The made copies that each candidate threshold finds, and the false pairs that it lets through.
-- One row per (method, threshold), strictest first.
--
-- thresholds  method, threshold, negative_pairs, false_positives, per_million, per_million_high,
--             recall, chosen, asked_per_million
-- methods     position, method, title, given
select
    methods.position as panel_position,
    methods.title as panel_title,
    thresholds.method,
    thresholds.threshold,
    thresholds.negative_pairs,
    thresholds.false_positives,
    thresholds.per_million,
    thresholds.per_million_high,
    thresholds.recall,
    if(methods.given is null, thresholds.chosen, thresholds.threshold = methods.given) as chosen,
    thresholds.asked_per_million,
from thresholds
inner join methods on methods.method = thresholds.method
order by
    methods.position,
    thresholds.recall,
    thresholds.false_positives,
    thresholds.threshold
