"""Builders of the views that the report queries read, from rows written as tuples."""

import pyarrow as pa
import pytest

from clipaudit.reports.tables import published_values

INT, TEXT, REAL, FLAG = pa.int32(), pa.string(), pa.float64(), pa.bool_()

COLUMNS = {
    "rows": {
        "position": INT,
        "dataset": TEXT,
        "recipe": TEXT,
        "manifest": TEXT,
        "baseline": TEXT,
        "indent": FLAG,
    },
    "testsets": {"position": INT, "testset": TEXT, "title": TEXT},
    "predictions": {
        "recipe": TEXT,
        "manifest": TEXT,
        "testset": TEXT,
        "shard": INT,
        "row": INT,
        "right_rank": INT,
    },
    "members": {"manifest": TEXT, "corpus": TEXT, "pruning": TEXT},
    "manifest_rows": {"corpus": TEXT, "pruning": TEXT, "shard": INT, "row": INT, "kept": FLAG},
    "neighbors": {
        "corpus": TEXT,
        "testset": TEXT,
        "test_shard": INT,
        "test_row": INT,
        "rank": INT,
        "similarity": REAL,
    },
    "similarities": {
        "corpus": TEXT,
        "testset": TEXT,
        "shard": INT,
        "row": INT,
        "similarity": REAL,
        "test_shard": INT,
        "test_row": INT,
    },
    "pruned": {"testset": TEXT, "manifest": TEXT},
}


@pytest.fixture
def view():
    """A function: the view of that name from rows written as tuples, in column order."""

    def build(name, rows):
        columns = COLUMNS[name]
        assert all(len(row) == len(columns) for row in rows)
        return pa.table(
            {
                column: pa.array([row[place] for row in rows], kind)
                for place, (column, kind) in enumerate(columns.items())
            }
        )

    return build


@pytest.fixture
def published():
    """The paper's numbers of a table, or none for None."""
    return lambda name: published_values(name or "no_such_table")
