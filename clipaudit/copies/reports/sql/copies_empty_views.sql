-- The columns of views that are empty without test sets.
create table copies (
    testset varchar,
    other_shard integer,
    other_row integer,
    corpus varchar,
    shard integer,
    row integer,
    distance smallint,
    view varchar,
    similarity double,
    encoder varchar,
    kind varchar,
    edits varchar,
    method varchar,
    agreement double,
    covered_other double,
    covered double,
    correlation double,
    inliers integer
);
create table testsets (position integer, testset varchar, title varchar);
