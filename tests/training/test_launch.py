import json

import pytest
from test_run import COUNTS, RECIPE
from tinyclip import sealed, text_shards, tiny

from clipaudit.corpora.sealed import Sealed
from clipaudit.errors import InputError, StepError
from clipaudit.training.launch import _raise_error, run_job, train_in_processes


@pytest.mark.slow
def test_two_processes_train_one_model(tmp_path):
    file, locate = sealed(tmp_path, text_shards(tmp_path, COUNTS), COUNTS)
    saved = {}

    curves = train_in_processes(
        2,
        file,
        locate,
        tiny(tmp_path),
        RECIPE.model_copy(update={"batch_size": 8, "epochs": 2}),
        initial=None,
        scratch=tmp_path,
        device="cpu",
        threads=1,
        save_epoch=saved.__setitem__,
    )

    assert sorted(saved) == [0, 1]
    assert saved[0] != saved[1]
    assert curves["samples_seen"].to_pylist() == list(range(8, 8 * len(curves) + 8, 8))


def test_an_error_of_a_process_reaches_the_caller_unchanged(tmp_path):
    file, _ = sealed(tmp_path, text_shards(tmp_path, COUNTS), COUNTS)
    (tmp_path / "processes").mkdir()
    job = {
        "sealed": str(file),
        "tars": dict.fromkeys((shard.sha256 for shard in Sealed(file)), "gone.tar"),
        "architecture": tiny(tmp_path).model_dump(mode="json"),
        "recipe": RECIPE.model_dump(mode="json"),
        "initial": None,
        "device": "cpu",
        "threads": 1,
        "checkpoint_steps": 0,
        "at_once": None,
    }
    (tmp_path / "processes" / "job.json").write_text(json.dumps(job))

    with pytest.raises(SystemExit, match="1"):
        run_job(tmp_path / "processes" / "job.json")

    with pytest.raises(InputError, match=r"^gone\.tar: shard 0 of the manifest is missing"):
        _raise_error(tmp_path / "processes", 1)


def test_a_process_that_dies_silently_is_reported(tmp_path):
    with pytest.raises(StepError, match="torchrun ended with -9"):
        _raise_error(tmp_path, -9)
