"""Define the base of every settings model: frozen, without unknown keys."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

# A name becomes a folder of results/ and a part of file names.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]


class Section(BaseModel):
    """The base of every section of the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")
