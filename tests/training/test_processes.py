"""Two training processes, as torchrun starts them."""

import subprocess
import sys

import pytest
from test_run import COUNTS
from tinyclip import sealed, text_shards

from clipaudit.training.processes import joined

PROGRAM = """
import hashlib, os, pathlib, sys
sys.path[:0] = sys.argv[2:]
from test_run import RECIPE
from tinyclip import tiny
from clipaudit.training.run import train

folder, saved = pathlib.Path(sys.argv[1]), {}
paths = {hashlib.sha256(each.read_bytes()).hexdigest(): each for each in folder.glob("*.tar")}
curves = train(
    folder / "sealed",
    paths.__getitem__,
    tiny(folder / os.environ["RANK"]),
    RECIPE.model_copy(update={"batch_size": 8, "epochs": 2}),
    initial=None,
    scratch=folder,
    device="cpu",
    threads=1,
    save_epoch=saved.__setitem__,
)
said = [curves["samples_seen"].to_pylist(), curves["loss"].to_pylist(), sorted(saved)]
(folder / os.environ["RANK"] / "said").write_text(repr(said))
"""


def test_without_torchrun_there_is_a_single_process():
    with joined("cpu") as (processes, device):
        assert (processes.count, processes.rank, device) == (1, 0, "cpu")
        assert processes.is_first


@pytest.mark.long
def test_two_processes_train_one_model_and_the_first_saves_it(tmp_path, pytestconfig):
    tests = pytestconfig.rootpath / "tests"
    sealed(tmp_path, text_shards(tmp_path, COUNTS), COUNTS)
    for rank in "01":
        (tmp_path / rank).mkdir()
    (tmp_path / "program.py").write_text(PROGRAM)

    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [*torchrun, tmp_path / "program.py", tmp_path, tests, tests / "training"]
    subprocess.run(command, check=True, timeout=300)

    first, second = (eval((tmp_path / rank / "said").read_text()) for rank in "01")
    assert first[0] == list(range(8, 8 * len(first[0]) + 8, 8))
    assert len(first[1]) in (4, 5, 6)  # depends on which process has two of the three shards
    assert first[:2] == second[:2]  # the loss is over the rows of both
    assert (first[2], second[2]) == ([0, 1], [])
