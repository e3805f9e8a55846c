"""Builders of the views that the report queries read, from rows written as tuples."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clipaudit.config.loading import read_settings
from clipaudit.reports.tables import published_values
from clipaudit.store.actions import LabelledFile

ROOT = Path(__file__).parents[2]

INT, TEXT, REAL, FLAG = pa.int32(), pa.string(), pa.float64(), pa.bool_()

COLUMNS = {
    "rows": {
        "position": INT,
        "dataset": TEXT,
        "recipe": TEXT,
        "manifest": TEXT,
        "baseline": TEXT,
        "indent": FLAG,
        "in_grid": FLAG,
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
    "kept_neighbors": {
        "search": TEXT,
        "corpus": TEXT,
        "testset": TEXT,
        "test_shard": INT,
        "test_row": INT,
        "rank": INT,
        "similarity": REAL,
    },
    "pruned": {"testset": TEXT, "manifest": TEXT},
    "train_sets": {"position": INT, "corpus": TEXT, "title": TEXT, "search": TEXT},
    "searches": {"position": INT, "search": TEXT, "testset": TEXT},
    "duplicates": {"cluster": INT, "shard": INT, "row": INT, "similarity": REAL},
    "line_models": {"recipe": TEXT, "manifest": TEXT},
    "line_points": {"model": TEXT, "testset": TEXT, "accuracy": REAL},
    "encoder_checks": {"corpus": TEXT, "random_q50": REAL, "collapsed": FLAG},
    "calibrated": {"threshold": REAL, "chosen": FLAG},
    "trainings": {"recipe": TEXT, "manifest": TEXT, "training": TEXT, "trained_on": TEXT},
    "arms": {"recipe": TEXT, "manifest": TEXT, "arm": TEXT},
}


@pytest.fixture
def view():
    """A function: the view of that name from rows written as tuples, in column order."""

    def build(name, rows):
        columns = COLUMNS[name]
        assert all(len(row) == len(columns) for row in rows)
        found = {
            column: pa.array([row[place] for row in rows], kind)
            for place, (column, kind) in enumerate(columns.items())
        }
        if name == "predictions":  # of images of class 0: another rank than 0 is of class 1
            found["label"] = pa.array([0] * len(rows), INT)
            found["top"] = pa.array([[int(row[-1] > 0)] for row in rows], pa.list_(INT))
        return pa.table(found)

    return build


@pytest.fixture
def trained_once(view):
    """A function: `rows` of models that were trained once, without controls, and `trainings`."""

    def build(rows):
        models = sorted({row[2:4] for row in rows})
        controls = pa.nulls(len(rows), pa.string())
        return {
            "rows": view("rows", rows).append_column("control", controls),
            "trainings": view("trainings", [model * 2 for model in models]),
        }

    return build


@pytest.fixture
def right_ranks():
    """A function: rows of `predictions` on images 0, 1, ... of a test set, from their ranks."""

    def build(recipe, manifest, testset, ranks):
        return [(recipe, manifest, testset, 0, row, rank) for row, rank in enumerate(ranks)]

    return build


@pytest.fixture
def settings():
    """The settings at the paper's scale."""
    return read_settings(ROOT / "config/laion400m.yaml")


@pytest.fixture
def published():
    """The paper's numbers of a table, or none for None."""
    return lambda name: published_values(name or "no_such_table")


@pytest.fixture
def stored(tmp_path, request):
    """A function: the empty tables of paths, as the workflow would label them.

    The module of the test says by folder, in STORED, their schemas and the labels of their paths.
    """

    def build(paths):
        files = []
        for number, path in enumerate(paths):
            folder, *values = path.removesuffix(".json").split("/")
            schema, labels = request.module.STORED[folder]
            file = tmp_path / f"{folder}-{number}.parquet"
            pq.write_table(schema.empty_table(), file)
            files.append(LabelledFile(file, dict(zip(labels, values, strict=True))))
        return files

    return build
