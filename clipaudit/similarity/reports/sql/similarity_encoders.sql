-- Whether the audit's encoders distinguish the images of its test sets.
-- One row per (encoder, test set), in the order of the views `encoders` and `testsets`.
--
-- encoders        position, encoder, title
-- testsets        position, testset, title
-- encoder_checks  encoder, corpus, samples, repeated, identical, dimension, random_mean,
--                 random_q50, random_q99, nearest_mean, nearest_q01, same_class_mean,
--                 effective_rank, collapsed
select
    encoders.position, -- 0: the encoder of all tables, others: those of Table 5
    encoders.encoder,
    encoders.title as encoder_title, -- as printed
    testsets.testset,
    testsets.title as testset_title,
    encoder_checks.samples, -- images drawn at random, each once
    encoder_checks.repeated, -- images left out, since another one has the same bytes
    encoder_checks.identical, -- images with the same embedding as one with different bytes
    encoder_checks.dimension, -- of the embeddings
    encoder_checks.random_mean, -- mean cosine of two different images
    encoder_checks.random_q50, -- half of the pairs are at least this similar
    encoder_checks.random_q99, -- 1 % of the pairs are at least this similar
    encoder_checks.nearest_mean, -- mean cosine of an image and the most similar other one
    encoder_checks.nearest_q01, -- 99 % of images have another one at least this similar
    encoder_checks.same_class_mean, -- mean cosine of two images of one class; null: no labels
    encoder_checks.effective_rank, -- exp of the entropy of the singular values' shares
    encoder_checks.collapsed, -- whether the encoder fails to distinguish images
from encoder_checks
inner join encoders
    on encoders.encoder = encoder_checks.encoder
inner join testsets
    on testsets.testset = encoder_checks.corpus
order by encoders.position, testsets.position
