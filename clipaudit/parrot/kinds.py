"""The kinds of curated sets, by what they ask of a sample."""

from typing import Literal

Kind = Literal[
    "random",
    "without-text",
    "with-text",
    "cotr",
    "rsa",
    "rsc",
    "debiased",
    "top-score",
    "top-masked",
    "top-stated",
    "basic",
    "text",
]
TOP: dict[str, str] = {
    "top-score": "highest score",
    "top-masked": "highest masked score",
    "top-stated": "highest stated score",
}
