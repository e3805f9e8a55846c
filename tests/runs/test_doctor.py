"""What `clipaudit doctor` finds in intact, damaged, wrong or missing folders."""

import importlib.metadata
import os
from pathlib import Path

import pytest
from handmaderun import HandmadeRun

from clipaudit.neighbors.native.library import kernels
from clipaudit.runs import doctor
from clipaudit.runs.doctor import examine
from clipaudit.store.store import Store


@pytest.fixture
def run(tmp_path, monkeypatch):
    run = HandmadeRun(tmp_path, monkeypatch)
    run.act("score", {"scores/a.json": ({}, [{"score": 1.0}])}, {"tars": [run.shard("a.tar")]})
    return run


def test_an_intact_run_has_no_problem(run):
    found = examine(run.results, run.store)

    assert found["problems"] == []
    assert found["results"]["pointers"] == found["results"]["checked"] == 1
    assert found["store"]["objects"] == 1


def test_a_truncated_object_is_a_problem(run):
    (file,) = run.store.root.glob("objects/*/*")
    file.chmod(0o644)
    file.write_bytes(b"cut")

    (problem,) = examine(run.results, run.store)["problems"]

    assert "1 of 1 checked pointers lead to no whole object" in problem
    assert "scores/a.json: its object has 3 bytes, expected" in problem
    assert "clipaudit verify --repair" in problem


def test_a_missing_object_is_a_problem(run):
    (file,) = run.store.root.glob("objects/*/*")
    file.unlink()

    (problem,) = examine(run.results, run.store)["problems"]

    assert "its object cannot be read (No such file or directory)" in problem


def test_a_sample_of_many_pointers_is_checked(run, monkeypatch):
    outputs = {f"scores/{n}.json": ({"n": str(n)}, [{"score": float(n)}]) for n in range(9)}
    run.act("score", outputs, {"tars": [run.shard("b.tar")]})
    monkeypatch.setattr(doctor, "POINTERS_CHECKED", 4)

    results = examine(run.results, run.store)["results"]

    assert (results["pointers"], results["checked"]) == (10, 4)


def test_a_folder_outside_a_project_has_no_problem(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    found = examine(tmp_path / "results", Store(tmp_path / "store"))

    assert found["problems"] == found["settings"] == []
    assert (found["results"]["there"], found["store"]["there"]) == (False, False)
    assert found["last_run"] is None


def test_wrong_settings_are_a_problem_and_other_yaml_is_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.yaml").write_text("corpora: {}\ncorpra: {}\n")
    (tmp_path / "compose.yaml").write_text("services: {}\n")

    found = examine(tmp_path / "results", Store(tmp_path / "store"))

    assert [each["file"] for each in found["settings"]] == ["my.yaml"]
    assert "corpra is not a setting. Did you mean `corpora`?" in found["problems"][0]


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ("click<1", f"click: clipaudit needs <1, found {importlib.metadata.version('click')}."),
        ("no-such-library>=2", "no-such-library: clipaudit needs >=2, found none."),
    ],
)
def test_a_library_that_does_not_fit_is_a_problem(tmp_path, monkeypatch, asked, problem):
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: [asked])

    found = examine(tmp_path / "results", Store(tmp_path / "store"))

    assert found["problems"][0].startswith(problem)


def test_another_version_of_a_models_library_is_reported_but_not_a_problem(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: ["numpy<1; extra == 'cpu'"])

    found = examine(tmp_path / "results", Store(tmp_path / "store"))

    assert found["versions"]["outside_of"] == {"numpy": "<1"}
    assert found["problems"] == []


def test_the_kernel_in_use_comes_first_or_the_reason_is_reported(tmp_path):
    neighbors = examine(tmp_path / "results", Store(tmp_path / "store"))["neighbors"]

    assert neighbors["kernels"] == list(kernels())
    assert neighbors["backend"] == ("native" if kernels() else "torch")


def test_a_failing_driver_is_a_problem(tmp_path, monkeypatch):
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\nexit 9\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    found = examine(tmp_path / "results", Store(tmp_path / "store"))

    assert found["machine"]["gpus"] == []
    assert found["problems"] == [
        "nvidia-smi fails, so no GPU can be used. Run nvidia-smi to see why."
    ]


def test_variables_that_clipaudit_does_not_read_are_not_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")

    assert "hush" not in str(examine(tmp_path / "results", Store(tmp_path / "store")))


def test_the_home_folder_and_the_current_one_are_not_named(tmp_path, monkeypatch):
    work = tmp_path / "home" / "bob" / "work"
    work.mkdir(parents=True)
    (work / "my.yaml").write_text("extends: elsewhere/x9.yaml\n")
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(work.parent))
    monkeypatch.setenv("SNAKEMAKE_PROFILE", str(work.parent / "profile"))

    found = examine(Path("results"), Store(work.parent / "store"))

    assert found["variables"]["SNAKEMAKE_PROFILE"] == "~/profile"
    assert found["store"]["folder"] == "~/store"
    assert found["problems"][0].endswith("It is relative to $PWD.")
    assert "bob" not in str(found)


def test_a_user_without_a_home_is_no_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)  # has no entry in passwd

    assert examine(Path("results"), Store(Path("store")))["problems"] == []
