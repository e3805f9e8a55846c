"""Settings of a run itself: its limits, caches and stores, and what it shows."""

from typing import Literal

from pydantic import Field

from clipaudit.config.base import Section
from clipaudit.remote.cache import DEFAULT_GIGABYTES


class Limits(Section):
    """Limits of a run. A run whose forecast is above a limit does not start."""

    keep_free_gigabytes: float = Field(
        default=0.0, ge=0, description="10^9 bytes that must stay free on the store's disk"
    )
    store_gigabytes: float | None = Field(
        default=None, gt=0, description="largest total of the store's objects, in 10^9 bytes"
    )
    gpu_hours: float | None = Field(
        default=None,
        ge=0,
        description="hours of all GPUs together that one run of snakemake may take; jobs that have "
        "started by then still finish",
    )


class Remote(Section):
    """The cache of shards named by URL. It never changes a result."""

    cache: str | None = Field(
        default=None,
        min_length=1,
        description="folder; `~` and `$VARIABLES`, such as $TMPDIR on a cluster's node, are "
        "expanded on the machine that reads; `cache` in the store when absent",
    )
    gigabytes: float = Field(
        default=DEFAULT_GIGABYTES,
        gt=0,
        description="size limit of the cache, in 10^9 bytes; ideally a part's shards fit (origin: "
        "32 of 1 GB, and some more)",
    )


class VectorMaps(Section):
    """Maps of an encoder's vectors in the report: samples of a corpus, and its test sets."""

    of: list[str] | None = Field(
        default=None,
        description="`<encoder>/<corpus>` of each map; when absent, what the audits embed, with "
        "their test sets; []: none",
    )
    samples: int = Field(
        default=2000, ge=1, le=20_000, description="most images of the corpus on a map"
    )
    test_samples: int = Field(
        default=100, ge=0, le=2000, description="most images of each test set on a map"
    )
    seed: int = Field(
        default=0, ge=0, lt=2**31, description="seed of the samples and their positions"
    )


class Report(Section):
    """What the report and the galleries show."""

    title: str = Field(default="Training data audit", description="heading of the report")
    pictures: bool = Field(
        default=True,
        description="whether images of the corpora may be shown; if not, galleries and pages show "
        "placeholders with the samples' uids, and still captions and spotted words",
    )
    samples: int = Field(
        default=200,
        ge=0,
        description="most pages of single samples, for samples that galleries show",
    )
    maps: VectorMaps = Field(
        default=VectorMaps(), description="maps of an encoder's vectors of samples"
    )


class SharedStore(Section):
    """A store that several people use: each takes results that others have computed."""

    path: str = Field(description="its folder; results found there are not computed again")
    write: bool = Field(
        default=False, description="whether to copy results computed here into it, for others"
    )
    trusted_writers: list[str] | None = Field(
        default=None,
        description="users whose results are taken; when absent, everyone with write permission "
        "for the folder",
    )


class Software(Section):
    """The pinned environment of jobs under `snakemake --sdm conda` or `--sdm apptainer`."""

    environment: Literal["cpu", "gpu"] = Field(
        default="cpu", description="the file of envs/ that `--sdm conda` installs, for all rules"
    )
    container: str | None = Field(
        default=None,
        description="the image that `--sdm apptainer` runs jobs in, as built by envs/Dockerfile or "
        "envs/clipaudit.def; its environment replaces the one above",
    )
