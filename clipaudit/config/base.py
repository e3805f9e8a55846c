"""Define the base of every settings model: frozen, without unknown keys."""

from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

# A name becomes a folder of results/ and a part of file names.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]

T = TypeVar("T")


def _each_once(values: list[T]) -> list[T]:
    if len({repr(value) for value in values}) < len(values):  # 1 is a count, 1.0 a share of all
        raise ValueError(f"{', '.join(map(str, values))}; name each once")
    return values


# A list whose values count once each, such as the test sets of an average.
Distinct = Annotated[list[T], AfterValidator(_each_once)]


class Section(BaseModel):
    """The base of every section of the settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")
