import duckdb
import pytest
from maderecords import key, made, record_all

from clipaudit.store.packing import pack, register_records
from clipaudit.store.records import write_record
from clipaudit.store.store import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "it's a store")


def asked(store, query):
    with duckdb.connect() as connection:
        register_records(connection, store)
        return connection.sql(query).fetchall()


def test_a_store_without_records_gives_an_empty_view(store):
    assert asked(store, "select count(*) from records") == [(0,)]


def test_the_view_has_loose_and_packed_records(store):
    record_all(store, [made("a", 1), made("b", 2)])
    pack(store)
    record_all(store, [made("a", 3), made("c", 4)])

    rows = asked(store, "select action, started[18:19] from records order by started")

    assert rows == [(key("a"), "01"), (key("b"), "02"), (key("a"), "03"), (key("c"), "04")]


def test_a_record_that_is_loose_and_packed_counts_once(store):
    write_record(store, made("a"))
    pack(store)
    write_record(store, made("a"))

    assert asked(store, "select count(*) from records") == [(1,)]


def test_the_view_shows_inputs_outputs_and_circumstances(store):
    write_record(store, made("a"))
    pack(store)

    rows = asked(
        store,
        "select step, seconds, threads, host, wildcards['corpus'], environment['device'], "
        "outputs[1].rows, outputs[1].name, inputs[1].path, inputs[1].action from records",
    )

    made_of = ("index", 1.5, 2, "node1", "large", "cpu")
    assert rows == [(*made_of, 3, "samples", "data/0.tar", None)]


def test_every_column_of_the_view_has_a_comment(store):
    rows = asked(
        store, "select column_name from duckdb_columns() where table_name = 'records' "
        "and comment is null",
    )  # fmt: skip

    assert rows == []


def test_the_view_omits_what_is_not_a_record_and_warns(store, caplog):
    record_all(store, [made("a", 1), made("a", 2)])
    (path, _) = (store.root / "lineage").rglob("*.json")
    path.write_text("{")

    assert asked(store, "select count(*) from records") == [(1,)]
    assert f"{path}: not a lineage record" in caplog.text


def test_the_view_can_be_registered_again(store):
    with duckdb.connect() as connection:
        register_records(connection, store)
        write_record(store, made("a"))
        register_records(connection, store)

        assert connection.sql("select count(*) from records").fetchall() == [(1,)]
