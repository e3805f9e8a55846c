import duckdb
import pyarrow as pa
import pytest

from clipaudit.reports.words import register_words


def names(captions):
    """The names of groups of captions, by group."""
    rows = [(group, caption) for group, own in captions.items() for caption in own]
    table = pa.table(
        {
            "shard": [0] * len(rows),
            "row": range(len(rows)),
            "group": [group for group, _ in rows],
            "caption": pa.array([caption for _, caption in rows], pa.string()),
        }
    )
    with duckdb.connect() as connection:
        register_words(connection)
        connection.register("both", table)
        return dict(connection.execute("from typical_words('both', 'both')").fetchall())


def test_a_group_is_named_after_words_missing_in_others():
    found = names({0: ["a red fox", "A FOX"], 1: ["a blue cat", "a blue hat"]})

    assert found == {0: "fox, red", 1: "blue, cat"}  # the alphabetically first of equal words


@pytest.mark.parametrize("captions", [{0: ["a", "a"], 1: ["a"]}, {0: [None, "!"]}, {0: ["one"]}])
def test_a_group_without_words_of_its_own_has_no_name(captions):
    assert names(captions) == {}


def test_long_words_are_truncated_and_a_word_counts_once_per_image():
    found = names({0: ["cat cat cat", "dog"], 1: ["counterrevolutionary", "bird", "bird"]})

    assert found == {0: "cat, dog", 1: "bird, counterrevol"}
