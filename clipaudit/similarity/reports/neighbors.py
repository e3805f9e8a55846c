"""Defines the similarity audit's tables of neighbours and of pruned samples.

These are Tables 2, 5, 6 and 7, what deduplication keeps, and the check of gap pruning.
"""

from collections.abc import Mapping

from clipaudit.config.deduplication import Deduplication
from clipaudit.config.manifests import ALL, DEDUPLICATED
from clipaudit.config.settings import Settings
from clipaudit.reports.specification import (
    ReportTable,
    corpus_rows,
    encoder_files,
    encoder_title,
    manifest_files,
    members,
    numbered,
    part_files,
)
from clipaudit.similarity.prunings import base, kept_searches, large_prunings, pruned, web
from clipaudit.similarity.settings import Similarity
from clipaudit.steps import paths


def near_duplicates(run: Settings, audit: Similarity) -> ReportTable:
    """Return Table 2: test images with a near duplicate in either train set."""
    return ReportTable(
        sql="similarity_table2",
        inputs={
            "neighbors": _neighbors_of_both(audit),
            "encoder_checks": _encoder_checks(audit, audit.encoder),
            "calibrated": calibrated(audit),
        },
        relations={"testsets": corpus_rows(run, "testset", audit.test_sets)},
        parameters={
            **_corpora(run, audit),
            "large_title": run.title(audit.large),
            "near_duplicate_distance": audit.given_distance,
        },
        notes=[_threshold(run, audit)],
    )


def _threshold(run: Settings, audit: Similarity) -> str:
    """Return the note on the source of the threshold of near duplicates."""
    if audit.given_distance is not None:
        return f"The threshold, {audit.given_distance:g}, is from this run's settings."
    title = encoder_title(run, audit.encoder)
    return f"The calibration of {title} chose the threshold in this run."


def encoders(run: Settings, audit: Similarity) -> ReportTable:
    """Return the table of whether the encoders distinguish the images of the test sets."""
    names = [audit.encoder, *audit.other_encoders]
    return ReportTable(
        sql="similarity_encoders",
        inputs={
            "encoder_checks": [path for name in names for path in _encoder_checks(audit, name)]
        },
        relations={
            "encoders": numbered(
                {"encoder": name, "title": encoder_title(run, name)} for name in names
            ),
            "testsets": corpus_rows(run, "testset", audit.test_sets),
        },
    )


def other_encoders(run: Settings, audit: Similarity) -> ReportTable:
    """Return Table 5: similarity to the small set, and pruned samples, by each other encoder."""
    names, first = [audit.encoder, *audit.other_encoders], encoder_title(run, audit.encoder)
    pruning = names if audit.compare_prunings else []
    base_members = members(run, web(audit)) if pruning else []
    return ReportTable(
        sql="similarity_table5",
        inputs={
            "neighbors": [paths.neighbors(name, small_of(audit)) for name in names],
            "similarities": encoder_files(run, "similarities", pruning, [audit.large]),
            "drops": encoder_files(run, "drops/embed", pruning, [audit.large]),
            "manifest_rows": manifest_files(run, base_members),
        },
        relations={
            "testsets": corpus_rows(run, "testset", audit.test_sets),
            "others": numbered(
                {"encoder": name, "title": f"{first} and {encoder_title(run, name)}"}
                for name in audit.other_encoders
            ),
        },
        parameters={"encoder": audit.encoder, "small_title": run.title(small_of(audit))},
    )


def near_gap(run: Settings, audit: Similarity) -> ReportTable:
    """Return Table 6: train samples just outside the gap, in the pruned large and the small set."""
    titles = {**_corpora(run, audit), "large_title": web_title(run, audit)}
    return around_gap(run, audit, "similarity_table6", {**titles, "near_gap": audit.near_gap})


def around_gap(
    run: Settings, audit: Similarity, sql: str, parameters: Mapping[str, object]
) -> ReportTable:
    """Return a table of the small set's samples, and of those pruned to each test set's gaps."""
    manifests = {name: pruned(web(audit), f"{name}-pruned") for name in audit.test_sets}
    made_of = [member for manifest in manifests.values() for member in members(run, manifest)]
    return ReportTable(
        sql=sql,
        inputs={
            "neighbors": [paths.neighbors(audit.encoder, small_of(audit))],
            "similarities": part_files(
                run, f"similarities/{audit.encoder}", [audit.large, small_of(audit)]
            ),
            "manifest_rows": manifest_files(run, made_of),
        },
        relations={
            "testsets": corpus_rows(run, "testset", audit.test_sets),
            "members": made_of,
            "pruned": [
                {"testset": name, "manifest": manifest} for name, manifest in manifests.items()
            ],
        },
        parameters=parameters,
    )


def nearer(run: Settings, audit: Similarity) -> ReportTable:
    """Return Table 7: test images whose nearest neighbour is in the large, not the small set."""
    whole = {"corpus": audit.large, "title": run.title(audit.large), "search": ALL}
    train_sets, searched = [whole], []
    start = base(audit)
    if start != ALL:
        title = web_title(run, audit)
        train_sets.append({"corpus": web(audit), "title": title, "search": start})
        searched.append(paths.kept_neighbors(audit.encoder, start, audit.large))
    return ReportTable(
        sql="similarity_table7",
        inputs={"neighbors": _neighbors_of_both(audit), "kept_neighbors": searched},
        relations={
            "testsets": corpus_rows(run, "testset", audit.test_sets),
            "train_sets": numbered(train_sets),
        },
        parameters=_corpora(run, audit),
    )


def deduplication(run: Settings, audit: Similarity, settings: Deduplication) -> ReportTable:
    """Return how many samples deduplication keeps, at the chosen threshold and at others."""
    thresholds = sorted({settings.threshold, *settings.sweep})
    return ReportTable(
        sql="similarity_deduplication",
        inputs={
            "duplicates": [
                paths.duplicates(audit.encoder, audit.large, group)
                for group in settings.groups(len(run.parts(audit.large)))
            ]
        },
        parameters={"thresholds": thresholds, "chosen": settings.threshold},
    )


def gap_check(run: Settings, audit: Similarity) -> ReportTable:
    """Return the check of gap pruning: no kept sample may be nearer than the gap."""
    prunings = [name.partition(".")[2] for name in large_prunings(audit).gaps]
    searches = kept_searches(audit)
    return ReportTable(
        sql="similarity_gap_check",
        inputs={
            "neighbors": [paths.neighbors(audit.encoder, small_of(audit))],
            "kept_neighbors": [
                paths.kept_neighbors(audit.encoder, name, audit.large) for name in prunings
            ],
        },
        relations={
            "searches": [
                {"position": position, "search": name, "testset": test_set}
                for position, name in enumerate(prunings)
                for test_set in searches[name].test_sets
            ],
            "testsets": corpus_rows(run, "testset", audit.test_sets),
        },
    )


def _encoder_checks(audit: Similarity, encoder: str) -> list[str]:
    return [paths.encoder_check(encoder, name) for name in audit.test_sets]


def calibrated(audit: Similarity) -> list[str]:
    """Return what the calibration of the encoder chose; nothing if a distance is given."""
    return [] if audit.given_distance is not None else [paths.calibration_thresholds(audit.encoder)]


# --- the set that prunings start from -------------------------------------------------------------


def neighbors_in_web(audit: Similarity) -> str:
    """Return the nearest samples in the set that prunings start from (LAION-200M)."""
    if base(audit) == ALL:
        return paths.neighbors(audit.encoder, audit.large)
    return paths.kept_neighbors(audit.encoder, base(audit), audit.large)


def web_title(run: Settings, audit: Similarity) -> str:
    """Return the title in tables of the set that prunings start from."""
    title, start = run.title(audit.large), base(audit)
    if start == ALL:
        return title
    if start == DEDUPLICATED and audit.deduplication is not None and audit.deduplication.title:
        return audit.deduplication.title
    return f"{title}, {start.replace('-', ' ')}"


def train_sets(audit: Similarity) -> list[str]:
    """Return the corpora that test images are compared with: the large one, and the small one."""
    return [audit.large] if audit.small is None else [audit.large, audit.small]


def small_of(audit: Similarity) -> str:
    """Return the small corpus of an audit that needs one."""
    assert audit.small is not None, "what compares with the small set is left out without one"
    return audit.small


def _neighbors_of_both(audit: Similarity) -> list[str]:
    return [paths.neighbors(audit.encoder, corpus) for corpus in train_sets(audit)]


def _corpora(run: Settings, audit: Similarity) -> dict[str, object]:
    return {
        "large": audit.large,
        "small": audit.small,
        "small_title": None if audit.small is None else run.title(audit.small),
    }
