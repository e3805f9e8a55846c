"""Orders the samples of a training run, as a function of the recipe and the manifest.

Each epoch, the shards that keep samples are put in a seeded order and dealt to streams, one for
each decoding process of each training process. A stream is cut into batches, and the rest at its
end is not used in that epoch (open_clip_train repeats samples instead). So the number of steps
follows from the manifest, and an epoch's order only from (seed, epoch), which makes resuming exact,
between epochs and within one. Instead of shards, single samples can be put in a seeded order:
otherwise shards whose samples are ordered by class give batches of few classes.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from clipaudit.errors import TooSmall


def draw(seed: int, *path: int | str) -> int:
    """Return a number below 2**63 that depends on all arguments: a random seed for `path`.

    It is a hash instead of a generator's stream, so that it needs no state, and is the same on
    every machine and version.

    >>> draw(0, "shard", 3, 7) == draw(0, "shard", 3, 7) != draw(0, "shard", 3, 8)
    True
    """
    text = "/".join(map(str, (seed, *path)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


@dataclass(frozen=True)
class Plan:
    """The order of samples and the numbers of steps of a training run.

    `kept` maps each shard that keeps samples to their number. `processes` is the number of training
    processes (torchrun's world size), `workers` the streams of each of them.
    """

    kept: Mapping[int, int]
    batch_size: int
    processes: int
    workers: int
    seed: int
    shuffle: Literal["shards", "samples"] = "shards"  # put in a seeded order

    def shards(self, epoch: int, process: int, worker: int) -> list[int]:
        """Return the shards of one stream in the order of this epoch."""
        return self._order(epoch)[self.stream(process, worker)]

    def _order(self, epoch: int) -> list[int]:
        return sorted(self.kept, key=lambda shard: (draw(self.seed, "shard", epoch, shard), shard))

    def stream(self, process: int, worker: int) -> slice:
        """Return the places of the order that a stream takes."""
        return slice(process + worker * self.processes, None, self.processes * self.workers)

    def batches(self, epoch: int, process: int) -> list[int]:
        """Return the number of full batches in each stream of a process."""
        return self._batches(self._order(epoch), process)

    def _batches(self, order: list[int], process: int) -> list[int]:
        streams = [self.stream(process, worker) for worker in range(self.workers)]
        if self.shuffle == "samples":
            places = range(sum(self.kept.values()))
            return [len(places[each]) // self.batch_size for each in streams]
        samples = [sum(self.kept[shard] for shard in order[each]) for each in streams]
        return [each // self.batch_size for each in samples]

    def rounds(self, epoch: int, process: int, given: int) -> tuple[int, int]:
        """Return how many rounds `given` batches of a process make, and how many remain.

        A round takes one batch of each stream that has one left, in the order of the streams.
        """
        streams, rounds = self.batches(epoch, process), 0
        while 0 < (taken := sum(batches > rounds for batches in streams)) <= given:
            given -= taken
            rounds += 1
        return rounds, given

    def steps(self, epoch: int) -> int:
        """Return the steps of an epoch: the batches of the process with the fewest."""
        order = self._order(epoch)
        return min(sum(self._batches(order, process)) for process in range(self.processes))


def make_plan(
    kept: Mapping[int, int],
    *,
    batch_size: int,
    processes: int,
    workers: int,
    seed: int,
    shuffle: Literal["shards", "samples"] = "shards",
) -> Plan:
    """Return the plan, or raise an error that says why there is none.

    `kept` maps shard numbers to kept samples, `batch_size` is one process's share of a step; 0
    decoding processes decode in the training process, as one stream, in the same order as 1.
    """
    used = {shard: count for shard, count in kept.items() if count > 0}
    total, streams = sum(used.values()), max(workers, 1) * processes
    if total < batch_size * processes:
        raise TooSmall(
            f"a step needs {batch_size * processes} samples (batch_size), but the manifest keeps "
            f"{total}: make batch_size smaller"
        )
    if shuffle == "shards" and len(used) < streams:
        raise TooSmall(
            f"{len(used)} shards with kept samples, but {streams} streams (workers "
            f"{max(workers, 1)} x {processes} processes) that each need one: use fewer workers"
        )
    return Plan(used, batch_size, processes, max(workers, 1), seed, shuffle)


def steps_of_epochs(plan: Plan, epochs: int) -> list[int]:
    """Return the steps of each epoch; raise TooSmall if one would have none."""
    steps = [plan.steps(epoch) for epoch in range(epochs)]
    if 0 in steps:
        raise TooSmall(
            f"epoch {steps.index(0)} has no full batch of {plan.batch_size} in one of the "
            f"{plan.processes} processes: their {plan.workers} workers each get too few of the "
            f"{sum(plan.kept.values())} kept samples. Use fewer workers or a smaller batch_size."
        )
    return steps
