"""Training on two nodes; a stand-in for srun starts the two torchruns on this machine."""

import dataclasses

import pytest
from test_run import RECIPE
from tinyclip import sealed, text_shards, tiny, write_shard

from clipaudit.errors import ConfigError, InputError, StepError
from clipaudit.training.launch import train_in_processes
from clipaudit.training.nodes import require_visible, torchrun
from clipaudit.training.order import make_plan
from clipaudit.training.state import FILE_NAME

COUNTS = [5, 6, 5, 6, 5, 6, 5, 6]
PROCESSES = 4  # a sum of two has no order
CHANGES = {"batch_size": 2 * PROCESSES, "epochs": 2, "token_masking": 0.3}
SRUN = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
SLURMD_NODENAME=node2 "$@" &
SLURMD_NODENAME=node1 "$@"
ended=$?
wait $! && exit $ended
"""
SQUEUE = """#!/bin/sh
echo 2
"""


@pytest.fixture
def allocation(tmp_path, monkeypatch):
    """A SLURM job of two nodes."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {"srun": SRUN, "squeue": SQUEUE}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.setenv("SLURM_JOB_ID", "7")


@dataclasses.dataclass
class Training:
    """The arguments of `train_in_processes`, and what it saved."""

    folder: object
    saved: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        self.shards = text_shards(self.folder, COUNTS)
        self.file, self.locate = sealed(self.folder, self.shards, COUNTS)

    def run(self, nodes):
        return train_in_processes(
            PROCESSES,
            self.file,
            self.locate,
            tiny(self.folder),
            RECIPE.model_copy(update=CHANGES),
            initial=None,
            scratch=self.folder,
            device="cpu",
            threads=1,
            save_epoch=self.saved.__setitem__,
            checkpoint_steps=1,
            nodes=nodes,
        )


@pytest.fixture(scope="module")
def on_one(tmp_path_factory):
    """A training in the processes of one node, and its curves."""
    training = Training(tmp_path_factory.mktemp("one"))
    return training, training.run(nodes=1)


@pytest.mark.slow
def test_two_nodes_give_the_weights_of_one_after_a_damaged_shard_is_restored(
    tmp_path, on_one, allocation
):
    undisturbed, curves = on_one
    training = Training(tmp_path)
    kept = dict(enumerate(COUNTS))
    plan = make_plan(kept, batch_size=2, processes=PROCESSES, workers=1, seed=RECIPE.seed)
    last = plan.shards(0, 1, 0)[-1]  # the second process reads it in the first epoch
    path = dict(training.shards)[last]
    content = path.read_bytes()
    write_shard(path, [{"png": b"damaged", "txt": b"a cat"}] * COUNTS[last])

    with pytest.raises(InputError, match=rf"^node node\d: .*{path.name}, row .*corrupt image"):
        training.run(nodes=2)
    path.write_bytes(content)

    assert (tmp_path / FILE_NAME).exists()
    assert not training.saved
    assert training.run(nodes=2) == curves
    assert training.saved == undisturbed.saved


def test_nodes_that_do_not_see_the_store_are_named(tmp_path, allocation):
    require_visible(tmp_path, nodes=2)  # no error

    with pytest.raises(StepError, match=r"gone: node node1, node2 cannot read it.* all nodes sh"):
        require_visible(tmp_path / "gone", nodes=2)


def test_nodes_outside_the_job_are_refused(allocation):
    with pytest.raises(ConfigError, match="`nodes` is 3, nodes of this SLURM job: 2"):
        torchrun(3, nodes=3)


def test_nodes_outside_slurm_are_refused(monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)

    with pytest.raises(ConfigError, match="`nodes` is 2, nodes of this SLURM job: none"):
        torchrun(2, nodes=2)


def test_processes_that_do_not_match_the_nodes_are_refused(allocation):
    with pytest.raises(ConfigError, match="3 processes on 2 nodes"):
        torchrun(3, nodes=2)
