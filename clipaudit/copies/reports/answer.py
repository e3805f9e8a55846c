"""Answers from tables of verified copies whether test images are in the training data."""

from collections.abc import Iterator, Sequence

from clipaudit.copies.fixed import MOST
from clipaudit.plaindata import Row
from clipaudit.plaintext import plain
from clipaudit.reports.answers import CONTROL, Answer, Sentence, Tables, cannot, listed
from clipaudit.reports.layouts import MISSING, count, counted, fine_digits, measured, percent


def copies_answer(tables: Tables) -> Answer:
    """Return the answer of the copies audit, without the parts whose tables are missing."""
    rows = tables.get("copies_summary", ())
    return Answer(
        _headline(rows) if rows or not tables.get("copies_within") else _ONLY_REPEATS,
        (*_of_tests(rows), *_repeats(tables), *_recall(tables)),
        ("Test set", "Images", "With a copy", "Of them, %"),
        tuple(
            (
                plain(row["testset_title"]),
                count(row["images"]),
                count(row["with_copy"]),
                _share(row, "share"),
            )
            for row in rows
        ),
        "A copy is the same image, re-encoded, resized or edited. Every candidate pair was checked "
        f"by its pixels.{_of_largest(rows)}",
    )


_ONLY_REPEATS = "No test set is named, so only repeats were searched for."


def _of_largest(rows: Sequence[Row]) -> str:
    if len(rows) < 2 or not any(row["with_copy"] for row in rows):
        return ""
    return (
        " The answer names the largest share of several; its interval allows for that choice, and "
        "is wider than the one in this table."
    )


def _headline(rows: Sequence[Row]) -> str:
    if not rows:
        return cannot("no test set was searched for")
    if not rows[0]["searched"]:
        return cannot("no training image could be read")
    unread = [row["testset_title"] for row in rows if not row["images"]]
    if len(unread) == len(rows):
        return cannot(f"no image of {listed(unread)} could be read")
    limit = f"; no image of {listed(unread)} could be read" if unread else ""
    found = [row for row in rows if row["with_copy"]]
    if not found:
        where = " in the sample that was searched" if rows[0]["is_sampled"] else ""
        titles = listed([row["testset_title"] for row in rows if row["images"]])
        return f"No copy of an image of {titles} was found{where}{limit}."
    most = max(found, key=lambda row: row["share"])
    others = [row["testset_title"] for row in found if row is not most]
    return (
        f"Yes: {_least(most)}{count(most['with_copy'])} of {counted(most['images'], 'image')} of "
        f"{plain(most['testset_title'])} {_verb(most['with_copy'], 'has', 'have')} a copy in the "
        f"training data, {measured(most, 'share', bounds='largest', unit=' %')}"
        f"{f'; so do images of {listed(others)}' if others else ''}{limit}."
    )


def _unread(title: str, table: str) -> Sentence:
    text = f"{plain(title)}: no image could be read, so none was compared."
    return Sentence(text, table, "Limit")


def _verb(number: int, one: str, several: str) -> str:
    return one if number == 1 else several


def _least(row: Row) -> str:
    """Return "at least " for a count that is a lower bound, as not all pairs were compared."""
    return "at least " if row["is_sampled"] or row["crowded"] else ""


def _of_tests(rows: Sequence[Row]) -> Iterator[Sentence]:
    kinds = {
        "identical_bytes": "identical bytes",
        "identical_pixels": "identical pixels",
        "resized": "re-encoded or resized",
        "edited": "edited",
    }
    for row in rows:
        if not row["images"]:
            yield _unread(row["testset_title"], "copies_summary")
            continue
        parts = [f"{count(row[name])} {kind}" for name, kind in kinds.items() if row[name]]
        what = f" ({', '.join(parts)})" if parts else ""
        yield Sentence(
            f"{plain(row['testset_title'])}: {_least(row)}{count(row['with_copy'])} of "
            f"{counted(row['images'], 'image')} {_verb(row['with_copy'], 'has', 'have')} a "
            f"copy{what}; {counted(row['training_images'], 'training image')} "
            f"{_verb(row['training_images'], 'is a copy', 'are copies')} of them.",
            "copies_summary",
        )
        if row["crowded"]:
            yield Sentence(
                f"{plain(row['testset_title'])}: {counted(row['crowded'], 'training image')} "
                f"{_verb(row['crowded'], 'resembles', 'resemble')} {MOST} test images or more. "
                f"Each was compared with the {MOST} nearest, so more test images may have a copy.",
                "copies_summary",
                "Limit",
            )
    if any(row["is_sampled"] for row in rows):
        yield Sentence(
            f"Only a random sample of {count(rows[0]['searched'])} training images was searched; "
            "the others may hold further copies.",
            "copies_summary",
            "Sample",
        )


def _repeats(tables: Tables) -> Iterator[Sentence]:
    for row in tables.get("copies_within", ()):
        if not row["images"]:
            yield _unread(row["corpus_title"], "copies_within")
            continue
        kind = "sampled " if row["is_sampled"] else ""
        more = " in the sample" if row["is_sampled"] else ""
        share = percent(row["share"], digits=max(1, fine_digits(row["share"])))
        yield Sentence(
            f"{count(row['repeats'])} of {counted(row['images'], f'{kind}image')} of "
            f"{plain(row['corpus_title'])} {_verb(row['repeats'], 'repeats', 'repeat')} another "
            f"one{more}, {share} %{_largest(row)}.",
            "copies_within",
            "Repeats",
        )


def _largest(row: Row) -> str:
    return f"; the largest group has {count(row['largest'])}" if row["repeats"] else ""


def _recall(tables: Tables) -> Iterator[Sentence]:
    """Yield the control of each method: which made copies it finds, and what else it calls copies.

    An edit is named as missed if, at one of its strengths, certainly less than half are found.
    """
    others = {row["method"]: row for row in tables.get("copies_thresholds", ())}
    rows = [row for row in tables.get("copies_calibration", ()) if row["verified"] is not None]
    for whole in (row for row in rows if row["position"] is None):
        missed = [
            row["transformation"]
            for row in rows
            if row["method"] == whole["method"]
            and row["position"] is not None
            and row["verified_share_high"] < 0.5
        ]
        edits = ", ".join(dict.fromkeys(missed))
        tail = f" It misses more than half at some strengths of these edits: {edits}."
        yield Sentence(
            f"Of {count(whole['copies'])} copies that were made on purpose, "
            f"{plain(whole['method_title'])} finds {_share(whole, 'verified_share')}"
            f".{tail if missed else ''}{_called(others.get(whole['method']))}",
            "copies_calibration",
            CONTROL,
        )


def _called(row: Row | None) -> str:
    """Return how many pairs of different images a method calls copies, if they were compared."""
    if row is None or not row["negative_pairs"] or row["verified_false_positives"] is None:
        return ""
    called = f"{count(row['verified_false_positives'])} copies"
    return (
        f" Of {count(row['negative_pairs'])} pairs of different images it calls "
        f"{called if row['verified_false_positives'] else 'none a copy'}."
    )


def _share(row: Row, name: str) -> str:
    """Return a share in percent, with its interval; MISSING for a set without images."""
    return measured(row, name, unit=" %") or MISSING
