from dataclasses import replace

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from catalogcases import make_catalog, sample
from handmaderun import RAN

from clipaudit.catalog.columns import meaning
from clipaudit.catalog.views import CatalogFile, open_catalog, write_catalog
from clipaudit.errors import InputError, StoreError
from clipaudit.store.actions import ActionOutput, Ingredients
from clipaudit.store.records import Record
from clipaudit.store.store import Pointer

SAMPLES = ("samples", {"corpus": "large"}, [sample(0, 0), sample(0, 1)])
UNSAID = (
    "select table_name, column_name from duckdb_columns() where not internal and comment is null"
)


def test_equal_content_under_two_labels_is_read_once_for_each(tmp_path):
    """Two prunings of one order can keep the same samples: their pointers share an object."""
    path = tmp_path / "object"
    pq.write_table(pa.table({"row": [1, 2]}), path)
    files = [CatalogFile("manifests", path, {"pruning": name}) for name in ("near", "core")]
    write_catalog(files, {}, tmp_path / "audit.duckdb")

    with open_catalog(tmp_path) as connection:
        found = connection.execute("select * from manifests order by all").fetchall()

    assert found == [("core", 1), ("core", 2), ("near", 1), ("near", 2)]


def test_only_training_writes_rows_of_epochs_and_their_comment_says_which(tmp_path):
    """A checkpoint is an epoch that the training run kept, under another path."""
    outputs = {"epochs/0001": "1", "model": "3", "checkpoint": "1"}
    pointer, of = Pointer("0" * 64, 0, 1, "model"), {"recipe": "brief", "manifest": "web"}
    given = {name: ActionOutput(pointer, "", {"epoch": last}) for name, last in outputs.items()}
    times = {"train": {"model": 30.0, "epochs/0001": 12.0}, "checkpoint": {"checkpoint": 0.5}}
    records = {
        step: Record(step, Ingredients(step, "", {}, {}, {}), given, of, replace(RAN, written=each))
        for step, each in times.items()
    }

    write_catalog([], records, tmp_path / "audit.duckdb")

    with duckdb.connect(str(tmp_path / "audit.duckdb"), read_only=True) as connection:
        found = connection.execute("from epochs order by all").fetchall()
    assert found == [("brief", "web", 1, 12.0), ("brief", "web", 3, 18.0)]
    assert "per kept epoch" in str(meaning("epochs", ""))


def test_every_column_has_a_comment(tmp_path):
    results = make_catalog(tmp_path, SAMPLES, ("matches", {"corpus": "large", "part": "00000"}, []))

    with open_catalog(results) as connection:
        assert connection.execute(UNSAID).fetchall() == []


def test_a_view_describes_its_rows(tmp_path):
    results = make_catalog(tmp_path, SAMPLES)

    with open_catalog(results) as connection:
        found = dict(connection.execute("select view_name, comment from duckdb_views()").fetchall())

    assert found["samples"].startswith("one row per usable sample")
    assert found["audit"].startswith("one row per sample")


def test_the_view_drops_has_the_drops_of_all_stages(tmp_path):
    drop = {"shard": 0, "row": 7, "reason": "corrupt image"}
    index = ("drops_index", {"corpus": "large"}, [{**drop, "stage": "index"}])
    spot = ("drops_spot", {"source": "large", "encoder": "own"}, [{**drop, "stage": "spot"}])

    with open_catalog(make_catalog(tmp_path, index, spot)) as connection:
        rows = connection.execute("select corpus, stage, row, encoder from drops order by 2")
        assert rows.fetchall() == [("large", "index", 7, None), ("large", "spot", 7, "own")]
        assert connection.execute(UNSAID).fetchall() == []


def test_an_exact_line_overrides_a_pattern():
    assert meaning("manifests", "set") != meaning("nothing_known", "set")


def test_the_counts_of_copies_by_kind_say_which_kind_they_count():
    identical = meaning("copies_summary", "identical_bytes")

    assert identical == "test images whose nearest copy has the same bytes"
    assert meaning("copies_summary", "identical_pixels") not in (None, identical)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select * from read_text('/etc/passwd')", "disabled by configuration"),
        ("select * from read_csv('/etc/passwd')", "disabled by configuration"),
        ("select * from glob('/etc/*')", "disabled by configuration"),
        ("attach '/tmp/other.duckdb' as other", "disabled by configuration"),
        ("install httpfs", "disabled"),
        ("load httpfs", "disabled"),
        ("create table x (a int)", "read-only"),
        ("set enable_external_access = true", "locked"),
        ("from results", "no table results"),  # a Python variable of this test
    ],
)
def test_nothing_else_is_accessible(tmp_path, query, message):
    results = make_catalog(tmp_path, SAMPLES)

    with pytest.raises(InputError, match=message), open_catalog(results) as connection:
        connection.execute(query)


def test_a_refused_file_names_the_catalog_to_open_in_duckdb(tmp_path):
    results = make_catalog(tmp_path / "my audit", SAMPLES)

    with (
        pytest.raises(InputError, match=r"duckdb -readonly '.*/my audit/.*audit\.duckdb'$"),
        open_catalog(results) as connection,
    ):
        connection.execute("from read_csv('labels.csv')")


def test_an_unknown_table_is_answered_with_the_nearest(tmp_path):
    results = make_catalog(tmp_path, SAMPLES)

    with (
        pytest.raises(InputError, match=r"no table sample\. Did you mean samples"),
        open_catalog(results) as connection,
    ):
        connection.execute("from sample")


def test_a_missing_catalog_is_reported_with_the_command_that_makes_it(tmp_path):
    with (
        pytest.raises(StoreError, match=r"audit.duckdb: no such catalog. Run `clipaudit run"),
        open_catalog(tmp_path),
    ):
        pass
