"""Make the next item of an iterator in a thread while the caller works on the current one."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")


def one_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items in order; while the caller works on one, a thread makes only the next.

    Slow work should release the GIL, as reading files, PyArrow, NumPy, torch and the native search
    do. An error in making an item is raised in its place. A caller that stops early waits for the
    item in the making, so no work continues afterwards. Besides the caller's item, one item is
    held.

    >>> list(one_ahead(range(3)))
    [0, 1, 2]
    """
    iterator = iter(items)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="one_ahead") as thread:
        coming = thread.submit(_take, iterator)
        while taken := coming.result():
            coming = thread.submit(_take, iterator)
            yield taken.pop()  # a variable would hold the item while the next one is made


def _take(iterator: Iterator[Item]) -> list[Item]:
    """Return the next item, or nothing at the end: a Future cannot hold StopIteration."""
    return list(islice(iterator, 1))
