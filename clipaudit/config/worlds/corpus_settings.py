"""Settings that every kind of world shares."""

from typing import Annotated

from pydantic import Field, model_validator

from clipaudit.config.base import Section

Share = Annotated[float, Field(ge=0, le=1)]


class MadeCorpus(Section):
    """Settings of a corpus in every kind of world."""

    samples_per_shard: int = Field(
        default=500,
        ge=1,
        le=1_000_000,
        description="Images per shard; keys have six digits. 500: about 6 MB at 64 pixels.",
    )
    captioned: bool = Field(default=True, description="Write a caption (.txt) for each image.")
    labelled: bool = Field(default=False, description="Write the class number (.cls).")

    @model_validator(mode="after")
    def _says_something(self) -> "MadeCorpus":
        if not (self.captioned or self.labelled):
            raise ValueError(
                "captioned and labelled are both false, so nothing would say what an image "
                "shows; set one of them to true"
            )
        return self
