"""Section of remote shards: where they are kept while they are read, and how many of them."""

from pydantic import Field

from clipaudit.config.base import Section
from clipaudit.remote.cache import DEFAULT_GIGABYTES


class Remote(Section):
    """The cache of shards that are named by URL. Nothing of it changes a result."""

    cache: str | None = Field(
        default=None,
        min_length=1,
        description="folder; `~` and `$VARIABLES` are looked up on the machine that reads, such as "
        "$TMPDIR on a cluster's node; `cache` in the store when absent",
    )
    gigabytes: float = Field(
        default=DEFAULT_GIGABYTES,
        gt=0,
        description="bound of the cache, 10^9 bytes; at best a part's shards fit (origin: 32 of "
        "1 GB, and some more)",
    )
