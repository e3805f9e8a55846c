"""The settings of a run itself: what it may take, where it keeps things, what it shows."""

from typing import Literal

from pydantic import Field

from clipaudit.config.base import Section
from clipaudit.remote.cache import DEFAULT_GIGABYTES


class Limits(Section):
    """What a run may take. A run whose forecast is above a limit does not start."""

    keep_free_gigabytes: float = Field(
        default=0.0, ge=0, description="10^9 bytes that must stay free on the store's disk"
    )
    store_gigabytes: float | None = Field(
        default=None, gt=0, description="10^9 bytes that the objects of the store may have together"
    )
    gpu_hours: float | None = Field(
        default=None,
        ge=0,
        description="hours of all GPUs together that one run of snakemake may take; jobs that "
        "have begun when it is reached end",
    )


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


class VectorMaps(Section):
    """Maps of an encoder's vectors in the report: samples of a corpus, test sets beside them."""

    of: list[str] | None = Field(
        default=None,
        description="`<encoder>/<corpus>` of each map; when absent what the audits embed, with "
        "their test sets beside it; []: none",
    )
    samples: int = Field(
        default=2000, ge=1, le=20_000, description="images of the corpus on a map, at most"
    )
    test_samples: int = Field(
        default=100, ge=0, le=2000, description="images of each test set beside them, at most"
    )
    seed: int = Field(default=0, ge=0, description="of the samples, and of where they lie")


class Report(Section):
    """What the report and the galleries show."""

    title: str = Field(default="Training data audit", description="heading of the report")
    pictures: bool = Field(
        default=True,
        description="whether pictures of the corpora may be shown; if not, placeholders with the "
        "samples' uids stand in galleries and pages; captions and spotted words stay",
    )
    samples: int = Field(
        default=200,
        ge=0,
        description="pages of single samples at most, of those that galleries show",
    )
    maps: VectorMaps = Field(
        default=VectorMaps(), description="maps of an encoder's vectors of samples"
    )


class SharedStore(Section):
    """A store that several people use: what one has computed, the others take."""

    path: str = Field(description="its folder: what is there is taken instead of computed")
    write: bool = Field(
        default=False, description="whether what is computed here is also put there, for others"
    )
    trusted_writers: list[str] | None = Field(
        default=None,
        description="user names whose results are taken; when absent, those of everybody whom the "
        "permissions of the folder let write there",
    )


class Software(Section):
    """Which pinned environment jobs get by `snakemake --sdm conda` or `--sdm apptainer`."""

    environment: Literal["cpu", "gpu"] = Field(
        default="cpu", description="which file of envs/ `--sdm conda` installs, for all rules alike"
    )
    container: str | None = Field(
        default=None,
        description="the image that `--sdm apptainer` runs jobs in, as built by envs/Dockerfile or "
        "envs/clipaudit.def; its environment counts, not the one above",
    )
