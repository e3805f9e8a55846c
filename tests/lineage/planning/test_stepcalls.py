import pytest

from clipaudit.errors import ConfigError
from clipaudit.lineage.planning.stepcalls import StepCall, step_call
from clipaudit.steps.codedigest import SCRIPTS


def script(tmp_path, text):
    path = tmp_path / "script.py"
    path.write_text(text)
    return path


def test_a_bare_call_is_an_exact_step(tmp_path):
    path = script(tmp_path, "run_step(snakemake, compute)\n")

    assert step_call(path) == StepCall()


def test_names_are_looked_up_in_the_script(tmp_path):
    path = script(
        tmp_path,
        'NUMERIC = ("torch", "pillow")\n'
        "run_step(snakemake, compute, numeric=NUMERIC, reads_labels=False)\n",
    )

    assert step_call(path) == StepCall(numeric=("torch", "pillow"), reads_labels=False)


def test_labels_of_outputs_are_known_by_name(tmp_path):
    path = script(
        tmp_path,
        "def compute(step):\n"
        '    step.write_table("a", rows, A, pruning="all")\n'
        '    step.write_bytes("b", content, ".txt", epoch="1")\n'
        "run_step(snakemake, compute)\n",
    )

    assert step_call(path).labels == {"pruning", "epoch"}


def test_labels_of_a_mapping_are_known_to_nobody(tmp_path):
    path = script(
        tmp_path,
        "def compute(step):\n"
        '    step.write_table("a", rows, A, **labels)\n'
        "run_step(snakemake, compute)\n",
    )

    assert step_call(path).labels is None


def test_a_script_without_the_call_is_no_step(tmp_path):
    assert step_call(script(tmp_path, "with reporting(snakemake):\n    pass\n")) is None


def test_what_only_a_run_knows_cannot_be_planned(tmp_path):
    path = script(tmp_path, "run_step(snakemake, compute, numeric=libraries())\n")

    with pytest.raises(ConfigError, match=r"script.py, line 1: cannot be planned .* plain values"):
        step_call(path)


def test_a_missing_script_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"gone.py: cannot be read as Python code"):
        step_call(tmp_path / "gone.py")


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.stem)
def test_every_script_of_the_workflow_can_be_planned(path):
    call = step_call(path)

    assert (call is not None) == ("run_step(" in path.read_text())
