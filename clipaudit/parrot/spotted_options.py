"""The options of the galleries of images with text."""

from dataclasses import dataclass
from typing import Literal

from clipaudit.parrot.tokens import Tokenization

What = Literal[
    "highest",  # raw score descending
    "parroting",  # raw score descending, of those with a co-embedded word: Table 14's order
    "repeating",  # RSC descending, of those with co-embedded text
    "distracted",  # RSA ascending, of those whose score rises without text
    "dependent",  # RSA descending, of those whose score falls without text
    "clustered",  # raw score descending in each cluster
]


@dataclass(frozen=True)
class ExampleList:
    """A requested list: up to `count` images, or as many from each of up to `clusters` clusters.

    `title` is above it; `empty` replaces it if it has no images.
    """

    what: What
    count: int
    title: str
    empty: str
    clusters: int = 0  # only for "clustered"


@dataclass(frozen=True)
class TermOptions:
    """Parameters of erasing text from the images that a gallery explains, and of rendering it."""

    radius: float
    dilation: float
    shorter_side: int
    side: int  # of the rendered image, in pixels
    type_size: int
    fill: Literal["telea", "mean"] = "telea"


@dataclass(frozen=True)
class SpottedOptions:
    """The contents of a gallery of some corpora, list by list.

    Its form: `captioned` (a caption and scores below each image), `numbered` (a number and the
    score), `clusters` (a column for each) or `terms` (a row for each image with those derived from
    it by the parameters `terms`). `filled` covers spotted text with colour instead of outlining it.
    """

    corpora: tuple[str, ...]
    form: Literal["captioned", "numbered", "clusters", "terms"]
    lists: tuple[ExampleList, ...]
    tokenization: Tokenization
    filled: bool = False
    terms: TermOptions | None = None
