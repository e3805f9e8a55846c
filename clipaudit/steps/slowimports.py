"""Libraries that others import wherever they are installed, and hardly use: kept from them.

transformers: open_clip imports it for Hugging Face text towers; a second of every job that has a
model. timm: open_clip imports it for vision towers of that name; a quarter of a second. torch's
compiler: torchvision imports it for one question about region pooling on GPUs; a second, and half
of one more to take it apart. pandas: pyarrow imports it at the first array, to know a data frame if
it saw one; a quarter of a second of every job. Our own use of transformers is the detector, of timm
the classifiers, of the others none.

Large packages are imported without looking for garbage, and what they leave is never searched: it
stays as long as the process, and each search walks all of it.
"""

import atexit
import gc
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_HIDDEN = {"pandas", "transformers"}
_OPEN_CLIP_USERS = ("open_clip.hf_model", "open_clip.timm_model")
_LARGE = ("matplotlib", "open_clip", "torch", "torchvision")
_COMPILER = "torch._dynamo.utils"


class _WithoutSlow(PathFinder):
    """Finds what Python's own finder finds, as if the slow libraries were not installed."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Iterable[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in _HIDDEN:
            return None
        # a namespace package's path is no sequence, whatever typeshed says
        spec = super().find_spec(fullname, path, target)  # type: ignore[arg-type]
        if fullname in _EXECUTED_WITHIN and spec is not None:
            _execute_within(_EXECUTED_WITHIN[fullname], spec)
        return spec


def hide_slow_imports() -> None:
    """Let libraries be imported as if the slow ones were not there; loaded ones stay."""
    if PathFinder in sys.meta_path:
        sys.meta_path[sys.meta_path.index(PathFinder)] = _WithoutSlow
        atexit.register(gc.unfreeze)  # libraries complain of what is left of them


def show_slow_imports() -> None:
    """Undo `hide_slow_imports`, also for an open_clip that was imported meanwhile."""
    if _WithoutSlow in sys.meta_path:
        sys.meta_path[sys.meta_path.index(_WithoutSlow)] = PathFinder
        for user in _OPEN_CLIP_USERS:
            if user in sys.modules:
                importlib.reload(sys.modules[user])


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


@contextmanager
def _settled() -> Iterator[None]:
    """Collect no garbage meanwhile, nor ever among what is there by then: no data of ours yet."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


@contextmanager
def _without_timm() -> Iterator[None]:
    _HIDDEN.add("timm")
    try:
        yield
    finally:
        _HIDDEN.discard("timm")


@contextmanager
def _without_compiler() -> Iterator[None]:
    """Let a question of the compiler's be imported alone: it is loaded when this is asked."""
    if _COMPILER in sys.modules:
        yield
        return
    stand_in = ModuleType(_COMPILER)
    stand_in.is_compile_supported = _ask_compiler  # type: ignore[attr-defined]
    sys.modules[_COMPILER] = stand_in
    try:
        yield
    finally:
        del sys.modules[_COMPILER]


def _ask_compiler(device: str) -> bool:
    return bool(importlib.import_module(_COMPILER).is_compile_supported(device))


_EXECUTED_WITHIN: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "open_clip.timm_model": _without_timm,
    "torchvision.ops.roi_align": _without_compiler,
    **dict.fromkeys(_LARGE, _settled),
}


def _execute_within(context: Callable[[], AbstractContextManager[None]], spec: ModuleSpec) -> None:
    """Let the module of `spec` be executed within a context."""
    assert spec.loader is not None, "these have files"
    execute = spec.loader.exec_module

    def exec_module(module: ModuleType) -> None:
        with context():
            execute(module)

    spec.loader.exec_module = exec_module  # type: ignore[method-assign]
