"""Typical words of a group of captions, as a DuckDB function."""

import duckdb

SHOWN, LONGEST = 2, 12  # words of a name, and letters of a word

# The chi-squared statistic orders the words: the squared excess over the number of images expected
# from the corpus, divided by that number. `query_table` takes a view or a common table by name.
_MACRO = rf"""
create macro typical_words(grouped, captions) as table (
    with words as (
        select distinct
            grouped."group",
            captions.shard,
            captions.row,
            unnest(regexp_extract_all(lower(captions.caption), '[\p{{L}}\p{{N}}]+')) as word,
        from query_table(captions) as captions
        inner join query_table(grouped) as grouped
            on grouped.shard = captions.shard and grouped.row = captions.row
    ),
    frequencies as (
        select
            "group",
            word,
            count(*) as images,
            sum(count(*)) over (partition by word) as in_all,
        from words
        group by "group", word
    ),
    sizes as (
        select
            "group",
            count(*) as images,
            sum(count(*)) over () as in_all,
        from query_table(grouped)
        group by "group"
    ),
    beyond as (
        select
            frequencies."group",
            frequencies.word,
            row_number() over (
                partition by frequencies."group"
                order by
                    pow(frequencies.images * sizes.in_all - frequencies.in_all * sizes.images, 2)
                    / (frequencies.in_all * sizes.images) desc,
                    frequencies.word
            ) as place,
        from frequencies
        inner join sizes
            on sizes."group" = frequencies."group"
        where frequencies.images * sizes.in_all > frequencies.in_all * sizes.images
    )
    select
        "group",
        string_agg(left(word, {LONGEST}), ', ' order by place) as name,
    from beyond
    where place <= {SHOWN}
    group by "group"
);
"""


def register_words(connection: duckdb.DuckDBPyConnection) -> None:
    """Register `typical_words(grouped, captions)`, which takes two relations by their names.

    `grouped` has shard, row and group, `captions` shard, row and caption. A row is a group and its
    `name`: the two words most typical of its captions against all, the most typical first, ties in
    alphabetical order. A group whose captions have no such word is absent.
    """
    connection.execute(_MACRO)
