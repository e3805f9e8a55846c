import json

import pytest
from click.testing import CliRunner

from clipaudit.cli.options import Group
from clipaudit.cli.verify import verify
from clipaudit.store.store import Store, replace_text

GROUP = Group(commands=[verify])


@pytest.fixture
def folder(tmp_path):
    """Return a results folder of one pointer, which no record explains."""
    pointer = Store(tmp_path / "store").put_bytes(b"content", schema="x")
    replace_text(tmp_path / "results/here.json", pointer.to_json())
    return tmp_path


def run(folder, *arguments):
    folders = ["--results", str(folder / "results"), "--store", str(folder / "store")]
    return CliRunner().invoke(GROUP, ["verify", *folders, *arguments])


def remove_object(folder):
    for path in (folder / "store").glob("objects/??/*"):
        path.unlink()


def test_a_place_that_is_only_unverifiable_is_a_warning(folder):
    done = run(folder)

    assert done.exit_code == 0
    assert "1 pointers, 1 objects, 7 bytes\nall as they were written\n" in done.stdout
    assert "unverifiable: " in done.stdout
    assert "Warning: 1 places are unverifiable." in done.stderr
    assert "hashed 7 bytes in " in done.stderr


def test_strict_turns_the_warning_into_an_error(folder):
    done = run(folder, "--strict")

    assert done.exit_code == 1
    assert "1 places are unverifiable. Follow the lines above." in done.stderr


def test_a_missing_object_is_an_error_with_a_remedy(folder):
    remove_object(folder)

    done = run(folder)

    assert done.exit_code == 1
    assert "missing: " in done.stdout
    assert (
        "the object is missing. `clipaudit verify --repair --configfile SETTINGS` remakes it.\n"
        in done.stdout
    )
    assert "Error: 1 places cannot be trusted. Follow the lines above." in done.stderr


def test_faults_are_available_as_json(folder):
    remove_object(folder)

    report = json.loads(run(folder, "--format", "json").stdout)

    assert (report["pointers"], report["objects"], report["repaired"]) == (1, 1, [])
    assert [fault["kind"] for fault in report["faults"]] == ["missing", "unverifiable"]
    assert report["faults"][0]["pointer"] == str(folder / "results/here.json")


def test_a_hostile_file_name_stays_on_its_line(folder):
    replace_text(folder / "results/\x1b[31mred\nline.json", "{")

    lines = run(folder).stdout.splitlines()

    assert r"results/\x1b[31mred\nline.json: not a pointer" in lines[0]


def test_many_unverifiable_places_are_counted_not_listed(folder):
    text = (folder / "results/here.json").read_text()
    for number in range(30):
        replace_text(folder / f"results/{number}.json", text)

    assert "... and 11 more unverifiable: --format json" in run(folder).stdout


def test_repair_without_settings_changes_nothing(folder, monkeypatch):
    remove_object(folder)
    monkeypatch.chdir(folder)
    (folder / ".snakemake/metadata").mkdir(parents=True)

    done = run(folder, "--repair")

    assert done.exit_code == 1
    assert "without, the demo's would replace them. Nothing was changed. Add" in done.stderr
    assert (folder / "results/here.json").exists()


def test_repair_outside_the_run_changes_nothing(folder, monkeypatch):
    remove_object(folder)
    monkeypatch.chdir(folder)

    done = run(folder, "--repair")

    assert done.exit_code == 1
    assert "no run was started here, so nothing can be remade" in done.stderr
    assert (folder / "results/here.json").exists()
