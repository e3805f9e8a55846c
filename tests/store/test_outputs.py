import os
from pathlib import Path

import pytest

from clipaudit.errors import InputError
from clipaudit.store.outputs import replaced, whole_output


def put(path, text="new", **options):
    with whole_output(path, **{"force": False, **options}) as new:
        assert not new.exists()
        new.write_text(text)


def put_folder(path, **options):
    with whole_output(path, **{"force": False, **options}) as new:
        new.mkdir()
        (new / "mark").touch()


def test_an_output_appears_once_it_is_complete(tmp_path):
    with whole_output(tmp_path / "out", force=False) as new:
        new.write_text("half")
        assert not (tmp_path / "out").exists()

    assert (tmp_path / "out").read_text() == "half"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize(("folder", "file"), [(0o775, 0o664), (0o755, 0o644)])
def test_a_file_for_a_group_is_writable_for_it_where_its_folder_is(tmp_path, folder, file):
    tmp_path.chmod(folder)

    with replaced(tmp_path / "pointer.json", for_group=True):
        pass

    assert (tmp_path / "pointer.json").stat().st_mode & 0o777 == file


def fail_halfway(path):
    with whole_output(path, force=True) as new:
        new.write_text("half")
        raise ZeroDivisionError


def test_a_failure_keeps_the_old_output(tmp_path):
    put(tmp_path / "out", "old")

    with pytest.raises(ZeroDivisionError):
        fail_halfway(tmp_path / "out")

    assert (tmp_path / "out").read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def put_while_another_does(path):
    with whole_output(path, force=False) as new:
        new.write_text("mine")
        path.write_text("another's")


def test_an_output_that_appeared_meanwhile_is_not_replaced(tmp_path):
    with pytest.raises(InputError, match="exists"):
        put_while_another_does(tmp_path / "out")

    assert (tmp_path / "out").read_text() == "another's"


def test_force_replaces_a_folder_that_has_the_mark(tmp_path):
    put_folder(tmp_path / "out")
    (tmp_path / "out" / "old").touch()

    put_folder(tmp_path / "out", force=True, mark="mark")

    assert os.listdir(tmp_path / "out") == ["mark"]


@pytest.mark.parametrize("mark", [None, "mark"])
def test_force_replaces_no_folder_without_the_mark(tmp_path, mark):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis").touch()

    with pytest.raises(InputError, match="--force would delete other files than an export"):
        put_folder(tmp_path / "out", force=True, mark=mark)

    assert os.listdir(tmp_path / "out") == ["thesis"]


def test_force_replaces_a_link_and_not_its_target(tmp_path):
    put_folder(tmp_path / "real")
    (tmp_path / "out").symlink_to(tmp_path / "real")

    put_folder(tmp_path / "out", force=True, mark="mark")

    assert not (tmp_path / "out").is_symlink()
    assert os.listdir(tmp_path / "real") == ["mark"]


def test_a_folder_replaces_a_file_by_force(tmp_path):
    put(tmp_path / "out")

    put_folder(tmp_path / "out", force=True, mark="mark")

    assert (tmp_path / "out").is_dir()


def test_the_current_folder_is_refused_as_an_output_to_replace(tmp_path, monkeypatch):
    put_folder(tmp_path / "out")
    monkeypatch.chdir(tmp_path / "out")

    with pytest.raises(InputError, match=r"^\.: cannot be replaced \(.+\)\. Name another output"):
        put_folder(Path(), force=True, mark="mark")

    assert os.listdir() == ["mark"]
