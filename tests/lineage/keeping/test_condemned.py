from clipaudit.lineage.keeping.condemned import stored_files
from clipaudit.store.store import Store


def test_temporary_and_other_files_are_not_stored_actions(tmp_path):
    folder = tmp_path / "actions" / "ab"
    folder.mkdir(parents=True)
    for name in ("cd.json", ".cd.json", "notes.txt"):
        (folder / name).write_text("1234")
    (tmp_path / "actions" / "README").touch()

    ((key, size, modified),) = stored_files(Store(tmp_path), "actions")

    assert (key, size) == ("abcd", 4)
    assert modified == (folder / "cd.json").stat().st_mtime_ns


def test_a_store_without_objects_has_none(tmp_path):
    assert list(stored_files(Store(tmp_path), "objects")) == []
