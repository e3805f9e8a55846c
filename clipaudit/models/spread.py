"""Spreads work on many items over processes; their number does not affect the result."""

import multiprocessing
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from multiprocessing.connection import Connection
from typing import Final, Generic, TypeVar

from clipaudit.errors import ClipauditError, StepError

R = TypeVar("R")
BATCH = 32  # items that a process takes at a time

# What workers hold cannot always be pickled, and a new interpreter, which Python 3.14 starts unless
# told otherwise, would run the job's script once more.
START_METHOD: Final = "fork"


def spread(
    work: Callable[[Sequence[int]], Iterable[R]], count: int, *, workers: int, each: int
) -> Iterator[R]:
    """Yield the results of `work` for the numbers 0 to `count` - 1, in order.

    `work` gets some of the numbers, ascending, and yields an item for each, in order. It is called
    in up to `workers` processes, with every n-th batch of numbers in each; `each` is how many
    numbers make the start of a process worthwhile. A single process is this one. The state of
    `work` is inherited, its items are pickled. Its errors are raised unchanged; raises StepError
    for a process that ends too early.
    """
    if count == 0:
        return
    numbers = range(count)
    processes = min(workers, -(-count // each))
    if processes <= 1:
        yield from work(numbers)
        return
    with ExitStack() as running:
        streams = []
        for own in range(processes):
            some = [number for number in numbers if number // BATCH % processes == own]
            streams.append(running.enter_context(_Stream(work, some)))
        for batch in range(-(-count // BATCH)):
            yield from streams[batch % processes].next_batch()


class _Stream(Generic[R]):
    """A process that works, and its output; torch's would take a second to import."""

    def __init__(self, work: Callable[[Sequence[int]], Iterable[R]], numbers: list[int]) -> None:
        context = multiprocessing.get_context(START_METHOD)
        self._received, sending = context.Pipe(duplex=False)
        self._process = context.Process(target=_send, args=(work, numbers, sending), daemon=True)
        self._process.start()
        sending.close()  # here, so that only the process holds it: receiving ends when it ends

    def __enter__(self) -> "_Stream[R]":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()  # its output is not needed any more
        self._process.join()
        self._received.close()

    def next_batch(self) -> list[R]:
        """Return the next batch of items, or raise what stopped the process."""
        try:
            batch: list[R] | Exception = self._received.recv()
        except (EOFError, OSError) as error:  # OSError: amid a batch
            self._process.join()
            raise StepError(
                f"process {self._process.pid}, one of those that share the work, ended with "
                f"{self._process.exitcode}, expected 0. -9 means that it was killed, usually for "
                "memory: use fewer cores. For other numbers, its error is above."
            ) from error
        if isinstance(batch, Exception):
            raise batch
        return batch


def _send(
    work: Callable[[Sequence[int]], Iterable[R]], numbers: list[int], sending: Connection
) -> None:
    """Send the items in batches, or an error instead of one, with its traceback if it is a bug."""
    try:
        items = iter(work(numbers))
        while taken := list(islice(items, BATCH)):
            sending.send(taken)
    except Exception as error:
        if not isinstance(error, ClipauditError):
            error.add_note(traceback.format_exc())
        sending.send(error)
