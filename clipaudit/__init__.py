"""clipaudit: audits the training data of CLIP-style image-text models.

These names are for notebooks; docs/api.md shows each. A name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clipaudit.catalog.views import open_catalog
    from clipaudit.errors import ClipauditError, ConfigError, InputError, StepError, StoreError
    from clipaudit.memorization.arrays import Embedded, Gap, deja_vu_gaps
    from clipaudit.neighbors.arrays import Neighbors, nearest
    from clipaudit.parrot.rates import cotr
    from clipaudit.similarity.arrays import kept_by_gap

    __version__: str

__all__ = [
    "ClipauditError",
    "ConfigError",
    "Embedded",
    "Gap",
    "InputError",
    "Neighbors",
    "StepError",
    "StoreError",
    "__version__",
    "cotr",
    "deja_vu_gaps",
    "kept_by_gap",
    "nearest",
    "open_catalog",
]

_HOMES = {
    "clipaudit.catalog.views": ("open_catalog",),
    "clipaudit.errors": (
        "ClipauditError",
        "ConfigError",
        "InputError",
        "StepError",
        "StoreError",
    ),
    "clipaudit.memorization.arrays": ("Embedded", "Gap", "deja_vu_gaps"),
    "clipaudit.neighbors.arrays": ("Neighbors", "nearest"),
    "clipaudit.parrot.rates": ("cotr",),
    "clipaudit.similarity.arrays": ("kept_by_gap",),
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name == "__version__":
        from importlib.metadata import version  # slow to import, and most starts do not need it

        return version("clipaudit")
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'clipaudit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
