"""Reads class names: one per line of a text file; the line number, from 0, is the label."""

from dataclasses import dataclass
from pathlib import Path

from clipaudit.corpora.captions import Captioning, Source
from clipaudit.errors import InputError


def read_classes(path: Path) -> tuple[str, ...]:
    """Return the class names of a file, in label order; names may repeat, lines may not be empty.

    Raise InputError for a file that is missing, empty, not UTF-8, or has an empty line.
    """
    try:
        names = tuple(path.read_text(encoding="utf-8-sig").splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: the class names cannot be read: {error}. Name a text file with one class "
            "name per line, in label order."
        ) from error
    empty = [number for number, name in enumerate(names, 1) if not name.strip()]
    if empty or not names:
        what = f"line {empty[0]} is empty" if empty else "the file is empty"
        raise InputError(f"{path}: {what}. Write one class name per line, in label order.")
    return names


@dataclass(frozen=True)
class CaptionSettings:
    """How the captions and labels of a corpus are read, by the settings."""

    source: Source
    template: str | None
    needs_label: bool
    field: str = Captioning.field
    may_lack: bool = False

    @property
    def needs_caption(self) -> bool:
        """Return whether a sample needs a caption."""
        return self.source != "none" and not self.may_lack

    def captioning(self, classes: Path | None) -> Captioning:
        """Return how captions are made, with the class names of a file if there are labels."""
        names = read_classes(classes) if classes else ()
        return Captioning(self.source, self.template or Captioning.template, names, self.field)
