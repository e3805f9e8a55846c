"""Finds which field holds the captions of samples, from some of them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

# Names of JSON fields and columns that hold captions in data sets; the first one present is used
CAPTION_FIELDS = ("caption", "text", "TEXT", "prompt", "alt_text", "title", "description")
TXT = "txt"


class TextFields:
    """Counts the samples that have a caption, by its field.

    >>> seen = TextFields()
    >>> seen.add(None, {"text": "a cat", "id": "7"})
    >>> seen.caption, seen.captioned, seen.settings
    ('text', 1, {'captions': 'text', 'caption_field': 'text'})
    """

    def __init__(self, named: str | None = None) -> None:
        """Start without samples; `named`, if given, is the only field that may hold captions."""
        self.named = named
        self.texts = Counter[str]()  # samples with a text, by field

    def add(self, text: str | None, fields: Mapping[str, Any]) -> None:
        """Count a sample by its `.txt`, or without one by its JSON."""
        if text is not None and text.strip():
            self.texts[TXT] += 1
            return
        self.texts.update(
            name for name, held in fields.items() if isinstance(held, str) and held.strip()
        )

    @property
    def caption(self) -> str | None:
        """Return where captions are: "txt", or a field of the JSON; None if there are none."""
        names = (TXT, *CAPTION_FIELDS) if self.named is None else (self.named,)
        return next((name for name in names if self.texts[name]), None)

    @property
    def captioned(self) -> int:
        """Return how many samples have a caption there."""
        return self.texts[self.caption] if self.caption else 0

    @property
    def settings(self) -> dict[str, str]:
        """Return the caption settings of a corpus of such samples.

        A `.txt` is used if there is one; other samples may have a caption in a field.
        """
        if self.caption is None:
            return {"captions": "none"}
        names = CAPTION_FIELDS if self.named is None else (self.named,)
        field = next((name for name in names if self.texts[name]), None)
        named = {} if field in (None, TXT, "caption") else {"caption_field": field}
        return {"captions": "text", **named}
