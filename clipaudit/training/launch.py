"""Trains in several processes: starts torchrun and watches it.

The caller's process does not train. It writes the job as a file into the scratch folder, passes on
each epoch's weights as they appear there, and raises the error that ended training. torchrun starts
on this machine, or on each node of a SLURM job (`training.nodes`), and runs
`python -m clipaudit.training.launch JOB`.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather

from clipaudit import errors
from clipaudit.config.training import Architecture, Recipe
from clipaudit.corpora.sealed import Sealed
from clipaudit.errors import ClipauditError, StepError
from clipaudit.store.outputs import write_whole
from clipaudit.training.nodes import node_name, require_visible, torchrun
from clipaudit.training.run import CHECKPOINT_STEPS, SaveEpoch, train

SECONDS_BETWEEN_LOOKS = 1.0


def train_in_processes(
    processes: int,
    sealed_path: Path,
    locate: Callable[[str], Path],
    architecture: Architecture,
    recipe: Recipe,
    *,
    initial: Path | None,
    scratch: Path,
    device: str,
    threads: int,
    save_epoch: SaveEpoch,
    checkpoint_steps: int = CHECKPOINT_STEPS,
    at_once: int | None = None,
    nodes: int = 1,
) -> pa.Table:
    """Train as `train` does, in `processes` processes; "cuda" gives each its GPU.

    `recipe.batch_size` is that of all together; `recipe.workers`, `threads` and `at_once` are per
    process. With one node, all run on this machine. With several, equally many run on each node of
    this process's SLURM job, and StepError names a node that does not see `scratch`. The number of
    nodes does not affect the result.
    """
    job = {
        "sealed": str(sealed_path.absolute()),
        "tars": {
            shard.sha256: str(locate(shard.sha256).absolute())
            for shard in Sealed(sealed_path)
            if shard.kept > 0
        },
        "architecture": architecture.model_dump(mode="json"),
        "recipe": recipe.model_dump(mode="json"),
        "initial": str(initial.absolute()) if initial else None,
        "device": device,
        "threads": threads,
        "checkpoint_steps": checkpoint_steps,
        "at_once": at_once,
    }
    folder = scratch / "processes"
    folder.mkdir(exist_ok=True)
    for old in ("error.json", "curves.arrow"):
        (folder / old).unlink(missing_ok=True)
    path = folder / "job.json"
    write_whole(path, json.dumps(job).encode())
    command = [*torchrun(processes, nodes=nodes), "-m", "clipaudit.training.launch", str(path)]
    require_visible(path, nodes=nodes)
    with subprocess.Popen(command) as running:
        while running.poll() is None:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            _hand_over(folder, save_epoch)
    _hand_over(folder, save_epoch)
    _raise_error(folder, running.returncode)
    curves: pa.Table = feather.read_table(folder / "curves.arrow")
    return curves


def _hand_over(folder: Path, save_epoch: SaveEpoch) -> None:
    """Pass the epochs that have appeared to the caller, in order."""
    for path in sorted(folder.glob("*.safetensors")):
        save_epoch(int(path.stem), path.read_bytes())
        path.unlink()


def _raise_error(folder: Path, code: int) -> None:
    """Raise the error of a process, as it was raised there."""
    try:
        said = json.loads((folder / "error.json").read_text())
    except FileNotFoundError:
        if code:
            raise StepError(
                f"torchrun ended with {code}: see the messages of its processes above. Start the "
                "training again to resume from its last checkpoint."
            ) from None
        return
    kind: type[ClipauditError] = getattr(errors, said["kind"], StepError)
    raise kind(said["message"])


def run_job(path: Path) -> None:
    """Run one of the processes that torchrun starts for the job in `path`."""
    job, folder = json.loads(path.read_text()), path.parent
    first = os.environ.get("RANK", "0") == "0"
    try:
        curves = train(
            Path(job["sealed"]),
            lambda digest: Path(job["tars"][digest]),
            Architecture(**job["architecture"]),
            Recipe(**job["recipe"]),
            initial=Path(job["initial"]) if job["initial"] else None,
            scratch=folder.parent,
            device=job["device"],
            threads=job["threads"],
            checkpoint_steps=job["checkpoint_steps"],
            at_once=job["at_once"],
            save_epoch=lambda epoch, data: write_whole(folder / f"{epoch:05d}.safetensors", data),
        )
    except ClipauditError as error:
        several = int(os.environ.get("GROUP_WORLD_SIZE", "1")) > 1
        where = f"node {node_name()}: " if several else ""
        message = {"kind": type(error).__name__, "message": f"{where}{error}"}
        write_whole(folder / "error.json", json.dumps(message).encode())
        sys.exit(1)
    if first:
        feather.write_feather(curves, folder / "curves.arrow", compression="uncompressed")


if __name__ == "__main__":
    import logging

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    run_job(Path(sys.argv[1]))
