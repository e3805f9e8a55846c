"""Checks labels of a corpus against its classes, and maps them to other classes."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int32

from clipaudit.corpora.classes import read_classes
from clipaudit.corpora.drops import DROPS
from clipaudit.corpora.reasons import UNKNOWN_CLASS
from clipaudit.errors import InputError
from clipaudit.plaintext import plain
from clipaudit.suggestions import did_you_mean

_log = logging.getLogger(__name__)

_NEXT_STEP = (
    "name that list as its `labels`, and say by a `label_map` which classes each label stands for."
)


@dataclass(frozen=True)
class LabelSettings:
    """Which labels a corpus may have: the `used` ones, all if None; and its label map.

    The label map is lines, or True if these are in a file. With `whole`, the checked samples are a
    whole test set, and the settings do not say which labels it uses.
    """

    corpus: str
    used: Sequence[int] | None
    label_map: Sequence[int | str] | bool | None
    whole: bool = False

    def check(
        self,
        samples: pa.Table,
        classes: Path,
        mapped: Sequence[Path],
        drops: pa.Table | None = None,
    ) -> None:
        """Raise InputError for a label that is not one of the corpus's classes; log which occur.

        `classes` is the file of its class names. With a label map, `mapped` are the class names
        that it maps to, and its file; an invalid map also raises InputError. Among `drops`, those
        for the reason UNKNOWN_CLASS count. The labels of a `whole` test set must not be only the
        first few of many, each found about twice: labels of another list look like that.
        """
        count = len(read_classes(classes))
        labels = usable_labels(self.corpus, self.used, count)
        if self.label_map is not None:
            learned = read_classes(mapped[0])
            maps = {self.corpus: self.label_map}
            read_label_maps(maps, mapped[1:], labels={self.corpus: count}, learned=learned)
        unknown = (drops or DROPS.empty_table()).filter(pc.field("reason") == UNKNOWN_CLASS)
        if len(unknown):
            shard, row, detail = (unknown[c][0] for c in ("shard", "row", "detail"))
            raise _unknown(self.corpus, len(unknown), f"{shard}, row {row} ({detail})", labels)
        found = np.unique(require_labels(self.corpus, samples, labels))
        if self.whole and 1 < len(found) < count and found[-1] < len(found) <= len(samples) / 2:
            raise InputError(
                f"{self.corpus}: its labels are 0 to {found[-1]}, and none of its {len(samples)} "
                f"images has another one of the {count} classes. If they number another list, as "
                f"ObjectNet's 0 to 112 do, {_NEXT_STEP} If they are these classes, list them as "
                "`classes` of the corpus."
            )
        if len(found):
            _log.info(
                f"{self.corpus}: {len(found):,} of {count:,} classes occur, labels {found[0]} to "
                f"{found[-1]}"
            )


def usable_labels(corpus: str, used: Sequence[int] | None, classes: int) -> Int32[np.ndarray, " c"]:
    """Return the labels that a corpus may have, ascending: the `used` of its classes, or all.

    Raise InputError if `used` is empty or lists a number that is not a class.
    """
    labels = sorted(set(range(classes) if used is None else used))
    if not labels or labels[0] < 0 or labels[-1] >= classes:
        raise InputError(
            f"{corpus}: `classes` lists labels from {labels[:1]} to {labels[-1:]}, its label set "
            f"has {classes} classes, numbered from 0"
        )
    return np.array(labels, np.int32)


def require_labels(
    corpus: str, samples: pa.Table, labels: Int32[np.ndarray, " c"]
) -> Int32[np.ndarray, " n"]:
    """Return the label of each of the SAMPLES; raise InputError if one is not among `labels`."""
    own: Int32[np.ndarray, " n"]
    own = samples["label"].fill_null(-1).to_numpy().astype(np.int32)
    strange = np.flatnonzero(~np.isin(own, labels))
    if len(strange):
        shard, row, label = (samples[c][strange[0]] for c in ("shard", "row", "label"))
        stated = f"label {label}" if label.is_valid else "no label"
        raise _unknown(corpus, len(strange), f"{shard}, row {row} ({stated})", labels)
    return own


def _unknown(corpus: str, wrong: int, first: str, labels: Int32[np.ndarray, " c"]) -> InputError:
    return InputError(
        f"{corpus}: {wrong} samples have a label that is not one of its {len(labels)} classes, "
        f"{labels[0]} to {labels[-1]}; the first is shard {first}. Correct `labels` or `classes` "
        "of the corpus. If its labels number another list, as ImageNet-A's 0 to 199 do, "
        f"{_NEXT_STEP}"
    )


# --- label maps ----------------------------------------------------------------------------------


def read_label_map(
    corpus: str, lines: Sequence[int | str] | Path, *, labels: int, learned: Sequence[str]
) -> list[list[int]]:
    """Return for each label of a corpus the classes that it stands for: places in `learned`.

    Line n, of a file or of the settings, is for label n: numbers or names of classes, separated by
    `;`. Raise InputError for a file that cannot be read, for a number of lines other than `labels`,
    for an unknown or ambiguous class name, and for a class of two labels.

    >>> read_label_map("own", ["apple", "chair; 1"], labels=2, learned=["chair", "cat", "apple"])
    [[2], [0, 1]]
    """
    place = f"corpora.{corpus}.label_map"
    if isinstance(lines, Path):
        place, lines = f"{lines} ({place})", _lines(lines)
    if len(lines) != labels:
        raise InputError(
            f"{place}: {len(lines)} lines, but the corpus has {labels} classes. Write a line for "
            "each, in the order of its labels."
        )
    owners: dict[int, int] = {}
    found = [
        sorted({_class(f"{place}: label {label}", one, learned) for one in str(line).split(";")})
        for label, line in enumerate(lines)
    ]
    for label, classes in enumerate(found):
        for one in classes:
            if owners.setdefault(one, label) != label:
                raise InputError(
                    f"{place}: labels {owners[one]} and {label} both stand for class {one} "
                    f"({plain(learned[one])}), so a prediction of it is ambiguous. Keep it in only "
                    "one of them."
                )
    return found


def read_label_maps(
    maps: Mapping[str, Sequence[int | str] | bool],
    files: Sequence[Path],
    *,
    labels: Mapping[str, int],
    learned: Sequence[str],
) -> dict[str, list[list[int]]]:
    """Return the label maps of corpora, as `read_label_map` does.

    `maps` has the lines of each, or True if the next of `files` has them; `labels` has the number
    of labels of each corpus.
    """
    waiting = iter(files)
    return {
        name: read_label_map(
            name,
            lines if isinstance(lines, Sequence) else next(waiting),
            labels=labels[name],
            learned=learned,
        )
        for name, lines in maps.items()
    }


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: the label map cannot be read: {error}. Name a text file with one class per "
            "line, in the order of the labels."
        ) from error


def _class(place: str, text: str, learned: Sequence[str]) -> int:
    name = text.strip()
    if name.isdecimal() and int(name) < len(learned):
        return int(name)
    places = [number for number, each in enumerate(learned) if each.strip() == name]
    if len(places) == 1:
        return places[0]
    if places:
        numbers = " or ".join(map(str, places))
        raise InputError(f"{place}: {plain(name)!r} names the classes {numbers}. Give one number.")
    raise InputError(
        f"{place}: {plain(name)!r} is neither the name nor the number of one of {len(learned)} "
        f"classes.{did_you_mean(name, learned)} Separate several by `;`."
    )


def map_by_names(names: Sequence[str], learned: Sequence[str]) -> list[int] | None:
    """Return the places of `names` in `learned`, ascending, if there is exactly one such list.

    Some names of ImageNet have two classes; the order decides which one is meant.

    >>> map_by_names(["cat", "crane"], ["crane", "cat", "crane", "dog"])
    [1, 2]
    >>> map_by_names(["crane"], ["crane", "cat", "crane"]) is None
    True
    """
    first = _places(names, learned)
    last = _places(names[::-1], learned[::-1])
    mirrored = [len(learned) - 1 - place for place in reversed(last or [])]
    return first if first is not None and first == mirrored else None


def _places(names: Sequence[str], learned: Sequence[str]) -> list[int] | None:
    """Return the earliest places of `names` in `learned` that ascend."""
    waiting = iter(enumerate(learned))
    found = [next((at for at, each in waiting if each == name), None) for name in names]
    return None if None in found else found  # type: ignore[return-value]
