-- The columns of views that may be empty: a small grid trains few models.
create table rows (position integer, dataset varchar, recipe varchar, manifest varchar);
create table tasks (encoder varchar, testset varchar, shard integer, row integer, right_rank integer);
create table pair_ranks (
    encoder varchar,
    corpus varchar,
    direction varchar,
    rank integer
);
create table suite (
    encoder varchar,
    task varchar,
    metric varchar,
    value double,
    main boolean
);
create table task_results (
    encoder varchar,
    position integer,
    task varchar,
    title varchar,
    track varchar,
    metric varchar,
    value double
);
create table probes (
    encoder varchar,
    corpus varchar,
    vocabulary varchar,
    gram varchar,
    frequency bigint,
    style varchar,
    similarity float,
    mismatched double,
    "right" double,
    choices bigint
);
create table curves (
    recipe varchar,
    manifest varchar,
    step bigint,
    epoch integer,
    loss double
);
create table curated_rows (
    corpus varchar,
    curated varchar,
    shard integer,
    row integer,
    kept boolean
);
create table trained_rows (corpus varchar, pruning varchar, kept boolean);
create table trained_on (manifest varchar, corpus varchar, pruning varchar);
create table matches (
    corpus varchar,
    shard integer,
    row integer,
    words_rate double,
    plain_rate double
);
create table truths (corpus varchar, shard integer, row integer, word varchar);
create table checked (corpus varchar, shard integer, row integer, has_text boolean);
