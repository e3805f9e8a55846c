import pytest

from clipaudit.errors import StoreError
from clipaudit.store.roots import register, roots
from clipaudit.store.store import Store


def test_results_folders_are_registered_once_by_absolute_path(tmp_path, monkeypatch):
    store = Store(tmp_path / "store")
    monkeypatch.chdir(tmp_path)

    for folder in ("results", tmp_path / "results", "results_evidence"):
        register(store, tmp_path / folder)

    assert roots(store) == [tmp_path / "results", tmp_path / "results_evidence"]


def test_a_truncated_record_of_a_folder_is_refused(tmp_path):
    store = Store(tmp_path / "store")
    register(store, tmp_path / "results")
    (record,) = (store.root / "roots").iterdir()
    record.write_text("")

    with pytest.raises(StoreError, match=r"not the record of a results folder .* Remove it, and"):
        roots(store)


def test_a_truncated_record_is_written_again_by_its_run(tmp_path):
    store = Store(tmp_path / "store")
    register(store, tmp_path / "results")
    (record,) = (store.root / "roots").iterdir()
    record.write_text("")

    register(store, tmp_path / "results")

    assert roots(store) == [tmp_path / "results"]


def test_a_store_without_a_run_has_no_roots(tmp_path):
    assert roots(Store(tmp_path)) == []
