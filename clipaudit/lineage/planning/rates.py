"""Rates: the speed and output of rules, from records or as a user states them.

A time is the line `start + work / speed` through the observed executions of a rule with one model
on one kind of device: a CPU's rate is never used for a GPU. Rows and bytes belong to the rule,
whatever it ran on; the bytes of models belong to one architecture.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import linear_regression
from typing import Literal

from pydantic import Field, TypeAdapter, ValidationError

from clipaudit.config.base import Section
from clipaudit.config.loading import read_settings
from clipaudit.errors import ConfigError
from clipaudit.lineage.planning.observations import Observation


@dataclass(frozen=True)
class Line:
    """The cost of work: `start` for each job, and `slope` for each unit of its work."""

    start: float
    slope: float

    def at(self, work: float) -> float:
        """Return what a job of this much work takes."""
        return self.start + self.slope * work


@dataclass(frozen=True)
class Rate:
    """What jobs of a rule take, in seconds of a core or GPU; `records` is 0 if a user states it.

    `most_work` is the work of the largest recorded job; beyond it the line is extrapolated.
    """

    line: Line
    records: int
    most_work: float
    peak_memory_mb: int


class StatedRate(Section):
    """A rate that a user states for a rule."""

    model: str | None = Field(None, description="the architecture; any, when absent")
    device: Literal["cpu", "cuda"] = Field(description="measured device: one core or one GPU")
    per_second: float = Field(gt=0, description="units of its work per second of one core or GPU")
    bytes_each: float | None = Field(
        None, ge=0, description="bytes of its outputs per unit; from the records when absent"
    )

    def fits(self, model: str) -> bool:
        """Return whether the rate applies to this model."""
        return self.model in {None, model}


def line_through(points: Sequence[tuple[float, float]]) -> Line:
    """Return the least-squares line through (work, taken), which reproduces their sum.

    If the points do not determine start and slope, or one would be negative, it goes through 0.
    """
    works, taken = [work for work, _ in points], [each for _, each in points]
    if sum(works) == 0:
        return Line(sum(taken) / len(taken), 0.0)
    if max(works) > min(works):
        slope, start = linear_regression(works, taken)
        if slope >= 0 and start >= 0:
            return Line(start, slope)
    return Line(0.0, sum(taken) / sum(works))


def read_stated(path: Path) -> dict[str, list[StatedRate]]:
    """Return the rates in a user's YAML file, by rule; raise ConfigError for invalid ones."""
    content = read_settings(path)
    listed = {rule: [each] if isinstance(each, dict) else each for rule, each in content.items()}
    try:
        return TypeAdapter(dict[str, list[StatedRate]]).validate_python(listed)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
        raise ConfigError(
            f"{path}: the rates are invalid:\n  " + "\n  ".join(faults) + "\nA rule has `device` "
            "(cpu or cuda), `per_second`, and may have `model` and `bytes_each`."
        ) from error


class Rates:
    """The rates of rules, by model and device."""

    def __init__(
        self,
        observed: Iterable[Observation],
        stated: Mapping[str, Sequence[StatedRate]] | None = None,
    ) -> None:
        """Prefer stated rates to observed ones."""
        self._observed: dict[str, list[Observation]] = {}
        for each in observed:
            self._observed.setdefault(each.rule, []).append(each)
        self._stated = stated or {}
        self.time = cache(self._time)
        self.rows = cache(self._rows)
        self.bytes = cache(self._bytes)

    def stated_bytes(self, rule: str, model: str) -> float | None:
        """Return the stated bytes per unit of work."""
        stated = (each for each in self._stated.get(rule, ()) if each.fits(model))
        return next((each.bytes_each for each in stated if each.bytes_each is not None), None)

    def measured_on(self, rule: str, model: str) -> list[str]:
        """Return the kinds of devices that a rule was recorded on with a model, sorted."""
        return sorted({each.device or "cpu" for each in self._of(rule, model)})

    def _of(self, rule: str, model: str) -> list[Observation]:
        return [each for each in self._observed.get(rule, ()) if each.model == model]

    def _time(self, rule: str, model: str, device: str) -> Rate | None:
        """Return the rate of a rule; None if unknown.

        Old records of exact steps name no device and count as CPU records.
        """
        for each in self._stated.get(rule, ()):
            if each.device == device and each.fits(model):
                return Rate(Line(0.0, 1 / each.per_second), 0, 0.0, 0)
        own = [each for each in self._of(rule, model) if (each.device or "cpu") == device]
        if not own:
            return None
        return Rate(
            line_through([(each.work, each.device_seconds) for each in own]),
            len(own),
            max(each.work for each in own),
            max(each.peak_memory_mb for each in own),
        )

    def _rows(self, rule: str, kind: str) -> float:
        """Return the rows of an output per unit that it grows with; 1 if unknown."""
        given = [each.given[kind] for each in self._observed.get(rule, ()) if kind in each.given]
        grown = sum(each.rows_grow for each in given)
        return sum(each.rows for each in given) / grown if grown else 1.0

    def _bytes(self, rule: str, model: str | None, kind: str) -> Line | None:
        """Return the bytes of a kind of outputs, for one model or any; None if unknown."""
        seen = self._observed.get(rule, ()) if model is None else self._of(rule, model)
        given = [each.given[kind] for each in seen if kind in each.given]
        return line_through([(each.bytes_grow, each.bytes) for each in given]) if given else None
