import json
import os

import click
import pytest
from click.testing import CliRunner

from clipaudit.cli.gc import gc
from clipaudit.cli.options import Group
from clipaudit.store.roots import register
from clipaudit.store.store import Store, replace_text

GROUP = Group(commands=[gc])


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "store")
    named = store.put_bytes(b"named", schema="x")
    replace_text(tmp_path / "results/here.json", named.to_json())
    register(store, tmp_path / "results")
    unnamed = store.put_bytes(b"unnamed", schema="x")
    for pointer in (named, unnamed):
        os.utime(store.path(pointer.digest), (1, 1))
    return store


def run(store, *arguments):
    return CliRunner().invoke(GROUP, ["gc", "--store", str(store.root), *arguments])


def test_gc_without_delete_reports_what_would_be_removed(store):
    done = run(store)

    assert done.exit_code == 0
    assert "kept: 1 objects, 5 bytes\n" in done.stdout
    assert "would be removed: 1 objects that nothing names, 7 bytes\n" in done.stdout
    assert done.stdout.endswith("bytes; run again with --delete\n")
    assert len(list(store.root.glob("objects/??/*"))) == 2


def test_gc_with_delete_removes_it(store):
    done = run(store, "--delete")

    assert "removed: 1 objects that nothing names, 7 bytes\n" in done.stdout
    assert len(list(store.root.glob("objects/??/*"))) == 1
    assert "removed in total: 0 bytes\n" in run(store, "--delete").stdout


def test_a_missing_folder_is_named(store, tmp_path):
    (tmp_path / "results").rename(tmp_path / "elsewhere")

    assert f"{tmp_path / 'results'}: missing" in run(store).stderr
    refused = run(store, "--delete")
    assert refused.exit_code == 1
    assert "--forget-missing then forgets the old one, and what it named" in refused.stderr


def test_an_additional_folder_can_be_given(store, tmp_path):
    (tmp_path / "results").rename(tmp_path / "elsewhere")

    done = run(store, "--delete", "--forget-missing", "--results", str(tmp_path / "elsewhere"))

    assert done.exit_code == 0
    assert [path.read_text() for path in store.root.glob("objects/??/*")] == ["named"]


@pytest.mark.parametrize(
    ("grace", "seconds"), [("90s", 90.0), ("1.5m", 90.0), ("12h", 43200.0), ("1w", 604800.0)]
)
def test_times_have_units(grace, seconds):
    option = next(option for option in gc.params if option.name == "grace")

    assert option.process_value(click.Context(gc), grace) == seconds


@pytest.mark.parametrize("grace", ["7", "d", "-1d", "7 days"])
def test_a_time_without_a_unit_is_refused(store, grace):
    done = run(store, "--grace", grace)

    assert done.exit_code == 2
    assert "is not a duration. Write 7d, 12h, 30m or 90s." in done.stderr


def test_a_dry_run_is_the_default_and_deletes_nothing(store):
    assert run(store, "--dry-run").stdout == run(store).stdout
    assert len(list(store.root.glob("objects/??/*"))) == 2


def test_deleting_and_a_dry_run_exclude_each_other(store):
    done = run(store, "--dry-run", "--delete")

    assert done.exit_code == 2
    assert "Give either --delete or --dry-run." in done.output


def test_json_says_what_is_removed_and_whether_it_was(store):
    done = json.loads(run(store, "--format", "json").stdout)

    assert not done["deleted"]
    assert done["garbage"]["objects"] == {"files": 1, "bytes": 7}
    assert done["kept"] == {"files": 1, "bytes": 5}
