"""The SQL of the audit's tables over stored tables as they are: their columns and labels."""

from pathlib import Path

import pyarrow as pa
import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.corpora.manifests import MANIFEST
from clipaudit.corpora.samples import SAMPLES
from clipaudit.evaluation.evaluation import PREDICTIONS
from clipaudit.memorization.ensemble_gaps import ENSEMBLE_GAPS
from clipaudit.memorization.ensemble_records import ENSEMBLE_RECORDS
from clipaudit.memorization.measures import GAPS_BY_K
from clipaudit.memorization.membership import MEMBERS
from clipaudit.memorization.objects import OBJECTS
from clipaudit.memorization.one_model import ONE_MODEL
from clipaudit.memorization.one_model_over_seeds import ONE_MODEL_OVER_SEEDS
from clipaudit.memorization.overlaps import OVERLAPS
from clipaudit.memorization.pair_tests import PAIR_TESTS
from clipaudit.memorization.pair_tests_over_seeds import PAIR_TESTS_OVER_SEEDS
from clipaudit.memorization.recall import RECALLS
from clipaudit.memorization.reports.tables import memorization_tables
from clipaudit.parrot.matching import MATCHES
from clipaudit.reports.rendering import to_csv, to_latex, to_markdown
from clipaudit.reports.tables import published_values, report_table
from clipaudit.similarity.nearest import SIMILARITIES
from clipaudit.training.curves import CURVES

DEMO = Path(__file__).parents[2] / "config/demo.yaml"

# folder of results/: the schema of its tables, and the labels of their paths
STORED = {
    "one_model": (ONE_MODEL, ("encoder", "source", "holdout")),
    "one_model_over_seeds": (ONE_MODEL_OVER_SEEDS, ("source", "holdout")),
    "pair_tests": (PAIR_TESTS, ("encoder", "source", "holdout")),
    "pair_tests_over_seeds": (PAIR_TESTS_OVER_SEEDS, ("source", "holdout")),
    "gaps": (GAPS_BY_K, ("public", "point")),
    "ensemble_gaps": (ENSEMBLE_GAPS, ("public", "point")),
    "ensemble_records": (ENSEMBLE_RECORDS, ("public", "point")),
    "curves": (CURVES, ("recipe", "manifest")),
    "utility": (PREDICTIONS, ("encoder", "testset")),
    "overlaps": (OVERLAPS, ("source", "part")),
    "remaining_overlaps": (OVERLAPS, ("source", "part")),
    "drawn": (MEMBERS, ("source", "part")),
    "matches": (MATCHES, ("corpus", "part")),
    "members": (MEMBERS, ("source", "part")),
    "objects": (OBJECTS, ("corpus", "part")),
    "manifests": (MANIFEST, ("corpus", "set", "part")),
    "recalls": (RECALLS, ("encoder", "public", "source", "part")),
    "similarities": (SIMILARITIES, ("encoder", "corpus", "part")),
    "samples": (SAMPLES, ("source", "part")),
}


@pytest.fixture
def tables():
    settings = read_settings(DEMO)
    settings["memorization"]["seeds"] = 2
    return memorization_tables(parse_settings(settings))


@pytest.mark.parametrize(
    "name",
    [
        *("memorization_ensemble", "memorization_evidence", "memorization_gaps"),
        "memorization_joined",
        *("memorization_overlaps", "memorization_records", "memorization_sets"),
        *("memorization_one_model", "memorization_pairs"),
    ],
)
def test_the_sql_uses_the_columns_of_the_stored_tables(tables, stored, name):
    asked = tables[name]
    views = {view: stored(paths) for view, paths in asked.inputs.items()}
    views |= {view: pa.Table.from_pylist(rows) for view, rows in asked.relations.items()}

    table = report_table(asked.sql, views | {"published": published_values(name)}, asked.parameters)

    assert to_csv(table)
    assert to_markdown(name, table)
    assert to_latex(name, table).isascii()
