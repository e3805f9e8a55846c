import json

import pytest

from clipaudit.steps import codememo
from clipaudit.steps.codememo import CodeMemo

FOUND = {"digest": "d1", "modules": ["clipaudit.store.store"], "files": []}


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(codememo.atexit, "register", lambda save: None)
    return tmp_path / "code.json"


def written(path, version="1", **files):
    memo = CodeMemo(path, version)
    for name, found in files.items():
        memo.put(name, found)
    memo.save()


def test_the_next_process_knows_what_one_process_found(path):
    written(path, ab=FOUND)

    assert CodeMemo(path, "1").get("ab") == FOUND
    assert CodeMemo(path, "1").get("cd") is None


def test_entries_of_another_version_are_ignored(path):
    written(path, ab=FOUND)

    assert CodeMemo(path, "2").get("ab") is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": "1"}', '{"version": "1", "files": 3}']
)
def test_a_truncated_file_counts_as_empty(path, text):
    path.write_text(text)

    assert CodeMemo(path, "1").get("ab") is None


def test_nothing_is_written_without_its_folder(path):
    written(path.parent / "none/code.json", ab=FOUND)

    assert not (path.parent / "none").exists()


def test_entries_not_requested_are_removed_when_there_are_many(path, monkeypatch):
    written(path, ab=FOUND, cd=FOUND)
    monkeypatch.setattr(codememo, "MOST_FILES", 2)
    memo = CodeMemo(path, "1")
    memo.get("cd")
    memo.get("ef")

    memo.put("ef", FOUND)
    memo.save()

    assert set(json.loads(path.read_text())["files"]) == {"cd", "ef"}
