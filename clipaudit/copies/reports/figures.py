"""The figures of the copies audit: the share of each test set found, and the calibration."""

from clipaudit.config.settings import Settings
from clipaudit.copies.manifests import searched_sets
from clipaudit.copies.reports.tables import (
    KINDS,
    calibration_files,
    methods,
    pair_files,
    sample_notes,
)
from clipaudit.copies.settings import Copies
from clipaudit.reports.specification import (
    ReportFigure,
    ReportTable,
    corpus_rows,
    part_files,
    titled,
)

STAGES = titled("stage", [("found", "candidate"), ("verified", "candidate, verified by pixels")])


def copies_figures(run: Settings) -> dict[str, ReportFigure]:
    """Return the figures that the settings ask for, by name."""
    audit = run.section(Copies)
    if audit is None:
        return {}
    shares = {"copies_shares": _shares(run, audit)} if searched_sets(run, audit) else {}
    found = {"copies_recall": _recall(run, audit), "copies_trade_off": _trade_off(run, audit)}
    return {**shares, **found}


def _shares(run: Settings, audit: Copies) -> ReportFigure:
    tests, train = searched_sets(run, audit), run.title(audit.train)
    inputs = {
        "images": part_files(run, "images", tests),
        "copies": pair_files(run, audit),
    }
    relations = {"testsets": corpus_rows(run, "testset", tests), "kinds": KINDS}
    caption = (
        f"Images of each test set that have a copy in {train} (%): the same image, "
        "re-encoded, resized or edited. 95 % intervals are exact, with equal test images as one "
        "draw."
    )
    return ReportFigure(
        ReportTable("copies_shares", inputs, relations, {"title": train}),
        "dots",
        " ".join([caption, *sample_notes(run, audit)]),
        {"x_label": "images with a copy (%)", "scale": "percent", "empty": "no images"},
        f"How much of each test set is in {train}",
    )


def _recall(run: Settings, audit: Copies) -> ReportFigure:
    relations = {"methods": methods(run, audit), "stages": STAGES}
    inputs = {"calibration": calibration_files(audit, "copies")}
    return ReportFigure(
        ReportTable("copies_recall", inputs, relations),
        "dots",
        "Copies that were made on purpose and found again (%), by transformation. "
        "Exact 95 % intervals.",
        {"x_label": "found (%)", "scale": "percent", "empty": "no threshold was chosen"},
        "Made copies that are found again, by transformation",
    )


def _trade_off(run: Settings, audit: Copies) -> ReportFigure:
    inputs = {"thresholds": calibration_files(audit, "thresholds")}
    return ReportFigure(
        ReportTable("copies_trade_off", inputs, {"methods": methods(run, audit)}),
        "trade_off",
        "Made copies found, and false candidates per million pairs of different images, at every "
        "threshold. A mark shows the threshold in use.",
        {"empty": "nothing was calibrated"},
        title="Made copies found against false candidates",
    )
