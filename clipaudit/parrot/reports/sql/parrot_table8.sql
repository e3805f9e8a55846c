-- Models trained on the debiased subset, compared with others: Table 8 of the parrot-caption paper.
-- One row per model, in the order of the view `models`.
--
-- models        position, title, encoder, manifest, published_row: manifest is '' for models
--               from elsewhere; published_row is the title of its row in the paper
-- trained_on    manifest, corpus, pruning: a manifest is made of corpora, each with a pruning
-- trained_rows  corpus, pruning, kept
-- task_results  encoder, position, track, value: one row per task
-- probes        encoder, gram, style, similarity, mismatched, right, choices: of the 1-grams of
--               captions
-- published     row, testset, measure, value
with kept_rows as (
    select
        corpus,
        pruning,
        count(*) filter (where kept) as size,
    from trained_rows
    group by corpus, pruning
),

sizes as (
    select
        trained_on.manifest,
        sum(kept_rows.size)::bigint as samples,
    from trained_on
    inner join kept_rows
        on kept_rows.corpus = trained_on.corpus and kept_rows.pruning = trained_on.pruning
    group by trained_on.manifest
),

probed as (
    select
        encoder,
        count(distinct gram) as grams,
        avg(similarity::double::decimal(18, 15)) as sync_mean,
        stddev_samp(similarity::double order by gram, style) as sync_std,
        avg(mismatched::decimal(18, 15)) as mismatched,
    from probes
    group by encoder
),

-- A word's difference includes how similar its text is to images of any word, so intervals over
-- words tend to be too wide.
words as (
    select
        encoder,
        gram,
        avg(similarity::double - mismatched order by style) as reading,
        avg("right" order by style) as right_word,
        max(choices) as choices,
    from probes
    group by encoder, gram
),

readings as (
    select
        encoder,
        count(*) as words,
        avg(reading order by gram) as reading,
        mean_over_seeds(
            [avg(reading order by gram)],
            var_samp(reading order by gram) / count(reading),
            count(reading)
        ) as bounds,
        avg(right_word order by gram) as right_word,
        share_interval(sum(right_word order by gram), count(*)) as right_bounds,
        1 / max(choices) as chance,
    from words
    group by encoder
),

tracks as (
    select
        encoder,
        count(value) as tasks,
        avg(value order by position) filter (where track = 'imagenet') as imagenet,
        avg(value order by position) filter (where track = 'shifts') as shifts,
        avg(value order by position) filter (where track = 'vtab') as vtab,
        avg(value order by position) filter (where track = 'retrieval') as retrieval,
        avg(value order by position) as average,
    from task_results
    group by encoder
),

papers as (
    select
        row,
        max(value) filter (where measure = 'samples')::bigint as samples,
        max(value) filter (where measure = 'sync_mean') as sync_mean,
        max(value) filter (where measure = 'sync_std') as sync_std,
        max(value) filter (where measure = 'imagenet') as imagenet,
        max(value) filter (where measure = 'shifts') as shifts,
        max(value) filter (where measure = 'vtab') as vtab,
        max(value) filter (where measure = 'retrieval') as retrieval,
        max(value) filter (where measure = 'average') as average,
    from published
    group by row
)

select
    models.position,
    models.title,
    models.encoder,
    sizes.samples, -- training samples of the model; null: it is from elsewhere
    probed.grams,
    probed.sync_mean, -- mean cosine of 1-grams and their images, over grams and styles
    probed.sync_std, -- sample standard deviation of the same
    probed.mismatched, -- mean cosine of an image and each other 1-gram
    readings.reading, -- own minus other words, mean over words; null: only one word
    readings.bounds.low as reading_low, -- 95 %, over words
    readings.bounds.high as reading_high,
    readings.right_word, -- share of images whose own word is the most similar one
    readings.right_bounds.low as right_word_low, -- 95 %, over words
    readings.right_bounds.high as right_word_high,
    readings.chance, -- 1 / number of words that the model distinguishes
    tracks.imagenet, -- of the test set that stands for ImageNet, or the mean with the suite's
    tracks.shifts, -- mean over ImageNet's distribution shifts
    tracks.vtab,
    tracks.retrieval, -- mean over retrieval sets of R@1, averaged over both directions; WinoGAViL: Jaccard score
    tracks.average, -- mean over all tasks
    tracks.tasks, -- number of tasks in the average
    papers.samples as published_samples,
    papers.sync_mean as published_sync_mean,
    papers.sync_std as published_sync_std,
    papers.imagenet as published_imagenet,
    papers.shifts as published_shifts,
    papers.vtab as published_vtab,
    papers.retrieval as published_retrieval,
    papers.average as published_average,
from models
left join sizes
    on sizes.manifest = models.manifest
left join probed
    on probed.encoder = models.encoder
left join readings
    on readings.encoder = models.encoder
left join tracks
    on tracks.encoder = models.encoder
left join papers
    on papers.row = models.published_row
order by models.position
