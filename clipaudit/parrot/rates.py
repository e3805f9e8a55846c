"""Compute the share of captions' words that appear in their images, from texts."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64

from clipaudit.errors import InputError
from clipaudit.parrot.tokens import Tokenization, tokens


def cotr(
    captions: Sequence[str | None],
    texts: Sequence[Sequence[str]],
    *,
    tokenization: Tokenization = "words",
) -> Float64[np.ndarray, " n"]:
    """Return the co-embedded text rate of each image; NaN if its caption has no words.

    It is the share of the caption's distinct words that also appear in the image (Lin et al.,
    ECCV 2024, Algorithm 1: https://arxiv.org/abs/2312.14232). `texts` are the lines read in each
    image; an image without text has none. Raises InputError if the numbers of both differ.

    >>> cotr(["Red SALE today", "a cat", None], [["sale", "50 %"], [], ["cat"]]).round(3).tolist()
    [0.333, 0.0, nan]
    """
    if len(captions) != len(texts):
        raise InputError(
            f"{len(captions)} captions, but the texts of {len(texts)} images; give one for each"
        )
    rates = np.full(len(captions), np.nan)
    for at, (caption, lines) in enumerate(zip(captions, texts, strict=True)):
        words = set(tokens(caption or "", tokenization))
        if words:
            rates[at] = len(words & set(tokens(" ".join(lines), tokenization))) / len(words)
    return rates
