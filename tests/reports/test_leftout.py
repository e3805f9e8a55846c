import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.errors import TooSmall
from clipaudit.reports.leftout import joined, left_out_of, left_out_whole, noted, notes_of
from clipaudit.store.parquet import write_tables
from clipaudit.store.store import Store

WHY = "the manifest keeps 0 samples."


def test_a_stored_table_records_what_it_omits(tmp_path):
    table = noted(pa.table({"n": [1]}), {WHY: ["probes/b", "curves/a"]})

    write_tables([table], table.schema, tmp_path / "table.parquet")

    stored = pq.ParquetFile(tmp_path / "table.parquet").read()
    assert left_out_of(stored.schema) == {WHY: ["curves/a", "probes/b"]}
    assert notes_of(left_out_of(stored.schema)) == [
        f"Left out, the data are too small (curves/a, probes/b): {WHY}"
    ]


def test_a_complete_table_stays_unchanged():
    table = pa.table({"n": [1]})

    assert noted(table, {}) is table
    assert notes_of(left_out_of(table.schema)) == []


def test_a_reason_shared_by_several_tables_is_one_sentence():
    found = joined([{WHY: ["b", "c"]}, {"else": ["z"]}, {WHY: ["a", "b", "d"]}])

    assert found == {"else": ["z"], WHY: ["a", "b", "c", "d"]}
    assert notes_of(found)[1].startswith("Left out, the data are too small (a, b, c and 1 more)")


def test_omitted_tables_are_listed_with_the_reason(tmp_path):
    store, folder = Store(tmp_path / "store"), tmp_path / "tables"
    folder.mkdir()
    found = store.put_bytes(b"rows", schema="t")
    (folder / "there.json").write_text(found.to_json())
    (folder / "missing.json").write_text(store.put_reason(TooSmall(WHY)).to_json())

    assert left_out_whole(store, sorted(folder.iterdir())) == {"missing": {WHY: ["tables/missing"]}}
