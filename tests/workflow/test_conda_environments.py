"""`--sdm conda`: jobs run in the environment of envs/, not in Snakemake's own."""

import shutil
import sys
from pathlib import Path

import pytest
from microproject import ROOT, copy_project

TARGET = "results_micro/models/brief/small.json"


@pytest.fixture
def conda(tmp_path, monkeypatch):
    """Return a folder with a stand-in for `conda`, whose channels are unreachable here."""
    home = tmp_path / "conda"
    (home / "bin").mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("standin_conda"), home / "bin/conda")
    (home / "bin/activate").write_text('source "$1/bin/activate"\n')
    uv = shutil.which("uv") or ROOT / ".uv/bin/uv"
    for name, value in {"CONDA_HOME": home, "UV": uv, "PYTHON": sys.executable}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("PATH", f"{home}/bin", prepend=":")
    return home


@pytest.mark.slow
def test_jobs_run_in_the_environment_that_conda_makes_from_the_pins(conda, tmp_path):
    project = copy_project(tmp_path / "project")
    project.edit(
        "workflow_scripts/train.py", "run_step(", "import sys\nprint(sys.prefix)\nrun_step("
    )

    output = project.run("--sdm", "conda", target=TARGET)

    (made,) = (project.folder / ".snakemake/conda").glob("*_/")
    assert str(made).rstrip("/") in output
