"""Runs worker processes that produce batches for a model, through torch's DataLoader."""

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from clipaudit.errors import ClipauditError
from clipaudit.models.spread import START_METHOD

T = TypeVar("T")
Produce = Callable[[int, int], Iterator[T]]


class Workers(Generic[T]):
    """Iterates over the output of workers: one item of each in turn, skipping those that ended.

    `produce(worker, workers)` is called again in each of `workers` processes at every iteration. It
    yields dataclasses, or named tuples, whose tensors are not copied; with 0 processes it is called
    here, as worker 0 of 1. The processes live as long as this object.
    """

    def __init__(self, produce: Produce[T], *, workers: int, pinned: bool = False) -> None:
        """Start nothing yet: processes start with the first iteration."""
        self._loader = DataLoader(
            _Stream(produce),
            batch_size=None,
            num_workers=workers,
            multiprocessing_context=START_METHOD if workers else None,
            persistent_workers=workers > 0,
            pin_memory=pinned,
            generator=torch.Generator(),  # its own: the process's random state is unchanged
        )

    def __iter__(self) -> Iterator[T]:
        """Yield the items; raise our errors of a worker unchanged."""
        for item in self._loader:
            if isinstance(item, ClipauditError):
                try:
                    raise item
                finally:
                    del item  # its traceback would refer to itself, and keep the processes alive
            yield item


class _Stream(IterableDataset):  # type: ignore[type-arg]  # beartype knows no subscripted one
    """The form that DataLoader needs; errors become items, or they would arrive as tracebacks."""

    def __init__(self, produce: Callable[[int, int], Iterator[Any]]) -> None:
        super().__init__()
        self.produce = produce

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        try:
            yield from self.produce(*(info.id, info.num_workers) if info else (0, 1))
        except ClipauditError as error:
            yield error
