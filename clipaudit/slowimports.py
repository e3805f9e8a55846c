"""Libraries that others import wherever they are installed, and hardly use: kept from them.

transformers: open_clip imports it for Hugging Face text towers; a second of every job that has a
model. pandas: pyarrow imports it at the first array, to know a data frame if it saw one; a quarter
of a second of every job. Our own use of transformers is the detector, of pandas none.
"""

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_HIDDEN = {"pandas", "transformers"}
_OPEN_CLIP_USER = "open_clip.hf_model"


class _WithoutSlow(PathFinder):
    """Finds what Python's own finder finds, as if the slow libraries were not installed."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return None if fullname in _HIDDEN else super().find_spec(fullname, path, target)


def hide_slow_imports() -> None:
    """Let libraries be imported as if the slow ones were not there; loaded ones stay."""
    if PathFinder in sys.meta_path:
        sys.meta_path[sys.meta_path.index(PathFinder)] = _WithoutSlow


def show_slow_imports() -> None:
    """Undo `hide_slow_imports`, also for an open_clip that was imported meanwhile."""
    if _WithoutSlow in sys.meta_path:
        sys.meta_path[sys.meta_path.index(_WithoutSlow)] = PathFinder
        if _OPEN_CLIP_USER in sys.modules:
            importlib.reload(sys.modules[_OPEN_CLIP_USER])


@contextmanager
def slow_imports_shown() -> Iterator[None]:
    """Let the slow libraries be found for a while; afterwards they are hidden if they were."""
    hidden = _WithoutSlow in sys.meta_path
    show_slow_imports()
    try:
        yield
    finally:
        if hidden:
            hide_slow_imports()
