"""The wheel, unpacked into an empty folder, and runs from it in another folder."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
BUILD = (sys.executable, "-m", "hatchling", "build", "--directory")
UV = shutil.which("uv") or str(ROOT / ".uv/bin/uv")
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
    """Build a distribution without compiling; return its file."""
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
    """Return a function that runs clipaudit of the wheel or a folder, in a folder with settings."""
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


def test_a_wheel_built_from_the_sdist_has_the_same_files(wheel, tmp_path):
    (tmp_path / "sdist").mkdir()
    (tmp_path / "again").mkdir()
    with tarfile.open(build("sdist", ROOT, tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("clipaudit-*")

    names = set(zipfile.ZipFile(wheel).namelist())
    again = set(zipfile.ZipFile(build("wheel", unpacked, tmp_path / "again")).namelist())

    assert names == again
    assert {"clipaudit/workflow/Snakefile", "clipaudit/workflow/config/demo.yaml"} <= names


def test_the_wheel_plans_the_same_jobs_as_the_clone(away):
    plan = ("plan", "report", "--configfile", "my.yaml", "--format", "json")

    of_wheel, of_clone = (json.loads(away(*plan, **of).stdout) for of in ({}, {"package": ROOT}))

    assert of_wheel == of_clone
    assert {"find_candidates", "report_table"} <= {job["rule"] for job in of_wheel["jobs"]}


def test_equal_code_has_the_same_digest_in_wheel_and_clone(installed, tmp_path):
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


def test_a_dry_run_lists_the_jobs_and_writes_no_results(away, tmp_path):
    done = away("run", "my.yaml", "--", "--dry-run")

    assert done.returncode == 0, done.stderr
    assert "hash_images " in done.stdout
    assert not (tmp_path / "results_micro").exists()


def test_a_run_writes_into_the_current_folder(away, tmp_path):
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


VIT = """
import torch
from transformers import ViTConfig, ViTImageProcessor, ViTModel
torch.manual_seed(0)
sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2)
ViTModel(ViTConfig(**sizes, image_size=64, patch_size=8)).save_pretrained("vit")
ViTImageProcessor(size={"height": 64, "width": 64}).save_pretrained("vit")
"""
WORLD = [
    *(f"data/micro_copies/web/{shard:05d}.tar" for shard in range(4)),
    "data/micro_copies/val/00000.tar",
]


def uv(*arguments):
    return subprocess.run(
        [UV, *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def resolved(request, wheel, tmp_path):
    """Yield an environment's folder with the wheel, at the lowest or the highest versions."""
    folder = tmp_path / "environment"
    python = ("--python", str(folder / "bin/python"))
    uv("venv", "--python", sys.executable, str(folder))
    # with a wheel as its argument, uv would still take its requirements at the highest versions
    lowered = ("--resolution", request.param, "--extra", "cpu", "--requirement", "pyproject.toml")
    uv("pip", "install", *python, *lowered)
    uv("pip", "install", *python, "--no-deps", str(wheel))
    yield folder
    shutil.rmtree(folder)  # several gigabytes


def floors():
    """Return the lowest version that each requirement of the wheel with [cpu] allows, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked = map(Requirement, [*project["dependencies"], *extras["cpu"], *extras["models"]])
    return {
        canonicalize_name(each.name): Version(bound.version)
        for each in asked
        for bound in each.specifier
        if bound.operator in (">=", "==")
    }


def versions(folder):
    listed = json.loads(uv("pip", "list", "--format", "json", "--python", folder / "bin/python"))
    return {canonicalize_name(each["name"]): Version(each["version"]) for each in listed}


@pytest.mark.pins
@pytest.mark.slow
@pytest.mark.timeout(3000)  # the audit reads text and embeds, on one core
@pytest.mark.parametrize("resolved", ["lowest-direct", "highest"], indirect=True)
def test_an_audit_gives_the_true_answer_at_both_ends_of_the_pins(resolved, tmp_path, request):
    if "lowest-direct" in request.node.name:
        found = versions(resolved)
        assert {name: found[name] for name in floors()} == floors()
    shutil.copy(SETTINGS, tmp_path / "my.yaml")
    path = os.pathsep.join([str(resolved / "bin"), os.environ["PATH"]])
    away = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def told(*command):
        done = subprocess.run(
            command, cwd=tmp_path, env={**away, "PATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    told("clipaudit", "run", "my.yaml", *WORLD)
    told("python", "-c", VIT)
    web, val = (str(Path(WORLD[number]).parent) for number in (0, 4))
    answer = told(
        "clipaudit", "audit", web, "--against", val, "--encoder", "vit", "--format", "json"
    )

    truth = [row for tar in WORLD[:4] for row in truth_of(tmp_path / tar)]
    planted = {row["duplicate_of_row"] for row in truth if row["duplicate_of_corpus"] == "val"}
    tables = json.loads(answer)["tables"]
    assert tables["copies_summary"][0]["with_copy"] == len(planted) > 0
    assert tables["similarity_table2"][0]["near_duplicates"] >= len(planted)
    assert tables["parrot_table1"][0]["value"] == len(truth) == 192


@pytest.mark.pins
@pytest.mark.slow
@pytest.mark.parametrize("lock", ["cpu", "gpu"])
def test_no_pinned_package_needs_a_compiler(lock, tmp_path):
    wheels = ("--only-binary", ":all:", "--no-binary", "connection-pool")  # which is plain Python
    anew = ("--dry-run", "--target", str(tmp_path))

    uv("pip", "install", *anew, *wheels, "--requirement", f"envs/{lock}.lock")


def truth_of(tar):
    return pq.read_table(tar.with_suffix(".truth.parquet")).to_pylist()
