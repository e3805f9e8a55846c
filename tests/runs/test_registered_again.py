from types import SimpleNamespace

import pytest
from exportedrun import two_parts

from clipaudit.config.running import SharedStore
from clipaudit.runs.start import register_again
from clipaudit.store.roots import roots
from clipaudit.store.store import Store


@pytest.fixture
def run(tmp_path):
    return two_parts(tmp_path)


def settings(results, store, shared=None):
    group = shared and SharedStore(path=str(shared), write=True)
    return SimpleNamespace(results=str(results), store=str(store), shared_store=group)


def test_a_moved_folder_is_registered_by_a_run_that_has_nothing_to_do(run):
    moved = run.results.rename(run.folder / "moved")

    group = Store(run.folder / "group")
    group.root.mkdir()

    register_again(settings(moved, run.store.root, group.root))

    assert roots(run.store) == roots(group) == [moved]


def test_a_folder_without_a_job_is_not_registered(run, tmp_path):
    register_again(settings(tmp_path / "new", run.store.root))

    assert roots(run.store) == []


def test_a_run_without_a_store_makes_none(run, tmp_path):
    register_again(settings(run.results, tmp_path / "no store yet"))

    assert not (tmp_path / "no store yet").exists()
