"""The wheel, unpacked into an empty folder, and runs from it in another one."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = (sys.executable, "-m", "hatchling", "build", "--directory")
SETTINGS = ROOT / "config/micro_copies.yaml"
DIGESTS = """
import json
from clipaudit.config.shipped import workflow_folder
from clipaudit.config.audits import audits
from clipaudit.reports.wiring import site_files
from clipaudit.steps.workflow import code

scripts = sorted(workflow_folder().glob("workflow_scripts/*.py"))
print(json.dumps({script.stem: code(script.stem, *site_files(audits())) for script in scripts}))
"""


def build(kind, source, folder):
    """Build a distribution without compiling; its file."""
    environment = {**os.environ, "CXX": "no-compiler"}
    command = [*BUILD, str(folder), "--target", kind]
    subprocess.run(command, cwd=source, env=environment, check=True, capture_output=True)
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def away(installed, tmp_path):
    """A function: run clipaudit, of the wheel or another folder, in a folder with settings only."""
    shutil.copy(SETTINGS, tmp_path / "my.yaml")

    def clipaudit(*arguments, package=installed):
        program = "from clipaudit.cli import main; main()"
        return subprocess.run(
            [sys.executable, "-P", "-c", program, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(package)},
            capture_output=True,
            text=True,
        )

    return clipaudit


def test_a_wheel_of_the_sdist_holds_the_same_files(wheel, tmp_path):
    (tmp_path / "sdist").mkdir()
    (tmp_path / "again").mkdir()
    with tarfile.open(build("sdist", ROOT, tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("clipaudit-*")

    names = set(zipfile.ZipFile(wheel).namelist())
    again = set(zipfile.ZipFile(build("wheel", unpacked, tmp_path / "again")).namelist())

    assert names == again
    assert {"clipaudit/workflow/Snakefile", "clipaudit/workflow/config/demo.yaml"} <= names


def test_it_plans_what_the_clone_plans(away):
    plan = ("plan", "report", "--configfile", "my.yaml", "--format", "json")

    of_wheel, of_clone = (json.loads(away(*plan, **of).stdout) for of in ({}, {"package": ROOT}))

    assert of_wheel == of_clone
    assert {"find_candidates", "report_table"} <= {job["rule"] for job in of_wheel["jobs"]}


def test_equal_code_has_one_digest_in_wheel_and_clone(installed, tmp_path):
    digests = [
        subprocess.run(
            [sys.executable, "-P", "-c", DIGESTS],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(package)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for package in (installed, ROOT)
    ]

    assert digests[0] == digests[1]
    assert len(json.loads(digests[0])) == len(list(ROOT.glob("workflow_scripts/*.py")))


def test_a_dry_run_names_the_jobs_and_writes_no_results(away, tmp_path):
    done = away("run", "my.yaml", "--", "--dry-run")

    assert done.returncode == 0, done.stderr
    assert "hash_images " in done.stdout
    assert not (tmp_path / "results_micro").exists()


def test_a_run_computes_into_the_current_folder(away, tmp_path):
    target = "results_micro/samples/val/00000.json"

    done = away("run", "my.yaml", target, "--cores", "1")

    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / target).read_text())["rows"] == 24
    (record,) = (tmp_path / "store_micro/lineage").glob("??/*/*.json")
    assert json.loads(record.read_text())["ingredients"]["step"] == "index"


def test_the_exit_status_is_snakemakes(away):
    done = away("run", "my.yaml", "nothing")

    assert done.returncode == 1
    assert "No rule to produce nothing" in done.stderr
