import os
from pathlib import Path

import pytest

from clipaudit.errors import ConfigError
from clipaudit.steps.gpus import VISIBLE
from clipaudit.steps.machine import this_machine

LOCAL = Path(__file__).parents[2] / "profiles/local"
GPU_BUILD = "clipaudit.steps.machine.is_built_for_gpus"


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return a stand-in for the driver's program that lists three GPUs."""
    path = tmp_path / "nvidia-smi"
    path.write_text("#!/bin/sh\nprintf '0\\n1\\n2\\n'\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv(VISIBLE, raising=False)
    return path


def given(gpus=None):
    """Return the options and variables for a run on eight cores, by name."""
    machine = this_machine(str(LOCAL), "8", gpus)
    return dict(each.split("=") for each in machine.options if "=" in each) | machine.environment


def test_jobs_fit_into_nine_tenths_of_the_memory(monkeypatch):
    monkeypatch.setattr("clipaudit.steps.machine.granted_memory", lambda: 16 * 10**9)

    assert given()["mem_mb"] == "14400"


@pytest.mark.parametrize("asked", [None, "all"])
def test_all_cores_are_those_that_a_container_grants(monkeypatch, asked):
    monkeypatch.setattr("clipaudit.steps.machine.granted_cores", lambda: 3)

    options = this_machine(str(LOCAL), asked, 0).options

    assert options[options.index("--cores") + 1] == "3"


def test_a_profiles_misspelt_cores_are_left_to_snakemake(tmp_path):
    (tmp_path / "config.yaml").write_text("cores: many\n")

    assert "--cores" not in this_machine(str(tmp_path), None, 0).options


def test_requested_gpus_are_named_and_share_the_cores(program):
    found = given(gpus=2)

    assert (found["gpu"], found[VISIBLE]) == ("2", "0,1")
    assert found["embed"] == found["train"] == "4"


def test_only_gpus_that_the_user_made_visible_can_be_requested(program, monkeypatch):
    monkeypatch.setenv(VISIBLE, "2")

    with pytest.raises(ConfigError, match=r"--gpus 2: nvidia-smi or CUDA_VISIBLE_D.* names 1\. A"):
        given(gpus=2)


@pytest.mark.parametrize(("built", "gpus"), [(True, "3"), (False, "0")])
def test_all_gpus_are_used_by_default_if_the_libraries_can(program, monkeypatch, built, gpus):
    monkeypatch.setattr(GPU_BUILD, lambda: built)

    assert given()["gpu"] == gpus


def test_a_user_can_hide_all_gpus(program, monkeypatch):
    monkeypatch.setattr(GPU_BUILD, lambda: True)
    monkeypatch.setenv(VISIBLE, "-1")

    assert given()["gpu"] == "0"


def test_unused_gpus_are_reported(program, monkeypatch, caplog):
    monkeypatch.setattr(GPU_BUILD, lambda: False)
    given()

    assert "3 GPUs are here, not used: install clipaudit[gpu] instead of [cpu]" in caplog.text


def test_a_driver_without_a_device_gives_no_gpu(program):
    program.write_text("#!/bin/sh\necho 'No devices were found'\nexit 6\n")

    assert given()["gpu"] == "0"


def test_a_cluster_receives_nothing_about_this_machine(program):
    assert this_machine(str(LOCAL.with_name("slurm")), "8", None) == ([], {})
    assert this_machine("a-users-own", None, None) == ([], {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty, expected a mapping of Snakemake's options, such as `cores: all`"),
        ("- cores", "holds list, expected a mapping of Snakemake's options"),
        ("cores: 1\n  jobs: 2", 'cannot be read as YAML: mapping values .*config.yaml", line 2'),
        ("set-resources: [train:gpu=1]", r"set-resources is \['train:gpu=1'\], expected the reso"),
        ("set-resources: {train: 1}", r"set-resources is \{'train': 1\}, .*\{train: \{gpu: 1\}\}"),
    ],
)
def test_a_profile_of_another_form_is_refused(tmp_path, monkeypatch, text, message):
    monkeypatch.setenv(VISIBLE, "0")
    (tmp_path / "config.yaml").write_text(text)

    with pytest.raises(ConfigError, match=rf"(?s)config\.yaml: {message}"):
        this_machine(str(tmp_path), None, 1)


@pytest.mark.parametrize("text", ["set-resources:", "set-resources: {cut: {mem_mb: 9}}", "jobs: 2"])
def test_a_profile_without_gpu_rules_sets_no_threads(tmp_path, monkeypatch, text):
    monkeypatch.setenv(VISIBLE, "0")
    (tmp_path / "config.yaml").write_text(text)

    assert "--set-threads" not in this_machine(str(tmp_path), None, 1).options
