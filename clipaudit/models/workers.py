"""Runs worker processes that produce batches for a model, through torch's DataLoader."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from clipaudit.errors import ClipauditError
from clipaudit.models.spread import START_METHOD

T = TypeVar("T")
Produce = Callable[[int, int], Iterator[T]]
SHARED_MEMORY = Path("/dev/shm")
WAITING = 2  # items of each worker that may wait: DataLoader's default


class Workers(Generic[T]):
    """Iterates over the output of workers: one item of each in turn, skipping those that ended.

    `produce(worker, workers)` is called again in each of `workers` processes at every iteration. It
    yields named tuples, whose tensors are not copied if shared memory has room for them, of which a
    container often has only 64 MB. With 0 processes it is called here, as worker 0 of 1. The
    processes live as long as this object.
    """

    def __init__(self, produce: Produce[T], *, workers: int, pinned: bool = False) -> None:
        """Start nothing yet: processes start with the first iteration."""
        self._loader = DataLoader(
            _Stream(produce),
            batch_size=None,
            collate_fn=_sent,
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
            yield _as_tensors(item.arrays) if isinstance(item, _Copied) else item


class _Copied(NamedTuple):
    """An item that is sent through a pipe, with arrays in place of its tensors."""

    arrays: Any


def _sent(item: Any) -> Any:  # noqa: ANN401
    """Return what a worker sends: the item, or a copy if shared memory may lack room for it."""
    worker = get_worker_info()
    if worker is None or not SHARED_MEMORY.exists():  # no processes, or another system's memory
        return item
    size = sum(tensor.nbytes for tensor in _tensors(item))
    scarce = shutil.disk_usage(SHARED_MEMORY).free < size * WAITING * worker.num_workers
    return _Copied(_as_arrays(item)) if scarce else item


def _tensors(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _tensors(each)


def _as_arrays(value: Any) -> Any:  # noqa: ANN401
    return _mapped(value, torch.Tensor, torch.Tensor.numpy)


def _as_tensors(value: Any) -> Any:  # noqa: ANN401
    return _mapped(value, np.ndarray, torch.from_numpy)


def _mapped(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:  # noqa: ANN401
    """Return a value with all of a kind changed in it, also in lists and named tuples."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, tuple):
        return type(value)(*(_mapped(each, kind, change) for each in value))
    return [_mapped(each, kind, change) for each in value] if isinstance(value, list) else value


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
