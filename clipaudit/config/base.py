"""Define the base of every settings model: frozen, without unknown keys."""

import typing
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, model_validator

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

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _true_is_no_number(cls, content: object) -> object:
        """Reject `sample: yes`, of which Pydantic would make one sample."""
        for name, value in content.items() if isinstance(content, dict) else ():
            field = cls.model_fields.get(name)
            if isinstance(value, bool) and field and not _takes_bool(field.annotation):
                raise ValueError(f"{name}: expected a number or a text, found {str(value).lower()}")
        return content


def _takes_bool(annotation: Any) -> bool:  # noqa: ANN401
    return annotation in (bool, Any) or any(map(_takes_bool, typing.get_args(annotation)))
