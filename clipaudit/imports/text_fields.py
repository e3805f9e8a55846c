"""Finds which field holds the captions of samples, from some of them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

# Names of JSON fields and columns that hold captions in data sets; the first one present is used
CAPTION_FIELDS = (
    *("caption", "text", "txt", "TEXT", "prompt", "alt_text", "title", "description"),
    "comment",  # of Kaggle's Flickr30k
)
TXT = ".txt"  # the file or member, not a field

# Names of those that hold a list of captions per image, as in COCO and Flickr30k. A list of another
# name, such as `text`, may be what is written in the image.
LIST_FIELDS = ("captions", "sentences", "caption")


class TextFields:
    """Counts the samples that have a caption, or a list of captions, by its field.

    >>> seen = TextFields()
    >>> seen.add(None, {"text": "a cat", "id": "7"})
    >>> seen.caption, seen.captioned, seen.settings
    ('text', 1, {'captions': 'text', 'caption_field': 'text'})
    >>> seen.add(None, {"sentences": ["a cat", "a red cat"]})
    >>> seen.caption, seen.captioned, seen.settings
    ('sentences', 1, {'captions': 'texts', 'caption_field': 'sentences'})
    """

    def __init__(self, named: str | None = None) -> None:
        """Start without samples; `named`, if given, is the only field that may hold captions.

        "txt" and ".txt" name the `.txt`, and else a field "txt", as the index reads them.
        """
        self.named = "txt" if named == TXT else named
        self.texts = Counter[str]()  # samples with a text, by field
        self.lists = Counter[str]()  # samples with a list of texts, by field

    def add(self, text: str | None, fields: Mapping[str, Any]) -> None:
        """Count a sample by the lists of its JSON, and by its `.txt` or else the JSON's texts.

        As in the index, a `.txt` decides even if it is blank.
        """
        self.lists.update(name for name, held in fields.items() if _has_texts(held))
        if text is None:
            self.texts.update(name for name, held in fields.items() if _is_text(held))
        elif text.strip():
            self.texts[TXT] += 1

    @property
    def several(self) -> str | None:
        """Return the field that holds lists of captions; None if there is none.

        Lists count if they are in half as many samples as single captions. Without single captions,
        fields of any of the names may hold them.
        """
        if self.named is not None:
            return self.named if self.lists[self.named] else None
        single = max(self.texts[name] for name in self._single)
        names = LIST_FIELDS if single else (*LIST_FIELDS, *CAPTION_FIELDS)
        held = (name for name in names if self.lists[name])
        return next((name for name in held if 2 * self.lists[name] >= single), None)

    @property
    def caption(self) -> str | None:
        """Return where captions are: ".txt", or a field of the JSON; None if there are none."""
        return self.several or next((name for name in self._single if self.texts[name]), None)

    @property
    def captioned(self) -> int:
        """Return how many samples have a caption there, or by `settings` in the other place."""
        if self.several is not None:
            return self.lists[self.several]
        places = {name for name in (TXT, self._field) if name in self._single}
        return sum(self.texts[name] for name in places)

    @property
    def found(self) -> list[str]:
        """Return all fields with texts or lists of texts, the most frequent first."""
        return [name for name, _ in (self.texts + self.lists).most_common()]

    @property
    def settings(self) -> dict[str, str]:
        """Return the caption settings of a corpus of such samples.

        Lists of captions come first. A `.txt` is used if there is one; other samples may have a
        caption in a field.
        """
        if self.caption is None:
            return {"captions": "none"}
        if self.several is not None:
            named = {} if self.several == "captions" else {"caption_field": self.several}
            return {"captions": "texts", **named}
        field = self._field
        named = {} if field in (None, "caption") else {"caption_field": field}
        return {"captions": "text", **named}

    @property
    def _field(self) -> str | None:
        """Return the field of single captions, for samples without a `.txt`; None if none."""
        return next((name for name in self._single if name != TXT and self.texts[name]), None)

    @property
    def _single(self) -> tuple[str, ...]:
        """Return where single captions may be, the first place first."""
        if self.named is None:
            return (TXT, *CAPTION_FIELDS)
        return (TXT, "txt") if self.named == "txt" else (self.named,)


def _is_text(held: object) -> bool:
    return isinstance(held, str) and bool(held.strip())


def _has_texts(held: object) -> bool:
    return isinstance(held, list) and any(map(_is_text, held))
