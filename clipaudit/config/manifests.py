"""Names of manifests: of a corpus before pruning, and sizes in names."""

from typing import Annotated

from pydantic import AfterValidator, Field

# number of samples: a count, or a fraction of all
Size = Annotated[int, Field(ge=1)] | Annotated[float, Field(gt=0, lt=1)]

ALL = "all"
DEDUPLICATED = "deduplicated"


def size_label(size: Size) -> str:
    """Return a size as a part of a name.

    >>> size_label(0.125), size_label(50_000_000)
    ('12-5pct', '50000000')
    """
    return str(size) if isinstance(size, int) else f"{100 * size:g}pct".replace(".", "-")


def _named_apart(sizes: list[Size]) -> list[Size]:
    labels = list(map(size_label, sizes))
    if len(set(labels)) < len(labels):
        raise ValueError(f"{', '.join(map(str, sizes))}: two are one name; name each once")
    return sizes


# Sizes of sets whose names have them
Sizes = Annotated[list[Size], AfterValidator(_named_apart)]
