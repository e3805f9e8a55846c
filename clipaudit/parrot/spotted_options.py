"""What the galleries of pictures with text are told besides their inputs."""

from dataclasses import dataclass
from typing import Literal

from clipaudit.parrot.tokens import Tokenization

What = Literal[
    "highest",  # raw score descending
    "parroting",  # the same of those with a co-embedded word: Table 14's order
    "repeating",  # RSC descending, of those with co-embedded text
    "distracted",  # RSA ascending, of those whose score rises without text
    "dependent",  # RSA descending, of those whose score falls without text
    "clustered",  # raw score descending in each cluster
]


@dataclass(frozen=True)
class ExampleList:
    """A list that is asked for: up to `count` pictures, of each of up to `clusters` clusters.

    `title` stands above it, `empty` in its place where no picture is in it.
    """

    what: What
    count: int
    title: str
    empty: str
    clusters: int = 0  # asked of "clustered" alone


@dataclass(frozen=True)
class TermOptions:
    """How text was erased from the pictures that a gallery explains, and how it is rendered."""

    radius: float
    dilation: float
    shorter_side: int
    side: int  # of the rendered picture, in pixels
    type_size: int
    fill: Literal["telea", "mean"] = "telea"


@dataclass(frozen=True)
class SpottedOptions:
    """What a gallery of some corpora shows, list by list.

    Its form: `captioned` (a caption and scores below each picture), `numbered` (a number and the
    score), `clusters` (a column for each) or `terms` (a row for each, of all that is made of it, as
    `terms` says). `filled` covers spotted text with colour, which is outlined otherwise.
    """

    corpora: tuple[str, ...]
    form: Literal["captioned", "numbered", "clusters", "terms"]
    lists: tuple[ExampleList, ...]
    tokenization: Tokenization
    filled: bool = False
    terms: TermOptions | None = None
