-- The threshold of each method, and the false pairs that it lets through.
-- One row per method, in the order of the view `methods`.
--
-- thresholds  method, threshold, negative_pairs, false_positives, per_million, per_million_high,
--             recall, chosen, verified_false_positives, asked_per_million, note
-- methods     position, method, title, given: the threshold that the settings name, or null
with chosen as (
    select * from thresholds where chosen
),

noted as (
    select
        method,
        max(note) as note,
        max(negative_pairs) as negative_pairs,
        max(asked_per_million) as asked_per_million,
    from thresholds
    group by method
)

select
    methods.position,
    methods.method,
    methods.title as method_title,
    coalesce(methods.given, chosen.threshold) as threshold, -- null: no threshold meets the requested rate
    methods.given is not null as is_given, -- whether the settings name it
    noted.negative_pairs, -- pairs of a made copy and an image that it does not copy
    chosen.false_positives, -- of these, candidates at this threshold
    chosen.verified_false_positives, -- of these, pairs that pixels confirm
    chosen.per_million,
    chosen.per_million_high, -- upper 95 % bound
    noted.asked_per_million,
    chosen.recall, -- share of the made copies whose original is a candidate
    noted.note, -- why no threshold was chosen, or what limits the choice
from methods
left join chosen on chosen.method = methods.method
left join noted on noted.method = methods.method
order by methods.position
