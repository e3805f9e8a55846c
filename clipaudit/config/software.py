"""The settings of the software that jobs run with, where Snakemake deploys it."""

from typing import Literal

from pydantic import Field

from clipaudit.config.base import Section


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
