-- The columns of views that may be empty: a small grid trains few models.
create table rows (position integer, dataset varchar, recipe varchar, manifest varchar);
create table predictions (
    recipe varchar,
    manifest varchar,
    testset varchar,
    shard integer,
    row integer,
    label integer,
    top integer[],
    right_rank integer
);
create table kept_neighbors (
    search varchar,
    corpus varchar,
    testset varchar,
    test_shard integer,
    test_row integer,
    rank integer,
    similarity double
);
create table similarities (
    encoder varchar,
    corpus varchar,
    shard integer,
    row integer,
    testset varchar,
    similarity double,
    gap_similarity double,
    gap double
);
create table drops (encoder varchar, shard integer, row integer);
create table manifest_rows (
    corpus varchar,
    pruning varchar,
    shard integer,
    row integer,
    kept boolean
);
create table calibrated (threshold double, chosen boolean);
create table line_points (model varchar, testset varchar, accuracy double);
create table line_models (recipe varchar, manifest varchar);
create table second_neighbors (
    testset varchar,
    test_shard integer,
    test_row integer,
    rank integer,
    similarity double
);
