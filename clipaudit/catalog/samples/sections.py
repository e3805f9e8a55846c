"""One sample's fate in words: sentences that sum it up, and a table for each audit's part."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clipaudit.catalog.answer_forms import as_table
from clipaudit.plaintext import plain

Fate = Mapping[str, Any]  # as `sample_fate` returns it


@dataclass(frozen=True)
class Section:
    """A part of a sample's fate: what it is about, and its rows."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]]


def fate_lines(fate: Fate) -> Iterator[str]:
    """Yield a fate as text for a terminal: one line each, control characters spelt out."""
    for name, value in facts(fate):
        yield f"{name:<8}  {plain(value)}"
    yield ""
    for sentence in sentences(fate):
        yield plain(sentence)
    for section in sections(fate):
        yield ""
        yield section.title
        for line in as_table(section.columns, section.rows, terminal=False):
            yield f"  {line.rstrip()}"


def facts(fate: Fate) -> list[tuple[str, str]]:
    """Return what the index says of a sample, by name."""
    sample = fate["sample"]
    size = f"{sample['width']} x {sample['height']} pixels" if sample.get("width") else None
    if size:
        size += f", {sample['image_format']}, {sample['image_bytes']:,} bytes"
    found = {
        "sample": f"{sample['corpus']} {_place(sample)}",
        "uid": sample.get("uid"),
        "key": sample["key"],
        "caption": sample.get("caption"),
        "label": sample.get("label"),
        "picture": size,
        "shard": sample["shard_path"],
    }
    return [(name, str(value)) for name, value in found.items() if value is not None]


def sentences(fate: Fate) -> list[str]:
    """Return what became of a sample, a sentence for each audit that looked at it."""
    found = [f"Dropped by {drop['stage']}: {drop['reason']}." for drop in fate["drops"]]
    if fate["manifests"]:
        kept = sum(row["kept"] for row in fate["manifests"])
        found.append(f"Kept by {kept} of {len(fate['manifests'])} manifests.")
    crossed = [row for row in fate["nearest_tests"] if row["crossed"]]
    if crossed:
        most = max(crossed, key=lambda row: row["crossed"]["excess"])
        found.append(
            f"Crosses the gap of {', '.join(row['testset'] for row in crossed)}; "
            f"of {most['testset']} by {most['crossed']['excess']:.4f}."
        )
    if fate["nearest_train"]:
        near = max(fate["nearest_train"], key=lambda row: row["similarity"])
        found.append(
            f"A test image; nearest to it is {near['corpus']} {_place(near)} "
            f"at {near['similarity']:.4f} ({near['encoder']})."
        )
    if fate["memorization"]["set"]:
        found.append(f"In the memorization audit's set {fate['memorization']['set']}.")
    for row in fate["memorization"]["recalls"][:1]:
        if row["gap"] is not None:
            found.append(
                f"The model that trained on it recalls {row['gap']:+.2f} of its "
                f"{row['objects']} objects beyond the other (public set {row['public']}, "
                f"k = {row['k']})."
            )
    if fate["text"] and fate["text"]["words"]:
        words = fate["text"]["words"]
        found.append(
            f"{len(words['co'])} of {words['caption']} caption words stand in the picture, "
            f"which shows {_count(len(fate['text']['spans']), 'piece')} of text."
        )
    return found or ["No audit looked at it."]


def sections(fate: Fate) -> list[Section]:
    """Return the parts of a fate of which something is known."""
    memory, text = fate["memorization"], fate["text"] or {"spans": []}
    made = [
        _section("Drops", fate["drops"], "stage", "encoder", "reason", "detail"),
        Section(
            "Duplicates",
            ("encoder", "cluster", "removal similarity", "then leaves for", "would leave for it"),
            [_duplicate(row) for row in fate["duplicates"]],
        ),
        Section(
            "Nearest test images",
            ("encoder", "test set", "similarity", "image", "gap crossed", "of image", "by"),
            [_nearest(row) for row in fate["nearest_tests"]],
        ),
        _section("Nearest train samples", fate["nearest_train"],
                 "encoder", "corpus", "rank", "similarity", "shard", "row"),
        _section("Predictions", fate["predictions"],
                 "recipe", "manifest", "label", "predicted", "right_rank"),
        Section(
            "Manifests",
            ("manifest", "kind", "kept", "why not"),
            [(row["manifest"], row["kind"], "yes" if row["kept"] else "no", why_not(row))
             for row in fate["manifests"]],
        ),
        _section("Left out of a set", memory["excluded"], "reason", "detail"),
        _section("Objects", memory["objects"], "label", "name", "score", "box"),
        _section("Recall", memory["recalls"],
                 "recipe", "public", "k", "objects", "recall_a", "recall_b", "gap"),
        _section("Text in the picture", text["spans"], "text", "score"),
        Section(
            "Caption words in the picture",
            ("cut by", "caption words", "in the picture", "rate", "fuzzy rate"),
            [(name, words["caption"], " ".join(words["co"]), words["rate"], words["fuzzy_rate"])
             for name in ("words", "plain") if (words := text.get(name))],
        ),
        _section("Caption scores", fate["scores"],
                 "encoder", "raw", "all", "rsa", "co", "rsc", "random_all", "random_co"),
        _section("Clusters", fate["clusters"], "encoder", "cluster", "group"),
    ]  # fmt: skip
    return [section for section in made if section.rows]


def why_not(row: Mapping[str, Any]) -> str:
    """Return why a manifest does not keep a sample, with what it was compared with."""
    if row["kept"]:
        return ""
    if row["testset"] is not None:
        image = f"{row['testset']} {row['test_shard']}:{row['test_row']}"
        gap = "" if row["gap"] is None else f", its gap {row['gap']:.4f}"
        return f"{row['reason']}: {image} at {row['similarity']:.4f}{gap}"
    if row["duplicate_shard"] is not None:
        place = f"{row['duplicate_shard']}:{row['duplicate_row']}"
        near = "" if row["similarity"] is None else f" at {row['similarity']:.4f}"
        return f"{row['reason']} of {place}{near}"
    return str(row["reason"])


def _section(title: str, rows: Sequence[Mapping[str, Any]], *columns: str) -> Section:
    names = tuple(column.replace("_", " ") for column in columns)
    return Section(title, names, [[row[column] for column in columns] for row in rows])


def _duplicate(row: Mapping[str, Any]) -> tuple[object, ...]:
    first = row["repeats_sample"]
    others = " ".join(map(_place, row["repeated_by"]))
    more = row["repeats"] - len(row["repeated_by"])
    return (
        row["encoder"],
        row["cluster"],
        row["removal_similarity"],
        f"{_place(first)} {first['caption'] or ''}".strip() if first else None,
        f"{others} and {more} more" if more else others or None,
    )


def _nearest(row: Mapping[str, Any]) -> tuple[object, ...]:
    crossed = row["crossed"] or {}
    place = f"{crossed['test_shard']}:{crossed['test_row']}" if crossed else None
    return (
        row["encoder"],
        row["testset"],
        row["similarity"],
        f"{row['test_shard']}:{row['test_row']}",
        crossed.get("gap"),
        place,
        crossed.get("excess"),
    )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _place(row: Mapping[str, Any]) -> str:
    return f"{row['shard']}:{row['row']}"
