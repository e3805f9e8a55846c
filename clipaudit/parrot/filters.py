"""Filters by captions and sizes: DataComp's basic filter, and a text-based one.

Gadre et al., NeurIPS 2023, Sec. 3.2 and App. F: https://arxiv.org/abs/2304.14108. There both also
require English captions, which is not checked here. Sizes are of images as they were downloaded.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float64

from clipaudit.corpora.statements import is_finite
from clipaudit.errors import InputError
from clipaudit.parrot.tokens import tokens

FEW_WORDS, FEW_CHARACTERS = 2, 5  # of a caption that the basic filter refuses
LEAST_SIDE, MOST_ASPECT = 200, 3  # of an image that it keeps; the side in pixels
FILTERED = {  # the condition on a sample, by the kind of its curation
    "basic": f"over {FEW_WORDS} words, originally {LEAST_SIDE} pixels or more, aspect up to "
    f"{MOST_ASPECT}",
    "text": "a caption that names one of the given words",
}
NO_GIVEN_WORD = "names none of the given words"

Refusal = tuple[Bool[np.ndarray, " n"], str]  # which rows of a part's base are refused; why
Phrases = Mapping[str, Sequence[tuple[str, ...]]]  # the words of each phrase, by the first word


def basic_refusals(
    captions: Sequence[str | None],
    height: Float64[np.ndarray, " n"],
    width: Float64[np.ndarray, " n"],
) -> list[Refusal]:
    """Return the samples that DataComp's basic filter refuses by original size, by reason."""
    words = np.array([len((caption or "").split()) for caption in captions], np.int64)
    characters = np.array([len(caption or "") for caption in captions], np.int64)
    shorter, longer = np.minimum(height, width), np.maximum(height, width)
    return [
        (words <= FEW_WORDS, f"caption of {FEW_WORDS} words or fewer"),
        (characters <= FEW_CHARACTERS, f"caption of {FEW_CHARACTERS} characters or fewer"),
        (~(shorter >= LEAST_SIDE), f"a side below {LEAST_SIDE} pixels"),
        (longer > MOST_ASPECT * shorter, f"aspect above {MOST_ASPECT}"),
    ]


def original_sides(
    height: Float64[np.ndarray, " n"],
    width: Float64[np.ndarray, " n"],
    jsons: Sequence[str | None],
) -> tuple[Float64[np.ndarray, " n"], Float64[np.ndarray, " n"]]:
    """Return heights and widths as downloaded, by the samples' JSON; else the given ones.

    img2dataset, which usually resizes, states them as `original_height` and `original_width`.

    >>> stated = ['{"original_height": 90, "original_width": 400}', '{"original_height": 90}']
    >>> original_sides(np.full(2, 256.0), np.full(2, 256.0), stated)
    (array([ 90., 256.]), array([400., 256.]))
    """
    sides = np.stack([height, width])  # (2, n)
    for at, text in enumerate(jsons):
        fields = json.loads(text) if text else {}
        own = [fields.get(f"original_{side}") for side in ("height", "width")]
        if all(is_finite(value) and value > 0 for value in own):
            sides[:, at] = own
    return sides[0], sides[1]


def text_refusal(captions: Sequence[str | None], phrases: Phrases) -> Refusal:
    """Return the samples whose caption names none of the phrases."""
    named = [names_any(caption or "", phrases) for caption in captions]
    return ~np.array(named, bool), NO_GIVEN_WORD


def names_any(caption: str, phrases: Phrases) -> bool:
    """Return whether a caption contains the words of a phrase, in order and adjacent.

    >>> names_any("A Red-Fox!", phrases_of(["red fox", "cat"]))
    True
    """
    words = tokens(caption, "words")
    return any(
        tuple(words[at : at + len(phrase)]) == phrase
        for at, word in enumerate(words)
        for phrase in phrases.get(word, ())
    )


def phrases_of(lines: Iterable[str]) -> Phrases:
    """Return the phrases of some lines, each once; a line without words has none."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for phrase in dict.fromkeys(tuple(tokens(line, "words")) for line in lines):
        if phrase:
            found.setdefault(phrase[0], []).append(phrase)
    return found


def read_phrases(path: Path) -> Phrases:
    """Return the phrases of a UTF-8 text file with one phrase per line.

    Raises InputError for a file that cannot be read as such, or without a word.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:  # split at universal newlines only
            found = phrases_of(file)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read: {error}. Give a UTF-8 text file, one word or phrase per line."
        ) from error
    if not found:
        raise InputError(
            f"{path}: no line has a word. Name another file in parrot.curations.filter_words, or "
            "remove text from parrot.curations.filters."
        )
    return found
