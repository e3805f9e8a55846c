-- The parrot captions that the model scores highest, and their words in the image:
-- Table 14 of the parrot-caption paper.
-- One row per image whose caption repeats a word in it: the highest raw score first, then
-- in the order of the view `corpora` and by (shard, row).
--
-- corpora        position, corpus, title
-- matches        corpus, shard, row and, by tokenization, <t>_caption, <t>_co, <t>_rate
-- scores         corpus, shard, row, raw, co, random_co; of one model
-- samples        corpus, shard, row, key, caption
-- $tokenization  words or plain: which columns of `matches` count
-- $limit         images listed
with parroting as (
    select corpus, shard, row,
    from matches
    where if($tokenization = 'words', words_rate, plain_rate) > 0
),

listed as (
    select
        corpora.position as corpus_position,
        corpora.corpus,
        corpora.title as corpus_title,
        scores.shard,
        scores.row,
        scores.raw,
        scores.raw::double - scores.co::double as rsc,
        if(scores.co is null, null, scores.raw::double - scores.random_co::double) as random_rsc,
    from scores
    inner join corpora
        on corpora.corpus = scores.corpus
    inner join parroting
        on
            parroting.corpus = scores.corpus
            and parroting.shard = scores.shard
            and parroting.row = scores.row
    order by scores.raw desc, corpora.position, scores.shard, scores.row
    limit $limit
),

-- words and captions are looked up only for the listed images
matched as (
    select
        listed.*,
        if($tokenization = 'words', matches.words_caption, matches.plain_caption) as caption_words,
        if($tokenization = 'words', matches.words_co, matches.plain_co) as co_words,
        if($tokenization = 'words', matches.words_rate, matches.plain_rate) as rate,
    from matches
    inner join listed
        on
            listed.corpus = matches.corpus
            and listed.shard = matches.shard
            and listed.row = matches.row
),

-- The caption's words, to sort the co-embedded ones by. They may differ from those of
-- clipaudit.parrot.tokens, since SQL has no casefolding. A word that is not found comes last.
described as (
    select
        matched.*,
        samples.key,
        samples.caption,
        if(
            $tokenization = 'words',
            regexp_extract_all(
                replace(lower(nfc_normalize(samples.caption)), chr(8217), ''''),
                '[\p{L}\p{M}\p{N}]+(?:''[\p{L}\p{M}\p{N}]+)*'
            ),
            regexp_extract_all(samples.caption, '[^\s\p{Z}]+')
        ) as ordered_words,
    from samples
    inner join matched
        on
            matched.corpus = samples.corpus
            and matched.shard = samples.shard
            and matched.row = samples.row
)

select
    row_number() over (
        order by described.raw desc, described.corpus_position, described.shard, described.row
    )::int - 1 as position,
    described.corpus,
    described.corpus_title,
    described.shard,
    described.row,
    described.key,
    described.caption,
    described.caption_words, -- distinct ones
    array_to_string(
        list_sort(
            list_transform(
                described.co_words,
                lambda word: {
                    'place': coalesce(
                        list_position(described.ordered_words, word),
                        len(described.ordered_words) + 1
                    ),
                    'word': word,
                }
            )
        ).list_transform(lambda placed: placed.word),
        ' '
    ) as co_words, -- in the order of the caption, each once
    described.rate, -- co-embedded words / caption words
    described.raw as score,
    described.rsc, -- score minus that without co-embedded text; null: nothing could be erased
    described.random_rsc, -- score minus that with the donor's text area erased; null: no donor
from described
order by position
