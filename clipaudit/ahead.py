"""One ahead: the next item of an iterator is made in a thread while this one is worked on."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")


def one_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items, in order; while a caller works on one, a thread makes the next, and no more.

    What takes time should leave Python to others meanwhile, as reading files, PyArrow, NumPy, torch
    and the native search do. An error in making an item is raised in its place. A caller that ends
    early waits for the item in the making, so that nothing goes on behind its back. Besides what
    the caller holds, one item is held.

    >>> list(one_ahead(range(3)))
    [0, 1, 2]
    """
    iterator = iter(items)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="one_ahead") as thread:
        coming = thread.submit(_take, iterator)
        while taken := coming.result():
            coming = thread.submit(_take, iterator)
            yield taken.pop()  # no name here: it would hold the item while the next one is made


def _take(iterator: Iterator[Item]) -> list[Item]:
    """Return the next item, or nothing at the end: a Future cannot hold StopIteration."""
    return list(islice(iterator, 1))
