"""Every file in envs/ has the pins of the locks and names existing files."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
ENVS = ROOT / "envs"
KINDS = pytest.mark.parametrize("kind", ["cpu", "gpu"])
PINNED = re.compile(r"^([a-z0-9][a-z0-9._-]*==[^\\]+?) *\\?$", re.MULTILINE)


def pins(lines):
    """Return names and versions without markers, which developer tools can widen."""
    asked = map(Requirement, lines)
    return {(pin.name, str(pin.specifier)) for pin in asked}


def locked(kind):
    """Return the pins of a lock."""
    return pins(PINNED.findall((ENVS / f"{kind}.lock").read_text()))


def installed(kind):
    """Return the pins that conda passes to pip."""
    parts = yaml.safe_load((ENVS / f"{kind}.yaml").read_text())["dependencies"]
    return pins(parts[-1]["pip"])


def names(pinned):
    return {name for name, _ in pinned}


def asked(*extras):
    """Return the names of the project's own requirements."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for extra in extras for line in optional[extra])]
    return {Requirement(line).name.replace("_", "-") for line in lines} - {"clipaudit"}


@KINDS
def test_conda_gets_the_pins_of_the_lock(kind):
    assert installed(kind) <= locked(kind)


@KINDS
def test_conda_gets_all_requirements_and_no_developer_tool(kind):
    assert asked(kind, "models", "prov", "remote") <= names(installed(kind))
    assert not {"pytest", "ruff", "mypy", "playwright"} & names(installed(kind))


@KINDS
def test_no_lock_has_pandas_since_pyarrow_imports_it_in_every_job(kind):
    assert "pandas" not in names(locked(kind))


def test_the_slurm_plugin_finds_what_it_imports():  # it is installed without its dependencies
    everything = names(locked("slurm") | locked("cpu"))

    assert {"pandas", "numpy", "python-dateutil", "six", "throttler"} <= everything


def test_both_kinds_differ_only_in_gpu_packages():
    differing = names(installed("cpu") ^ installed("gpu"))

    assert {name for name in differing if not name.startswith("nvidia-")} == {
        "faiss-cpu",
        "faiss-gpu-cu12",
    }


@KINDS
def test_the_files_start_with_a_header_for_their_kind(kind):
    text = (ENVS / f"{kind}.yaml").read_text()
    header = (ENVS / "conda.header").read_text().replace("KIND", kind)

    assert text.startswith(header)


@pytest.mark.parametrize("recipe", ["Dockerfile", "clipaudit.def"])
def test_both_images_install_a_lock_the_same_way_on_the_same_base(recipe):
    text = (ENVS / recipe).read_text()

    assert re.search(r"^(?:FROM|From:) debian:12-slim$", text, re.MULTILINE)
    assert re.search(r"sh /opt/install\.sh /opt/(?:\$\{KIND\}|\{\{ KIND \}\})\.lock", text)
    assert "PATH=/opt/clipaudit/bin:$PATH PYTHONPATH=. LC_ALL=C.UTF-8" in text
