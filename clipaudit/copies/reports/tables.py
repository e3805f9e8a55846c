"""The tables of the copies audit that the settings ask for."""

from clipaudit.config.settings import Settings
from clipaudit.copies.checks import left_out
from clipaudit.copies.fixed import HASH, MOST
from clipaudit.copies.kinds import COPIES
from clipaudit.copies.manifests import planted_sets, searched_sets
from clipaudit.copies.settings import Copies
from clipaudit.reports.specification import (
    RelationRow,
    ReportTable,
    corpus_rows,
    encoder_title,
    numbered,
    part_files,
)

LISTED_PAIRS, LISTED_GROUPS = 100, 20
KINDS = numbered({"kind": kind} for kind in COPIES)


def copies_tables(run: Settings) -> dict[str, ReportTable]:
    """Return the tables of the audit that the settings ask for, by name."""
    audit = run.section(Copies)
    if audit is None:
        return {}
    tables = {
        "copies_calibration": _calibration(run, audit),
        "copies_thresholds": _thresholds(run, audit),
    }
    if searched_sets(run, audit):
        tables |= {"copies_summary": _summary(run, audit), "copies_pairs": _pairs(run, audit)}
    if audit.repeats:
        tables |= {"copies_within": _within(run, audit), "copies_groups": _groups(audit)}
    if run.corpora[audit.train].world is not None and (planted_sets(run, audit) or audit.repeats):
        tables["copies_planted"] = _planted(run, audit)
    return tables


def pair_files(run: Settings, audit: Copies) -> list[str]:
    """Return the pointers of the pairs of all test sets and parts."""
    return [
        path
        for name in searched_sets(run, audit)
        for path in part_files(run, f"copies/{name}", [audit.train])
    ]


def methods(run: Settings, audit: Copies) -> list[RelationRow]:
    """Return the relation `methods`: position, method, title, and the threshold in the settings."""
    distance = None if isinstance(audit.distance, str) else float(audit.distance)
    given = {HASH: distance, **{name: audit.similarity.get(name) for name in audit.encoders}}
    return numbered(
        {
            "method": name,
            "title": name if name == HASH else encoder_title(run, name),
            "given": threshold,
        }
        for name, threshold in given.items()
    )


def calibration_files(audit: Copies, name: str) -> list[str]:
    """Return the pointers of the calibration of all methods: `copies` or `thresholds`."""
    folders = ["hash_calibration", *(f"calibration/{each}" for each in audit.encoders)]
    return [f"{folder}/{name}.json" for folder in folders]


def _summary(run: Settings, audit: Copies) -> ReportTable:
    tests = searched_sets(run, audit)
    return ReportTable(
        "copies_summary",
        {
            "images": part_files(run, "images", list(dict.fromkeys([audit.train, *tests]))),
            "copies": pair_files(run, audit),
            **_sample_file(audit),
        },
        {"testsets": corpus_rows(run, "testset", tests), "kinds": KINDS, **_no_sample(audit)},
        {"train": audit.train, "most": MOST},
        _notes(run, audit),
    )


def _pairs(run: Settings, audit: Copies) -> ReportTable:
    tests = searched_sets(run, audit)
    return ReportTable(
        "copies_pairs",
        {"copies": pair_files(run, audit)},
        {"testsets": corpus_rows(run, "testset", tests), "kinds": KINDS},
        {"shown": LISTED_PAIRS},
        _notes(run, audit),
    )


def _within(run: Settings, audit: Copies) -> ReportTable:
    return ReportTable(
        "copies_within",
        {
            "images": part_files(run, "images", [audit.train]),
            "groups": [f"repeat_groups/{audit.train}.json"],
            **_sample_file(audit),
        },
        _no_sample(audit),
        {"train": audit.train, "title": run.title(audit.train)},
        _notes(run, audit),
    )


def _sample_file(audit: Copies) -> dict[str, list[str]]:
    """Return the input that says how many of the training images were drawn, if any were."""
    return {} if audit.sample is None else {"searched": [f"searched/{audit.train}.json"]}


def _no_sample(audit: Copies) -> dict[str, list[RelationRow]]:
    """Return the relation in place of that input if no sample was drawn."""
    return {} if audit.sample is not None else {"searched": [{"searched": 0, "images": 0}]}


def _groups(audit: Copies) -> ReportTable:
    inputs = {"groups": [f"repeat_groups/{audit.train}.json"]}
    return ReportTable("copies_groups", inputs, {}, {"shown": LISTED_GROUPS})


def _planted(run: Settings, audit: Copies) -> ReportTable:
    tests = planted_sets(run, audit)
    searched = [*tests, audit.train] if audit.repeats else tests
    relations = {"searched_sets": corpus_rows(run, "testset", searched)}
    notes = []
    if audit.sample is not None:
        notes.append(
            f"Copies are planted among all images of {run.title(audit.train)}, and up to "
            f"{audit.sample} of these were searched: a copy outside this sample cannot be found."
        )
    inputs = {"planted": [f"planted_copies/{audit.train}.json"]}
    return ReportTable("copies_planted", inputs, relations, notes=notes)


def _calibration(run: Settings, audit: Copies) -> ReportTable:
    inputs = {"calibration": calibration_files(audit, "copies")}
    return ReportTable("copies_calibration", inputs, {"methods": methods(run, audit)})


def _thresholds(run: Settings, audit: Copies) -> ReportTable:
    inputs = {"thresholds": calibration_files(audit, "thresholds")}
    return ReportTable("copies_thresholds", inputs, {"methods": methods(run, audit)})


def _notes(run: Settings, audit: Copies) -> list[str]:
    """Return notes on what was left out: corpora without images, and the limits of a sample."""
    return [*left_out(run, audit), *sample_notes(run, audit)]


def sample_notes(run: Settings, audit: Copies) -> list[str]:
    """Return the note on the limits of a sample; none if all images are searched.

    How many images there are is not known before the run.
    """
    if audit.sample is None:
        return []
    train = run.title(audit.train)
    return [
        f"Up to {audit.sample} images of {train} were searched, drawn with seed {audit.seed}. If "
        f"{train} has more, counts of test images and of repeats are lower bounds, and intervals "
        "of training images that are copies are for the whole corpus."
    ]
