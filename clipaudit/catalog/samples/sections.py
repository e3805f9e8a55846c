"""Describe one sample's fate: summary sentences, and a table for each audit's part."""

from collections.abc import Iterator

from clipaudit.catalog.answer_forms import as_table
from clipaudit.catalog.parts import audit_parts
from clipaudit.catalog.samples.catalog import Address
from clipaudit.catalog.samples.forms import Beside, Fate, Section, place, section
from clipaudit.plaindata import Row
from clipaudit.plaintext import many, plain

SHOWN_BESIDE = 6


def fate_lines(fate: Fate) -> Iterator[str]:
    """Yield the lines of a fate for a terminal, with control characters spelt out."""
    for name, value in facts(fate):
        yield f"{name:<8}  {plain(value)}"
    yield ""
    for sentence in sentences(fate):
        yield plain(sentence)
    for part in sections(fate):
        yield ""
        yield part.title
        for line in as_table(part.columns, part.rows, terminal=False):
            yield f"  {line.rstrip()}"


def facts(fate: Fate) -> list[tuple[str, str]]:
    """Return the index's facts about a sample, by name."""
    sample = fate["sample"]
    size = f"{sample['width']} x {sample['height']} pixels" if sample.get("width") else None
    if size:
        size += f", {sample['image_format']}, {sample['image_bytes']:,} bytes"
    found = {
        "sample": f"{sample['corpus']} {place(sample)}",
        "uid": sample.get("uid"),
        "key": sample["key"],
        "caption": sample.get("caption"),
        "label": sample.get("label"),
        "image": size,
        "shard": sample["shard_path"],
    }
    return [(name, str(value)) for name, value in found.items() if value is not None]


def sentences(fate: Fate) -> list[str]:
    """Return a sample's fate in sentences, from each audit that looked at it."""
    found = [f"Dropped by {drop['stage']}: {drop['reason']}." for drop in fate["drops"]]
    if fate["manifests"]:
        kept = sum(row["kept"] for row in fate["manifests"])
        found.append(f"Kept by {kept} of {many(len(fate['manifests']), 'manifest')}.")
    for part in audit_parts(fate):
        found += part.sentences(fate)
    return found or ["No audit looked at this sample."]


def shown_beside(fate: Fate) -> list[Beside]:
    """Return the samples whose images are shown beside a sample's: the first six, each once."""
    found: dict[Address, list[str]] = {}
    for part in audit_parts(fate):
        for each in part.beside(fate):
            found.setdefault(each.address, []).append(each.words)
    shown = [Beside(address, "; ".join(words)) for address, words in found.items()]
    return shown[:SHOWN_BESIDE]


def sections(fate: Fate) -> list[Section]:
    """Return the non-empty parts of a fate."""
    made = [
        section("Drops", fate["drops"], "stage", "encoder", "reason", "detail"),
        Section(
            "Nearest in its cluster",  # a duplicate only at thresholds below the similarity
            ("encoder", "cluster", "removal similarity", "nearest", "nearest of"),
            [_nearest(row) for row in fate["duplicates"]],
        ),
        Section(
            "Manifests",
            ("manifest", "kind", "kept", "why not"),
            [(row["manifest"], row["kind"], "yes" if row["kept"] else "no", why_not(row))
             for row in fate["manifests"]],
        ),
        *(each for part in audit_parts(fate) for each in part.sections(fate)),
    ]  # fmt: skip
    return [each for each in made if each.rows]


def why_not(row: Row) -> str:
    """Return why a manifest removes a sample, with the compared sample or image."""
    if row["kept"]:
        return ""
    if row["testset"] is not None:
        image = f"{row['testset']} {row['test_shard']}:{row['test_row']}"
        gap = "" if row["gap"] is None else f", its gap {row['gap']:.4f}"
        return f"{row['reason']}: {image}{_at(row)}{gap}"
    if row["duplicate_shard"] is not None:
        return f"{row['reason']} of {row['duplicate_shard']}:{row['duplicate_row']}{_at(row)}"
    return str(row["reason"])


def _at(row: Row) -> str:
    """Return the similarity to what a sample was compared with; "" for a copy found without one."""
    return "" if row["similarity"] is None else f" at {row['similarity']:.4f}"


def _nearest(row: Row) -> tuple[object, ...]:
    first = row["repeats_sample"]
    others = " ".join(map(place, row["repeated_by"]))
    more = row["repeats"] - len(row["repeated_by"])
    return (
        row["encoder"],
        row["cluster"],
        row["removal_similarity"],
        f"{place(first)} {first['caption'] or ''}".strip() if first else None,
        f"{others} and {more} more" if more else others or None,
    )
