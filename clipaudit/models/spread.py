"""Work on many things, spread over processes; what comes of it does not depend on how many."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Generic, TypeVar

R = TypeVar("R")
BATCH = 32  # things that a process takes at a time


@dataclass(frozen=True)
class Batch(Generic[R]):
    """What came of some; no tuple, which torch's loader would take apart."""

    items: list[R]


def spread(
    work: Callable[[Sequence[int]], Iterable[R]], count: int, *, workers: int, each: int
) -> Iterator[R]:
    """Yield what `work` gives for the numbers 0 to `count` - 1, in their order.

    `work` gets some of the numbers, ascending, and gives an item for each, in order. It is called
    in up to `workers` processes, with every n-th batch of numbers in each; `each` is how many
    numbers make the start of a process worth while. One process is this one. What `work` holds is
    inherited, what it gives is pickled. An error of ours that it raises is raised as it is.
    """
    if count == 0:
        return
    numbers = range(count)
    processes = min(workers, -(-count // each))
    if processes <= 1:
        yield from work(numbers)
        return
    from clipaudit.models.workers import Workers  # torch, which one process does without

    def batches(worker: int, _: int) -> Iterator[Batch[R]]:
        own = [number for number in numbers if number // BATCH % processes == worker]
        items = iter(work(own))
        while taken := list(islice(items, BATCH)):
            yield Batch(taken)

    done: Workers[Batch[R]] = Workers(batches, workers=processes)
    yield from chain.from_iterable(batch.items for batch in done)
