"""Imports CLIP_benchmark's webdatasets as test sets: shards, class names and prompts, in place."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clipaudit.errors import InputError
from clipaudit.evaluation.suite_folders import (
    CLASS_FILE,
    KIND_FILE,
    TEMPLATE_FILE,
    TaskSamples,
    read_captions,
    read_labels,
    read_names,
    read_templates,
)
from clipaudit.imports.blocks import Imported, file_patterns, part_size
from clipaudit.plaintext import many


def import_clip_benchmark(folder: Path, name: str, *, label_set: str | None = None) -> Imported:
    """Return the blocks of test set `name`, and of its label set unless it is a retrieval set.

    Every sample is read: each must have a label among the classes, or captions. The label set has
    the test set's name unless another is given; sets of the same classes and prompts share one.
    Raise InputError for an incomplete folder.
    """
    kind = _kind(folder)
    if kind == "retrieval":
        samples = read_captions(folder)
        captions = sum(len(texts) for texts in samples.targets)
        shards, parts = _shards(samples)
        corpus = {**shards, "captions": "texts"}
        note = f"{_counted(samples)}, {many(captions, 'caption')}"
        return Imported({"corpora": {name: corpus}}, [note, parts])
    classes, templates = read_names(folder), read_templates(folder)
    samples = read_labels(folder, classes)
    labels = label_set or name
    used = len(set(samples.targets))
    note = f"{_counted(samples)}, {used:,} of {len(classes):,} classes occur, "
    note += many(len(templates), "prompt")
    named = {"classes": str(folder / CLASS_FILE), "templates": _prompts(folder, templates)}
    shards, parts = _shards(samples)
    corpus = {**shards, "captions": "none", "labels": labels}
    return Imported({"label_sets": {labels: named}, "corpora": {name: corpus}}, [note, parts])


def _kind(folder: Path) -> str:
    """Return the kind that the folder states; a missing file means classification."""
    path = folder / KIND_FILE
    try:
        kind = path.read_text(encoding="utf-8").strip().lower() if path.exists() else None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}. Fetch it again.") from error
    if kind not in (None, "classification", "zeroshot_classification", "retrieval"):
        raise InputError(
            f"{path}: says {kind[:50]!r}; classification and retrieval can be imported."
        )
    return kind or "classification"


def _prompts(folder: Path, templates: Sequence[str]) -> list[str]:
    """Return prompts with `{}` for the class, as in the settings, instead of `{c}`."""
    for number, template in enumerate(templates, 1):
        if template.count("{c}") != 1 or template.count("{") != 1:
            raise InputError(
                f"{folder / TEMPLATE_FILE}: line {number} is {template!r}; a prompt has {{c}}, the "
                "class, exactly once. Remove the line in a copy of the folder."
            )
    return [template.replace("{c}", "{}") for template in templates]


def _shards(samples: TaskSamples) -> tuple[dict[str, Any], str]:
    """Return the settings that name the shards, and a line about their parts."""
    size, note = part_size(len(samples.shards), len(samples.targets))
    patterns = file_patterns([str(path) for _, path in samples.shards])
    return {"shards": patterns, "shards_per_part": size}, note


def _counted(samples: TaskSamples) -> str:
    return f"{many(len(samples.shards), 'shard')}, {many(len(samples.targets), 'sample')}"
