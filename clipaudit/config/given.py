"""Settings for files of other tools with rows about a corpus's samples."""

from typing import ClassVar, Literal

from pydantic import Field, field_validator

from clipaudit.config.base import Section
from clipaudit.corpora.parts import expand_shards
from clipaudit.errors import ConfigError


class GivenRows(Section):
    """Files with rows about a corpus, and how rows are matched to its samples."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet",)

    files: str | list[str] = Field(
        description="their paths; `{0..3}` stands for a range (docs/imports.md)"
    )
    column: str = Field("key", description="the column, or field, that identifies the sample")
    join_on: Literal["key", "uid", "url"] = Field(
        "key", description="what the column holds; `url` is the one in the sample's JSON"
    )

    @field_validator("files")
    @classmethod
    def _are_of_a_known_kind(cls, files: str | list[str]) -> str | list[str]:
        try:
            paths = expand_shards(files)
        except ConfigError as error:
            raise ValueError(str(error)) from error
        for path in paths:
            if not path.endswith(cls.suffixes):
                raise ValueError(f"{path}: give files that end in {' or '.join(cls.suffixes)}")
        return files

    @property
    def paths(self) -> list[str]:
        """The paths of the files, in order."""
        return expand_shards(self.files)
