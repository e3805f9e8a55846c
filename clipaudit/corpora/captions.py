"""Reads a sample's caption and label, by the corpus's configuration.

Text corpora have one caption (`.txt`, else a field of the JSON, `caption` unless another is named),
or several (a list in the JSON, `captions` unless another is named, else the lines of `.txt`), like
COCO. Labelled ones have a class number (`.cls`, else `cls` or `label` in the JSON) from which a
caption can be made, "a photo of a {}" in Mayilvahanan et al. (https://arxiv.org/abs/2310.09562).
Standard library only.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from clipaudit.corpora.reasons import (
    BAD_CAPTION,
    BAD_JSON,
    BAD_LABEL,
    UNKNOWN_CLASS,
    Unusable,
)
from clipaudit.errors import ConfigError

Source = Literal["text", "texts", "class", "none"]

_MAX_LABEL = 2**31 - 1  # the column `label` is int32
_WHOLE = re.compile(rb"(-?[0-9]{1,18})(?:\.0{1,18})?")  # 7, or 7.0
_LINE_END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True)
class Captioning:
    """Where captions come from: "text", "texts", "class" (template and class names) or "none".

    >>> photos = Captioning("class", "a photo of a {}", ("cat", "dog"))
    >>> photos.caption({"cls": b"1"}), photos.label({"json": b'{"label": 0}'})
    ('a photo of a dog', 0)
    >>> Captioning("text").caption({"json": b'{"caption": "a red cat"}'})
    'a red cat'
    >>> Captioning("texts").captions({"txt": b"a red cat\\na cat"})
    ('a red cat', 'a cat')
    >>> Captioning("texts", field="sentences").captions({"json": b'{"sentences": ["a cat"]}'})
    ('a cat',)
    """

    source: Source = "text"
    template: str = "a photo of a {}"
    classes: tuple[str, ...] = ()
    field: str = "caption"  # of the JSON

    def __post_init__(self) -> None:
        """Raise ConfigError for settings that cannot caption any sample."""
        if self.source not in get_args(Source):
            raise ConfigError(
                f"captions from {self.source!r}: unknown source. Write text, texts, class or none."
            )
        if self.source == "class" and not self.classes:
            raise ConfigError("captions from class: no class names. List them in label order.")
        if self.source == "class" and re.findall(r"\{[^}]*\}?", self.template) != ["{}"]:
            raise ConfigError(
                f"caption template {self.template!r}: needs exactly one {{}} for the class name."
            )

    def caption(self, members: Mapping[str, bytes]) -> str | None:
        """Return the sample's unchanged caption, or None if it has none.

        A text of only white space is no caption (img2dataset writes an empty `.txt` for a missing
        one); `.txt` decides if it exists. Of several captions, the first of `captions` is returned.
        Raises Unusable for a text that is not UTF-8, and as `label` does if the caption is made
        from the class.
        """
        if self.source == "none":
            return None
        if self.source == "texts":
            return next(iter(self._texts(members)), None)
        if self.source == "class":
            label = self.label(members)
            return None if label is None else self.template.replace("{}", self.classes[label])
        text = (
            _text(members["txt"])
            if "txt" in members
            else _checked(json_object(members).get(self.field))
        )
        return text if text is not None and text.strip() else None

    def captions(self, members: Mapping[str, bytes]) -> tuple[str, ...]:
        """Return all unchanged captions of the sample, in order; () if it has none.

        Only the source "texts" has more than one: the entries of the list in the JSON's `field`, by
        default of `captions`, else of `caption` if that is a list; without one, the lines of
        `.txt`, which end at a line feed, a carriage return or both; by default without these, the
        only one is `caption`. Null and only white space are no captions. Raises Unusable as
        `caption` does, and if the field holds anything but a list or an entry is not text.
        """
        if self.source == "texts":
            return self._texts(members)
        caption = self.caption(members)
        return () if caption is None else (caption,)

    def _texts(self, members: Mapping[str, bytes]) -> tuple[str, ...]:
        listed = self._listed(json_object(members), has_lines="txt" in members)
        if listed is None:
            # not splitlines: a caption may contain a form feed or U+2028
            texts = _LINE_END.split(_text(members.get("txt", b"")))
        elif isinstance(listed, list):
            texts = [text for text in map(_checked, listed) if text is not None]
        else:
            raise Unusable(BAD_CAPTION, f"expected a list, found {type(listed).__name__}")
        return tuple(text for text in texts if text.strip())

    def _listed(self, fields: Mapping[str, Any], *, has_lines: bool) -> object:
        if self.field != Captioning.field:
            return fields.get(self.field)
        several, one = fields.get("captions"), fields.get("caption")
        if several is not None:
            return several
        if one is None or isinstance(one, list):
            return one
        return None if has_lines else [one]

    def label(self, members: Mapping[str, bytes]) -> int | None:
        """Return the sample's class number, or None if it has none.

        Raises Unusable for a label that is not an integer, and, if class names are known, for a
        number that none of them has.
        """
        if "cls" in members:
            stated: object = members["cls"].strip()
        else:
            fields = json_object(members)
            stated = fields.get("cls", fields.get("label"))
        if stated is None:
            return None
        limit = len(self.classes) if self.classes else _MAX_LABEL + 1
        label = _integer(stated)
        if not 0 <= label < limit:
            reason = UNKNOWN_CLASS if self.classes and label > 0 else BAD_LABEL
            raise Unusable(reason, f"{label} is outside 0 to {limit - 1}")
        return label


def json_object(members: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the sample's JSON, {} if it has none; raises Unusable.

    >>> json_object({"json": b"[1]"})
    Traceback (most recent call last):
    clipaudit.corpora.reasons.Unusable: bad json: expected an object, found list
    """
    if "json" not in members:
        return {}
    try:
        fields = json.loads(members["json"].decode("utf-8-sig"))  # as `json.loads` takes bytes
    except UnicodeDecodeError as error:
        raise Unusable(BAD_JSON, f"not UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:  # ValueError also: an integer of 10,000 digits
        place = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise Unusable(BAD_JSON, f"not JSON{place}") from None
    if not isinstance(fields, dict):
        raise Unusable(BAD_JSON, f"expected an object, found {type(fields).__name__}")
    return fields


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unusable(BAD_CAPTION, f"not UTF-8 at byte {error.start}") from None


def _checked(caption: object) -> str | None:
    """Raise Unusable unless this is a text that UTF-8 can encode (no unpaired surrogate)."""
    if caption is None:
        return None
    if not isinstance(caption, str):
        raise Unusable(BAD_CAPTION, f"expected a text, found {type(caption).__name__}")
    try:
        caption.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Unusable(BAD_CAPTION, f"unpaired surrogate at character {error.start}") from None
    return caption


def _integer(stated: object) -> int:
    """Return a label as a number; pandas writes 1.0 for 1 in a column that lacks some labels."""
    if isinstance(stated, int) and not isinstance(stated, bool):
        return stated
    text = stated if isinstance(stated, bytes) else str(stated).encode("utf-8", "replace")
    whole = _WHOLE.fullmatch(text)
    if whole is None:
        raise Unusable(BAD_LABEL, f"{text[:50]!r} is not an integer")
    return int(whole[1])
