import pytest
from click.testing import CliRunner
from tworuns import two_runs

from clipaudit.cli.options import Group
from clipaudit.cli.pin import pin


@pytest.fixture
def call(tmp_path):
    """Return a function that calls `clipaudit pin` on a run of one table."""
    run, _ = two_runs(tmp_path)
    run.act("tables/t.json")
    folders = ["--store", str(run.store.root), "--results", str(run.results)]

    def call(*arguments):
        return CliRunner().invoke(Group(commands=[pin]), ["pin", *folders, *arguments])

    return call


def test_a_run_is_pinned_listed_and_unpinned(call):
    kept = call("first")
    listed = call("--list")
    removed = call("--remove", "first")

    assert kept.stderr.startswith("first keeps 1 pointers of ")
    assert listed.stdout == "first\n"
    assert removed.stderr == "pin first removed; it no longer keeps objects\n"
    assert call("--list").stdout == ""


def test_a_name_cannot_be_used_twice(call):
    call("first")

    again = call("first")

    assert again.exit_code == 1
    assert "a pin first exists. Remove it first, or use another name." in again.stderr


def test_an_unknown_pin_is_answered_with_the_nearest(call):
    call("before-new-shards")

    answer = call("--remove", "before-new-shard")

    assert answer.exit_code == 1
    assert "Did you mean before-new-shards?" in answer.stderr


@pytest.mark.parametrize("arguments", [[], ["a", "--list"], ["a", "--remove", "b"]])
def test_only_one_action_at_a_time_is_allowed(call, arguments):
    answer = call(*arguments)

    assert answer.exit_code == 2
    assert "Give a NAME for the run, or --list, or --remove NAME." in answer.stderr


def test_a_folder_without_a_run_cannot_be_pinned(call, tmp_path):
    answer = call("first", "--results", str(tmp_path))

    assert answer.exit_code == 1
    assert "not a run's results folder" in answer.stderr


def test_pins_are_listed_without_a_results_folder(call):
    assert call("--list", "--results", "nowhere").exit_code == 0
