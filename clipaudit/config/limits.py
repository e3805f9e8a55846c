"""The settings of what a run may take: space in the store, hours of GPUs."""

from pydantic import Field

from clipaudit.config.base import Section


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
