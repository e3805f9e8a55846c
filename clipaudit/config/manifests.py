"""Names of manifests: of a corpus before pruning, and sizes in names."""

from typing import Annotated

from pydantic import Field

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
