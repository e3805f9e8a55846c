"""The package that docs/plugins.md shows, installed into a folder as pip would do it."""

import re
import shutil
import tomllib
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/plugins.md"
_FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def install(folder, *, version="1.0", **changed):
    """Write the package and its dist-info; `changed` gives texts of files by their module names."""
    files = dict(_FILE.findall(PAGE.read_text()))
    project = tomllib.loads(files.pop("pyproject.toml"))["project"]
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(changed.get(path.stem, text))
    register(folder, **{**project, "version": version})


def register(folder, *, name, version, dependencies=(), **project):
    """Write a dist-info and remove an earlier one of the same name."""
    for old in folder.glob(f"{name}-*.dist-info"):
        shutil.rmtree(old)
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    needs = "".join(f"Requires-Dist: {each}\n" for each in dependencies)
    info.joinpath("METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
    )
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    info.joinpath("entry_points.txt").write_text("\n".join(lines))
