"""Downloads or takes the Debian packages of the Open Clip Art Library, and unpacks them.

Root rights are not needed. `apt-get download` checks its files against Debian's signed lists; only
the names of packages given by path are checked.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from clipaudit.errors import InputError
from clipaudit.store.outputs import whole_output

PACKAGES = ("openclipart-png", "openclipart-svg")
WHERE = "usr/share/openclipart"  # the folder of `png` and `svg` in the packages
RECORD = "packages.json"
GIVE = (
    f"Fetch the .deb files of {' and '.join(PACKAGES)} 0.18 from a Debian mirror, then: "
    'make clipart DEBS="the_png.deb the_svg.deb"'
)


class Package(NamedTuple):
    """A .deb file, with its name and version."""

    path: Path
    name: str
    version: str


def fetch(folder: Path, given: Sequence[Path] = ()) -> Path:
    """Return the folder of unpacked drawings, `folder`/drawings, making it if needed.

    It has `png/` and `svg/`, and packages.json with each package's version and SHA-256. Without
    `given`, apt-get downloads both packages to `folder`/packages. Raise InputError if a program is
    missing or fails, and if `given` are not the two packages.
    """
    drawings = folder / "drawings"
    if drawings.is_dir():
        return drawings
    folder.mkdir(parents=True, exist_ok=True)
    packages = _both([_described(path) for path in given or _downloaded(folder / "packages")])
    with whole_output(drawings, force=False) as new:
        for package in packages:
            _run("dpkg-deb", "-x", str(package.path), str(new.parent / "unpacked"))
        os.rename(_unpacked(new.parent / "unpacked" / WHERE), new)
        (new / RECORD).write_text(json.dumps(_record(packages), indent=2, sort_keys=True) + "\n")
    return drawings


def _downloaded(folder: Path) -> list[Path]:
    """Download both packages into a folder; apt-get keeps existing correct files."""
    if shutil.which("apt-get") is None:
        raise InputError(f"apt-get is not on this machine. {GIVE}")
    folder.mkdir(exist_ok=True)
    _run("apt-get", "-qq", "download", *PACKAGES, cwd=folder)
    return [max(folder.glob(f"{name}_*.deb"), key=os.path.getmtime) for name in PACKAGES]


def _described(path: Path) -> Package:
    fields = _run("dpkg-deb", "--show", "--showformat=${Package}\n${Version}", str(path))
    name, version = fields.split("\n")
    return Package(path, name, version)


def _both(packages: Sequence[Package]) -> list[Package]:
    if sorted(package.name for package in packages) != sorted(PACKAGES):
        found = ", ".join(f"{package.path} is {package.name}" for package in packages)
        raise InputError(f"expected {' and '.join(PACKAGES)}, but {found}. {GIVE}")
    return list(packages)


def _unpacked(folder: Path) -> Path:
    for kind in ("png", "svg"):
        if not (folder / kind).is_dir():
            raise InputError(f"the packages have no {WHERE}/{kind}: they are not 0.18. {GIVE}")
    return folder


def _record(packages: Sequence[Package]) -> dict[str, dict[str, str]]:
    return {
        package.name: {
            "version": package.version,
            "sha256": hashlib.sha256(package.path.read_bytes()).hexdigest(),
        }
        for package in packages
    }


def _run(program: str, *arguments: str, cwd: Path | None = None) -> str:
    """Return a program's output; raise InputError with its last lines if it is missing or fails."""
    try:
        done = subprocess.run(
            [program, *arguments], cwd=cwd, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise InputError(
            f"{program} is not on this machine: install Debian's package tools (dpkg)."
        ) from None
    if done.returncode != 0:
        words = done.stderr.strip().rpartition("\n")[2]
        raise InputError(f"{program} {arguments[0]} failed: {words}. {GIVE}")
    return done.stdout
