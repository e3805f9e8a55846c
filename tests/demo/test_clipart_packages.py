import json
import os
import shutil

import pytest
from tinyclipart import deb, library

from clipaudit.demo.clipart.packages import fetch
from clipaudit.errors import InputError

pytestmark = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="no dpkg-deb to build .debs")


@pytest.fixture
def debs(tmp_path):
    files = library(tmp_path / "files", 2)
    return [
        deb(tmp_path / f"{kind}.deb", f"openclipart-{kind}", files / kind)
        for kind in ("png", "svg")
    ]


def standin(folder, monkeypatch, script):
    """Put a test apt-get on the path before the system's."""
    folder.mkdir()
    (folder / "apt-get").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_given_packages_are_unpacked_and_recorded(debs, tmp_path):
    drawings = fetch(tmp_path / "new/clipart", debs)

    assert (drawings / "png/shapes/disc_01.png").is_file()
    assert (drawings / "svg/shapes/disc_01.svg").is_file()
    record = json.loads((drawings / "packages.json").read_text())
    assert record["openclipart-svg"]["version"] == "1:0.18-1"
    assert len(record["openclipart-png"]["sha256"]) == 64


def test_unpacked_drawings_are_used_unchanged(debs, tmp_path):
    drawings = fetch(tmp_path / "clipart", debs)

    assert fetch(tmp_path / "clipart", [tmp_path / "gone.deb"]) == drawings


def test_without_packages_apt_get_downloads_them(debs, tmp_path, monkeypatch):
    expected = "-qq download openclipart-png openclipart-svg"
    copies = "cp ../../png.deb openclipart-png_1.deb && cp ../../svg.deb openclipart-svg_1.deb"
    standin(tmp_path / "bin", monkeypatch, f'test "$*" = "{expected}" && {copies}')

    assert (fetch(tmp_path / "clipart") / "png/shapes/disc_00.png").is_file()


def test_without_apt_get_and_packages_the_message_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(
        InputError, match=r"apt-get is not on this machine\. Fetch .* make clipart DEBS="
    ):
        fetch(tmp_path / "clipart")


def test_a_failed_download_shows_the_message_of_apt_get(tmp_path, monkeypatch):
    standin(tmp_path / "bin", monkeypatch, 'echo "E: Unable to locate package" >&2; exit 100')

    with pytest.raises(
        InputError, match=r"apt-get -qq failed: E: Unable to locate package\. Fetch"
    ):
        fetch(tmp_path / "clipart")
    assert not (tmp_path / "clipart/drawings").exists()


def test_without_dpkg_deb_the_message_names_it(debs, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(InputError, match="dpkg-deb is not on this machine: install"):
        fetch(tmp_path / "clipart", debs)


def test_other_packages_are_refused(debs, tmp_path):
    with pytest.raises(InputError, match=r"expected .*, but .*png\.deb is openclipart-png\. Fetch"):
        fetch(tmp_path / "clipart", debs[:1])


def test_a_file_that_is_not_a_package_is_refused_and_leaves_nothing(debs, tmp_path):
    debs[1].write_bytes(debs[1].read_bytes()[:300])

    with pytest.raises(InputError, match="dpkg-deb --show failed: "):
        fetch(tmp_path / "clipart", debs)
    assert list((tmp_path / "clipart").iterdir()) == []


def test_packages_without_drawings_are_refused(debs, tmp_path):
    (tmp_path / "other").mkdir()
    empty = deb(tmp_path / "empty.deb", "openclipart-svg", tmp_path / "other")

    with pytest.raises(InputError, match=r"have no usr/share/openclipart/svg: they are not 0\.18"):
        fetch(tmp_path / "clipart", [debs[0], empty])
    assert list((tmp_path / "clipart").iterdir()) == []
