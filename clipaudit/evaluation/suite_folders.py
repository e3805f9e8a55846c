"""Reads the folder of a suite's task, in CLIP_benchmark's webdataset form, without its images.

    classnames.txt                               one class per line, in label order
    zeroshot_classification_templates.txt        one prompt per line, {c} for the class
    dataset_type.txt                             retrieval; missing: classification
    test/nshards.txt, test/0.tar, test/1.tar...  samples of an image and .cls, or .txt

A retrieval set has no classes and no prompts; each line of its .txt is a caption. In sets with
groups, each sample has an .npy, a vector whose first number is its group.
"""

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.classes import read_classes
from clipaudit.corpora.reasons import BAD_CAPTION, NO_CAPTION, NO_LABEL, Unusable
from clipaudit.corpora.shards import RawSample, raw_samples
from clipaudit.errors import InputError
from clipaudit.evaluation.suite_tasks import SuiteTask

CLASS_FILE = "classnames.txt"
TEMPLATE_FILE = "zeroshot_classification_templates.txt"
KIND_FILE = "dataset_type.txt"
NO_GROUP, BAD_GROUP = "no .npy with the group", "unusable .npy"

T = TypeVar("T")


class TaskSamples(NamedTuple):
    """The shards of a task, and the address and label or captions of each of their samples."""

    shards: list[tuple[int, Path]]
    addresses: pa.Table  # shard, row: int32, ascending
    targets: list[Any]  # of each sample its label, or its list of captions


def require_kind(task: SuiteTask, folder: Path) -> None:
    """Raise InputError if the folder has a set of another kind than the task's."""
    path = folder / KIND_FILE
    kind = _read(path).strip().lower() if path.exists() else "classification"
    if kind != task.kind:
        raise InputError(
            f"{path}: says {kind!r}, but {task.title} is a task of {task.kind}. A missing file "
            f"means classification. Put the folder of wds/{task.folder} there."
        )


def read_names(folder: Path) -> list[str]:
    """Return the class names, in label order, stripped as clip_benchmark does."""
    return [name.strip() for name in read_classes(folder / CLASS_FILE)]


def read_templates(folder: Path) -> list[str]:
    """Return the prompts, one or more, with `{c}` for the class."""
    path = folder / TEMPLATE_FILE
    templates = [line.strip() for line in _read(path).splitlines()]
    for number, template in enumerate(templates, 1):
        if not _is_template(template):
            raise InputError(
                f"{path}: line {number} is {template!r}. Write one prompt per line, with {{c}} "
                "for the class, and no other brace."
            )
    if not templates:
        raise InputError(
            f"{path}: the file is empty. Write one prompt per line, {{c}} for the class."
        )
    return templates


def _is_template(template: str) -> bool:
    try:
        return template.format(c="class") != template.format(c="other")
    except (LookupError, ValueError, AttributeError):
        return False


def read_labels(folder: Path, classes: Sequence[str]) -> TaskSamples:
    """Return the samples with their labels; raise InputError for one not in `classes`."""
    labels = Captioning("class", classes=tuple(classes))
    return _read_set(folder, lambda raw: _found(labels.label(raw.members), NO_LABEL))


def read_groups(folder: Path) -> Int64[np.ndarray, " n"]:
    """Return the group of each sample; raise InputError for one without."""
    return np.array(_read_set(folder, _group).targets, np.int64)


def read_captions(folder: Path) -> TaskSamples:
    """Return the samples with their captions; raise InputError for one without."""
    return _read_set(folder, _caption_lines)


def _read_set(folder: Path, target: Callable[[RawSample], T]) -> TaskSamples:
    """Return the target of every sample, without decoding images."""
    shards = _shards(folder)
    addresses, targets = [], []
    for number, path in shards:
        for raw in raw_samples(path):
            try:
                if raw.fault is not None:
                    raise Unusable(raw.fault, raw.detail)
                targets.append(target(raw))
            except Unusable as error:
                raise InputError(
                    f"{path}: row {raw.row}, {raw.key}: {error}. A test set is used whole: fetch "
                    "this shard again."
                ) from error
            addresses.append((number, raw.row))
    if not addresses:
        raise InputError(f"{folder}: its {len(shards)} shards are empty. Fetch them again.")
    both = np.array(addresses, np.int32)
    return TaskSamples(shards, pa.table({"shard": both[:, 0], "row": both[:, 1]}), targets)


def _shards(folder: Path) -> list[tuple[int, Path]]:
    path = folder / "test" / "nshards.txt"
    text = _read(path).strip()
    if not text.isdecimal() or int(text) == 0:
        raise InputError(
            f"{path}: {text[:50]!r}, expected the number of shards. Write how many tars, 0.tar and "
            "on, are beside it."
        )
    return [(number, path.parent / f"{number}.tar") for number in range(int(text))]


def _group(raw: RawSample) -> int:
    """Return the group of a sample, the first number of its `.npy`."""
    stated = _found(raw.members.get("npy"), NO_GROUP)
    try:
        numbers = np.load(io.BytesIO(stated), allow_pickle=False).reshape(-1)
        group = int(numbers[0])
        if group != numbers[0] or group < 0:
            raise ValueError(f"{numbers[0]} is not the number of a group")
    except (ValueError, EOFError, LookupError, TypeError, OSError) as error:
        raise Unusable(BAD_GROUP, str(error)) from None
    return group


def _caption_lines(raw: RawSample) -> Sequence[str]:
    """Return the captions of a sample: the lines of `.txt`, as clip_benchmark cuts them."""
    try:
        lines = raw.members.get("txt", b"").decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise Unusable(BAD_CAPTION, f"not UTF-8 at byte {error.start}") from None
    return _found(lines or None, NO_CAPTION)


def _found(value: T | None, reason: str) -> T:
    if value is None:
        raise Unusable(reason)
    return value


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read: {error}. clip_benchmark_export_wds writes it."
        ) from error
