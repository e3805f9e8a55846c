-- The columns of views that may be empty: a small grid trains few models.
create table similarities (
    corpus varchar,
    shard integer,
    row integer,
    testset varchar,
    similarity double
);
create table matches (
    corpus varchar,
    shard integer,
    row integer,
    words_rate double,
    plain_rate double
);
create table utility (encoder varchar, testset varchar, right_rank integer);
create table curves (
    recipe varchar,
    manifest varchar,
    step bigint,
    epoch integer,
    loss double
);
create table pair_tests_over_seeds (
    source varchar,
    holdout varchar,
    score varchar,
    measure varchar,
    members bigint,
    holdout_records bigint,
    value double,
    low double,
    high double
);
create table one_model_over_seeds (
    source varchar,
    holdout varchar,
    k integer,
    reference varchar,
    measure varchar,
    part varchar,
    records bigint,
    value double,
    low double,
    high double
);
create table objects (corpus varchar, shard integer, row integer, labels integer[]);
create table remaining ("set" varchar, how varchar, other_set varchar);
