"""Compute the share of captions' words that appear in their images, from texts."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64

from clipaudit.corpora.given_lists import listed, refuse_flat, refuse_others
from clipaudit.errors import InputError
from clipaudit.parrot.tokens import TOKENIZATIONS, Tokenization, tokens


def cotr(
    captions: Sequence[str | float | None],
    texts: Sequence[Sequence[str]],
    *,
    tokenization: Tokenization = "words",
) -> Float64[np.ndarray, " n"]:
    """Return the co-embedded text rate of each image; NaN if its caption has no words.

    It is the share of the caption's distinct words that also appear in the image (Lin et al.,
    ECCV 2024, Algorithm 1: https://arxiv.org/abs/2312.14232). `texts` are the lines read in each
    image, as a list; an image without text has []. A caption that is None or NaN, as in pandas, is
    missing. Raises InputError if the numbers of both differ, and for anything but texts.

    >>> cotr(["Red SALE today", "a cat", None], [["sale", "50 %"], [], ["cat"]]).round(3).tolist()
    [0.333, 0.0, nan]
    """
    _refuse_other_values(captions, texts, tokenization)
    if len(captions) != len(texts):
        raise InputError(
            f"{len(captions)} captions, but the texts of {len(texts)} images; give one for each"
        )
    rates = np.full(len(captions), np.nan)
    for at, (caption, lines) in enumerate(zip(captions, texts, strict=True)):
        words = set(tokens(caption, tokenization)) if isinstance(caption, str) else set()
        if words:
            rates[at] = len(words & set(tokens(" ".join(lines), tokenization))) / len(words)
    return rates


def _refuse_other_values(
    captions: object, texts: Sequence[Sequence[str]], tokenization: str
) -> None:
    if tokenization not in TOKENIZATIONS:
        known = ", ".join(TOKENIZATIONS)
        raise InputError(f"tokenization: {tokenization!r} is none of {known}; give one of these")
    given = [[] if _is_missing(each) else [each] for each in listed(captions, "captions")]
    refuse_others(given, "captions", kind=str, expected="a text, or None if there is no caption")
    refuse_flat(texts, "texts", holds="the texts in it")
    refuse_others(texts, "texts", kind=str, expected="only texts")


def _is_missing(caption: object) -> bool:
    """Return whether a caption is None, or the NaN that pandas has for it."""
    return caption is None or (isinstance(caption, float) and math.isnan(caption))
