import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clipaudit.catalog.columns import column_comments, meaning
from clipaudit.catalog.views import CatalogFile, write_catalog
from clipaudit.memorization.overlaps import HOWS
from clipaudit.memorization.sample_gaps import SORTS


def test_comments_come_only_from_the_last_select():
    comments = column_comments("parrot_curated")

    assert comments["samples"] == "of the set"
    assert "curated" not in comments


def test_positions_of_groups_and_pairs_are_described():
    """They are not numbers of rows from 0."""
    assert column_comments("copies_groups")["position"] == "of the group, from 1"
    assert column_comments("copies_pairs")["position"] == "of the test set, from 0"


def test_the_catalog_describes_columns(tmp_path):
    pq.write_table(pa.table({"unit": ["share"], "other": [1]}), tmp_path / "a.parquet")
    file = CatalogFile("parrot_table1", tmp_path / "a.parquet", {})

    write_catalog([file], {}, tmp_path / "audit.duckdb")

    with duckdb.connect(str(tmp_path / "audit.duckdb"), read_only=True) as connection:
        asked = (
            "select column_name, comment from duckdb_columns() where table_name = 'parrot_table1'"
        )
        found = dict(connection.execute(asked).fetchall())
    assert found == {"unit": "count; share: between 0 and 1", "other": None}


@pytest.mark.parametrize(
    ("view", "column", "words"),
    [
        ("samples", "kind", "derived corpus"),
        ("copies", "kind", "lookalike"),
        ("similarity_table5", "correlation", "Spearman"),
        ("hash_calibration", "label", "strength"),
    ],
)
def test_a_line_about_one_view_counts_before_lines_about_all_views(view, column, words):
    assert words in meaning(view, column)


def test_comments_name_the_values_of_a_column():
    assert meaning("overlaps", "how") == f"matching method: {', '.join(HOWS)}"
    assert all(f"{sort}: " in meaning("sample_gaps", "sort") for sort in SORTS)
    assert all("control: " in meaning(view, "attack") for view in ("sample_gaps", "survival"))
    assert meaning("memorization_records", "set").endswith(": a or b")
    assert meaning("cuts", "pruning").endswith("without its base")
