"""Run a plug-in's spotter and check its results."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import UInt8

from clipaudit.corpora.statements import is_text
from clipaudit.errors import StepError
from clipaudit.parrot.spans import Span, Word, polygon_fault
from clipaudit.steps.plugins import Plugin

_SPANS = "a list of clipaudit.parrot.spans.Span"


class PluggedSpotter:
    """A plug-in's spotter, created when the step starts."""

    def __init__(
        self, plugin: Plugin, options: Mapping[str, Any], *, device: str, files: Sequence[str]
    ) -> None:
        """Create the spotter; `files` are the digests of the files that the options name."""
        self._plugin, self._options, self._files = plugin, dict(options), list(files)
        self._spotter = plugin.make(options, device=device)
        self._own = plugin.called("reading its recipe", self._recipe)

    @property
    def recipe(self) -> Mapping[str, object]:
        """The plug-in's identity, its options and their files, and its own recipe."""
        asked = {"options": self._options, "files": self._files, "own": self._own}
        return {"plugin": asdict(self._plugin), **asked}

    def _recipe(self) -> Mapping[str, object]:
        """Return the plug-in's own recipe; raises an error for what JSON lacks."""
        return dict(json.loads(json.dumps(dict(self._spotter.recipe), allow_nan=False)))

    def spot(self, pixels: UInt8[np.ndarray, "h w 3"]) -> list[Span]:
        """Return the text of an RGB image; raises StepError for anything but spans.

        The plug-in may raise Unusable for an image, which is then dropped.
        """
        found = self._plugin.called("spotting", lambda: self._spotter.spot(pixels))
        if not isinstance(found, list):
            raise self._plugin.fault(_SPANS, f"an object of type {type(found).__name__}")
        spans = []
        for each in found:
            if not isinstance(each, Span):
                raise self._refusal(f"an item of type {type(each).__name__}", each)
            span = self._plugin.called("checking its spans", partial(_plain, each))
            fault = _fault(span)
            if fault:
                raise self._refusal(fault, each)
            spans.append(span)
        return spans

    def _refusal(self, fault: str, item: object) -> StepError:
        return self._plugin.fault(_SPANS, f"{fault}: {repr(item)[:200]}")


def _plain(span: Span) -> Span:
    """Return a span of Python's own numbers, which a plug-in may give as those of a library."""
    words = span.words and tuple(Word(word.text, _floats(word.polygon)) for word in span.words)
    return Span(span.text, float(span.score), _floats(span.polygon), words)


def _floats(polygon: Iterable[Any]) -> tuple[float, ...]:
    return tuple(map(float, polygon))


def _fault(span: Span) -> str | None:
    words = span.words or ()
    if not all(map(is_text, [span.text, *(word.text for word in words)])):
        return "a text that is no valid string"
    if not 0 <= span.score <= 1:
        return "a score outside 0 to 1"
    polygons = [span.polygon, *(word.polygon for word in words)]
    return next((fault for fault in map(polygon_fault, polygons) if fault), None)
