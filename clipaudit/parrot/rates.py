"""How much of captions stands in their pictures, from texts alone."""

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
    """Return the co-embedded text rate of each picture: NaN where its caption has no words.

    That is the share of the caption's distinct words that stand in the picture too (Lin et al.,
    ECCV 2024, Algorithm 1: https://arxiv.org/abs/2312.14232). `texts` are the lines that were read
    in each picture; a picture without text has none. Raise InputError unless both are as many.

    >>> cotr(["Red SALE today", "a cat", None], [["sale", "50 %"], [], ["cat"]]).round(3).tolist()
    [0.333, 0.0, nan]
    """
    if len(captions) != len(texts):
        raise InputError(
            f"{len(captions)} captions but the texts of {len(texts)} pictures; give one for each"
        )
    rates = np.full(len(captions), np.nan)
    for at, (caption, lines) in enumerate(zip(captions, texts, strict=True)):
        words = set(tokens(caption or "", tokenization))
        if words:
            rates[at] = len(words & set(tokens(" ".join(lines), tokenization))) / len(words)
    return rates
