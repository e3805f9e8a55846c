import pytest
from exportedrun import two_parts

from clipaudit.runs.start import register_again
from clipaudit.store.roots import roots


@pytest.fixture
def run(tmp_path):
    return two_parts(tmp_path)


def test_a_moved_folder_is_registered_by_a_run_that_has_nothing_to_do(run):
    moved = run.results.rename(run.folder / "moved")

    register_again(moved, run.store.root)

    assert roots(run.store) == [moved]


def test_a_folder_without_a_job_is_not_registered(run, tmp_path):
    register_again(tmp_path / "new", run.store.root)

    assert roots(run.store) == []


def test_a_run_without_a_store_makes_none(run, tmp_path):
    register_again(run.results, tmp_path / "no store yet")

    assert not (tmp_path / "no store yet").exists()
