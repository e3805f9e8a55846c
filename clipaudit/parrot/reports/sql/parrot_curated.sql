-- Results of models trained on curated sets of equal size: Tables 2 to 5 and 10 to 13 of the
-- parrot-caption paper. They differ only in the rows of the view `rows`.
-- One row per (set, recipe), in the order of the view `rows`.
--
-- rows          position, title, data, model, recipe, curated, members, encoder, epochs, in_grid,
--               published_row. members is the set itself, or for a control the set whose samples it
--               has; published_row is the paper's row of this corpus, or ''. Without in_grid there
--               is no model
-- curated_rows  corpus, curated, shard, row, kept: the manifests of sets that models are trained on
-- scores        corpus, shard, row, raw: those of the audit's own encoder
-- task_results  encoder, position, track, value: one row per task
-- probes        encoder, gram, style, similarity, mismatched, right, choices: of the 1-grams of
--               captions
-- curves        recipe, manifest, step, epoch, loss
-- published     row, testset, measure, value
with kept as (
    select
        corpus,
        curated,
        shard,
        row,
    from curated_rows
    where kept
),

sizes as (
    select
        curated,
        count(*) as samples,
    from kept
    group by curated
),

-- Decimals are summed exactly, so that no mean depends on how a corpus is cut into parts.
mean_scores as (
    select
        kept.curated,
        avg(scores.raw::double::decimal(18, 15)) as avg_score,
    from scores
    inner join kept
        on
            kept.corpus = scores.corpus
            and kept.shard = scores.shard
            and kept.row = scores.row
    group by kept.curated
),

tracks as (
    select
        encoder,
        count(value) as tasks,
        avg(value order by position) filter (where track = 'imagenet') as imagenet,
        avg(value order by position) filter (where track = 'retrieval') as retrieval,
        avg(value order by position) as average,
    from task_results
    group by encoder
),

probe_means as (
    select
        encoder,
        avg(similarity::double::decimal(18, 15)) as sync,
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

final_losses as (
    select
        rows.position,
        avg(curves.loss order by curves.step) as final_loss,
    from curves
    inner join rows
        on
            rows.recipe = curves.recipe
            and rows.curated = curves.manifest
            and rows.epochs - 1 = curves.epoch
    group by rows.position
),

papers as (
    select
        row,
        max(value) filter (where measure = 'avg_score') as avg_score,
        max(value) filter (where measure = 'imagenet') as imagenet,
        max(value) filter (where measure = 'retrieval') as retrieval,
        max(value) filter (where measure = 'average') as average,
        max(value) filter (where measure = 'sync') as sync,
    from published
    group by row
)

select
    rows.position,
    rows.title,
    rows.data,
    rows.model,
    rows.in_grid,
    rows.recipe,
    rows.curated,
    rows.encoder,
    -- 0: too few were eligible, so there is neither set nor model
    case when rows.in_grid then coalesce(sizes.samples, 0) end as samples, -- of the set
    mean_scores.avg_score, -- mean cosine of image and caption over the set, by the audit's encoder; null: a control
    tracks.imagenet, -- of the test set that stands for ImageNet, or the mean with the suite's
    tracks.retrieval, -- mean over retrieval sets of R@1, averaged over both directions; WinoGAViL: Jaccard score
    tracks.average, -- mean over all tasks
    tracks.tasks, -- number of tasks in the average
    probe_means.sync, -- mean cosine of a 1-gram and its image, over grams and styles
    probe_means.mismatched, -- mean cosine of the image and each other word
    readings.reading, -- own minus other words, mean over words; null: only one word
    readings.bounds.low as reading_low, -- 95 %, over words
    readings.bounds.high as reading_high,
    readings.right_word, -- share of images whose own word is the most similar one
    readings.right_bounds.low as right_word_low, -- 95 %, over words
    readings.right_bounds.high as right_word_high,
    readings.chance, -- 1 / number of words that the model distinguishes
    readings.words, -- number of probed words
    final_losses.final_loss, -- mean over the steps of the last epoch
    papers.avg_score as published_avg_score,
    papers.imagenet as published_imagenet,
    papers.retrieval as published_retrieval,
    papers.average as published_average,
    papers.sync as published_sync,
from rows
left join sizes
    on rows.in_grid and sizes.curated = rows.members
left join mean_scores
    on rows.in_grid and mean_scores.curated = rows.curated
left join tracks
    on tracks.encoder = rows.encoder
left join probe_means
    on probe_means.encoder = rows.encoder
left join readings
    on readings.encoder = rows.encoder
left join final_losses
    on final_losses.position = rows.position
left join papers
    on papers.row = rows.published_row
order by rows.position
