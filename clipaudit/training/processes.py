"""Joins training processes that torchrun starts, with RANK, WORLD_SIZE and LOCAL_RANK set.

open_clip_train also reads SLURM's variables, which a single training run inside a larger allocation
must not do, so this part is ours.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed

from clipaudit.errors import StepError
from clipaudit.training.nodes import node_name


@dataclass(frozen=True)
class Processes:
    """The number of this training process, and how many there are."""

    count: int = 1
    rank: int = 0
    local_rank: int = 0

    @property
    def is_first(self) -> bool:
        """Return whether this process writes checkpoints and logs."""
        return self.rank == 0


@contextmanager
def joined(device: str) -> Iterator[tuple[Processes, str]]:
    """Join the other processes, if torchrun started several; yield the device of this one.

    Without torchrun, or with one process, it is alone, on the requested device.
    """
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Processes(), device
        return
    processes = Processes(count, int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"]))
    kind = torch.device(device).type
    if kind == "cuda":
        device = f"cuda:{processes.local_rank}"
        torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl" if kind == "cuda" else "gloo")
    try:
        yield processes, device
    finally:
        torch.distributed.destroy_process_group()


def require_same_start(processes: Processes, done: int) -> None:
    """Raise StepError, in all processes, unless all have found the same number of steps done.

    They have if all see the state that the first one wrote.
    """
    if processes.count == 1:
        return
    found: list[tuple[str, int]] = [("", 0)] * processes.count
    torch.distributed.all_gather_object(found, (node_name(), done))
    first, there = found[0]
    for rank, (node, steps) in enumerate(found):
        if steps != there:
            raise StepError(
                f"process {rank} on node {node} found {steps} steps of the training done, but "
                f"process 0 on node {first} found {there}: both must read the same state, with the "
                "same versions of torch and open_clip. Put the store on a file system that all "
                "nodes share, then start again."
            )


def together(model: torch.nn.Module, processes: Processes, device: torch.device) -> torch.nn.Module:
    """Return the model with gradients averaged over all processes; itself when there is one."""
    if processes.count == 1:
        return model
    ids = [device] if device.type == "cuda" else None
    return torch.nn.parallel.DistributedDataParallel(model, device_ids=ids)
