"""SQL copied from others reads only its own tables."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from catalogcases import make_catalog, sample
from click.testing import CliRunner

from clipaudit.catalog.views import open_catalog
from clipaudit.cli.commands import commands
from clipaudit.corpora.samples import SAMPLES
from clipaudit.corpora.splits import select_samples
from clipaudit.errors import ConfigError, InputError
from clipaudit.lineage.why.cells import chosen_cells

ELSEWHERE = [
    "(select count(*) from read_text('{secret}')) = 1",
    "(select count(*) from read_csv('https://example.org/a.csv')) = 1",
    "(select count(*) from glob('{folder}/*')) > 0",
    "(select count(*) from '{folder}/other.parquet') = 1",
]
OF_A_CATALOG = [
    *(f"select 1 where {where}" for where in ELSEWHERE),
    "copy (select 1) to '{folder}/new.csv'",
    "attach '{folder}/new.duckdb' as other",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
]


@pytest.fixture
def secret(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1]}), folder / "other.parquet")
    path = folder / "secret"
    path.write_text("the secret")
    return path


def asked(query, secret):
    return query.format(secret=secret, folder=secret.parent)


@pytest.mark.parametrize("query", OF_A_CATALOG)
def test_a_query_of_the_catalog_reaches_no_file_and_no_network(tmp_path, secret, query):
    results = make_catalog(tmp_path, ("samples", {"corpus": "large"}, [sample(0, 0)]))
    before = sorted(secret.parent.iterdir())

    done = CliRunner().invoke(commands, ["sql", "--results", str(results), asked(query, secret)])

    assert done.exit_code == 1
    assert done.output.startswith("Error: ")
    assert "the secret" not in done.output
    assert sorted(secret.parent.iterdir()) == before


def test_a_refused_file_is_reported_with_the_way_to_read_it(tmp_path, secret):
    results = make_catalog(tmp_path, ("samples", {"corpus": "large"}, [sample(0, 0)]))

    with pytest.raises(InputError, match=r"other files, open the catalog in DuckDB: duckdb"):
        with open_catalog(results) as connection:
            connection.execute(f"from read_text('{secret}')")


@pytest.mark.parametrize("where", ELSEWHERE)
def test_a_condition_of_why_reads_only_its_table(tmp_path, secret, where):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "it's.parquet")
    (tmp_path / "link.parquet").symlink_to("it's.parquet")

    assert chosen_cells(tmp_path / "link.parquet", "t", "a = 1", None).count == 1
    with pytest.raises(InputError, match="disabled"):
        chosen_cells(tmp_path / "link.parquet", "t", asked(where, secret), None)


@pytest.mark.parametrize("where", ELSEWHERE)
def test_a_predicate_in_settings_reads_only_one_sample(secret, where):
    with pytest.raises(ConfigError, match="disabled"):
        select_samples(SAMPLES.empty_table(), name="split", where=asked(where, secret), label=None)
