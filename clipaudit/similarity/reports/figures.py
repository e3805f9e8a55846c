"""Defines the figures of the similarity audit: their tables, and how these are drawn.

There is one `ReportFigure` per figure of the paper, or per part of one if its panels show different
tables: `similarity_fig3_left` and `similarity_fig3`, `similarity_fig6_right` and
`similarity_fig6`. The caption names models that are not trained; a figure without models is left
out.

Figure 3 (left) shows the set that prunings start from, LAION-200M, and a model trained on it.
Figures 6, 11 and 12 (right) show the whole large set, LAION-400M, and `large_model`, or a model
trained on that set. Differences: the paper's Figure 3 (left) shows LAION-200M in its text and
LAION-400M in its caption; here it follows the text. A bin includes its lower edge and not its upper
one; the last one includes everything from 1 on. Histograms have bins of 0.01, accuracies the
paper's of 0.05. The gaps of Figure 14 are those to the small set, as for Table 6.
"""

from collections.abc import Sequence
from dataclasses import replace

from clipaudit.config.pictures import left_out
from clipaudit.config.settings import Settings
from clipaudit.errors import ConfigError
from clipaudit.reports.answers import listed
from clipaudit.reports.specification import (
    ReportFigure,
    ReportTable,
    corpus_rows,
    encoder_title,
    prediction_files,
    titled,
)
from clipaudit.similarity.checks import evaluated
from clipaudit.similarity.prunings import web
from clipaudit.similarity.reports.accuracies import in_grid, of_first_seed
from clipaudit.similarity.reports.evidence import Model
from clipaudit.similarity.reports.neighbors import (
    around_gap,
    neighbors_in_web,
    small_of,
    train_sets,
    web_title,
)
from clipaudit.similarity.reports.pruning_figures import (
    curves_beside,
    curves_of_queries,
    curves_of_sets,
    dose_response,
)
from clipaudit.similarity.settings import Pair, Similarity
from clipaudit.steps import paths

ACCURACY_BINS = 20  # per unit of similarity: bins of 0.05, the paper's
HISTOGRAM_BINS = 100  # finer: a bin only needs a count

_NEAREST = "similarity to the nearest image"


def similarity_figures(run: Settings) -> dict[str, ReportFigure]:
    """Return the figures of the audit that the settings ask for, by name, in the paper's order.

    Raise ConfigError if a pair of sets would get the name of another figure.
    """
    audit = run.section(Similarity)
    if audit is None:
        return {}
    first = audit.shown_first
    rest = [name for name in audit.test_sets if name not in first]
    trains = audit.recipe is not None
    found: dict[str, ReportFigure | None] = {}
    if trains:
        found["fig3_left"] = _of_web(run, audit, first)
    if audit.near_far is not None and trains:
        found["fig3"] = curves_of_queries(run, audit, audit.near_far)
    found["fig4"] = _histograms(run, audit, first)
    if rest:
        found["fig6"] = _histograms(run, audit, rest)
        if trains or audit.large_model is not None:
            whole = paths.neighbors(audit.encoder, audit.large)
            found["fig6_right"] = _of_whole(run, audit, rest, whole)
    if audit.near_far is not None and trains:
        found["fig7"] = curves_of_sets(
            run, audit, audit.near_far, audit.test_sets, "every test set"
        )
        if audit.control_sets:
            found["fig8"] = curves_of_sets(
                run, audit, audit.near_far, audit.control_sets, "control sets"
            )
        if audit.supervised is not None:
            for name, y in (("fig9", "accuracy"), ("fig10", "relative_change")):
                found[name] = curves_beside(run, audit, audit.near_far, audit.supervised, y)
    for name, pair in audit.pairs.items():
        for figure, made in _pair(run, audit, name, pair).items():
            if figure in found:
                raise ConfigError(
                    f"similarity.pairs.{name}: its figure would be similarity_{figure}, which "
                    "already exists; give the pair another name"
                )
            found[figure] = made
    for place, name in enumerate(audit.other_encoders):
        figure = f"fig13_{name}" if place else "fig13"
        if figure in found:
            raise ConfigError(
                f"similarity.other_encoders: the figure of {name} would be similarity_{figure}, "
                "which already exists; give the encoder or the pair another name"
            )
        found[figure] = _encoders(run, audit, name)
    if audit.small is not None:
        found["fig14"] = _normalized(run, audit)
    if audit.dose_response is not None:
        found["dose_response"] = dose_response(run, audit, audit.dose_response)
    return {
        f"similarity_{name}": _with_notes(run, audit, figure)
        for name, figure in found.items()
        if figure is not None
    }


def _with_notes(run: Settings, audit: Similarity, figure: ReportFigure) -> ReportFigure:
    """Add notes to a figure of accuracies: which seed it shows, and which images are missing."""
    shows = "predictions" in figure.table.inputs
    notes = [*of_first_seed(audit), *left_out(run)] if shows else []
    return replace(figure, caption=" ".join([figure.caption, *notes]))


# --- similarity of test images -------------------------------------------------------------------


def _histograms(run: Settings, audit: Similarity, test_sets: Sequence[str]) -> ReportFigure:
    """Return Figure 4 or 6: the similarity of test images to the train sets."""
    corpora = train_sets(audit)
    titles = [run.title(corpus) for corpus in corpora]
    return _two_histograms(
        run,
        test_sets,
        [paths.neighbors(audit.encoder, corpus) for corpus in corpora],
        list(zip(("large", "small"), titles, strict=False)),
        f"Similarity of test images to their nearest images in {' and in '.join(titles)}.",
        f"How similar {listed([run.title(name) for name in test_sets])} are to "
        f"{' and to '.join(titles)}",
    )


def _encoders(run: Settings, audit: Similarity, other: str) -> ReportFigure:
    """Return Figure 13: the similarity of test images to the small set under two encoders."""
    titles = [encoder_title(run, name) for name in (audit.encoder, other)]
    return _two_histograms(
        run,
        audit.test_sets,
        [paths.neighbors(name, small_of(audit)) for name in (audit.encoder, other)],
        [("encoder", titles[0]), ("other_encoder", titles[1])],
        f"Similarity of test images to their nearest images in {run.title(small_of(audit))} under "
        "two encoders.",
        f"How similar test images are to {run.title(small_of(audit))}, "
        f"by {' and by '.join(titles)}",
    )


def _two_histograms(
    run: Settings,
    test_sets: Sequence[str],
    neighbors: Sequence[str],
    series: Sequence[tuple[str, str]],
    caption: str,
    title: str,
) -> ReportFigure:
    """Return a histogram for each test set and each of one or two files of neighbours."""
    table = ReportTable(
        sql="similarity_histograms",
        inputs={"first_neighbors": neighbors[:1], "second_neighbors": neighbors[1:]},
        relations={
            "testsets": corpus_rows(run, "testset", test_sets),
            "series": titled("series", series),
        },
        parameters={"bins": HISTOGRAM_BINS},
    )
    options = {"x_label": _NEAREST, "y": "share"}
    caption = f"{caption} Bins of {1 / HISTOGRAM_BINS}."
    return ReportFigure(table, "histograms", caption, options, title)


def _of_web(run: Settings, audit: Similarity, test_sets: Sequence[str]) -> ReportFigure | None:
    """Return Figure 3 (left): a model of the set that prunings start from, by similarity to it."""
    assert audit.recipe is not None, "figures of accuracies are left out without a recipe"
    model, title = (audit.recipe, web(audit)), web_title(run, audit)
    who = f"a model trained on {title}"
    return _correlations(run, audit, test_sets, model, neighbors_in_web(audit), who, title)


def _of_whole(
    run: Settings, audit: Similarity, test_sets: Sequence[str], neighbors: str
) -> ReportFigure | None:
    """Return Figure 6, 11 or 12 (right): a model of the whole large set, by similarity to it."""
    title = run.title(audit.large)
    if audit.large_model is not None:
        model = (paths.PRETRAINED, audit.large_model)
        who = f"the released model {encoder_title(run, audit.large_model)}"
    else:
        assert audit.recipe is not None, "these figures are left out without a model"
        model, who = (audit.recipe, audit.large), f"a model trained on {title}"
    return _correlations(run, audit, test_sets, model, neighbors, who, title)


def _correlations(
    run: Settings,
    audit: Similarity,
    test_sets: Sequence[str],
    model: Model,
    neighbors: str,
    who: str,
    title: str,
) -> ReportFigure | None:
    """Return the accuracy of a model by the similarity of test images to a train set."""
    if not in_grid(run, audit, *model):
        return None
    table = ReportTable(
        sql="similarity_correlation",
        inputs={
            "neighbors": [neighbors],
            "predictions": prediction_files([model], evaluated(run, test_sets)),
        },
        relations={"testsets": corpus_rows(run, "testset", test_sets)},
        parameters={"bins": ACCURACY_BINS},
    )
    return ReportFigure(
        table,
        "correlations",
        f"Zero-shot accuracy of {who}, by the similarity of test images to "
        f"their nearest image in {title}: in bins of {1 / ACCURACY_BINS} with exact 95 % "
        "intervals, and as a logistic curve fitted to all images. \N{GREEK SMALL LETTER RHO} "
        "is Spearman's rank correlation of similarity and correctness over images.",
        {"x_label": f"{_NEAREST} of {title}", "empty": "no images"},
        f"Accuracy on {listed([run.title(name) for name in test_sets])} by similarity to {title}",
    )


def _pair(
    run: Settings, audit: Similarity, name: str, pair: Pair
) -> dict[str, ReportFigure | None]:
    """Return Figure 11 or 12: another small set and test set compared with the large set."""
    search = f"pair-{name}"
    in_large = paths.kept_neighbors(audit.encoder, search, audit.large)
    test, large, small = run.title(pair.test), run.title(audit.large), run.title(pair.small)
    histograms = _two_histograms(
        run,
        [pair.test],
        [in_large, paths.kept_neighbors(audit.encoder, search, pair.small)],
        [("large", large), ("small", small)],
        f"Similarity of {test} to the nearest images in {large} and in {small}.",
        f"How similar {test} is to {large} and to {small}",
    )
    found: dict[str, ReportFigure | None] = {f"fig{pair.figure}_{name}": histograms}
    if audit.recipe is not None or audit.large_model is not None:
        right = _of_whole(run, audit, [pair.test], in_large)
        found[f"fig{pair.figure}_{name}_right"] = right
    return found


def _normalized(run: Settings, audit: Similarity) -> ReportFigure:
    """Return Figure 14: how near train samples are to the similarity gap."""
    large, small = f"{web_title(run, audit)}, pruned", run.title(small_of(audit))
    parameters = {
        "large": audit.large,
        "small": audit.small,
        "large_title": large,
        "small_title": small,
        "bins": HISTOGRAM_BINS,
    }
    table = around_gap(run, audit, "similarity_normalized", parameters)
    return ReportFigure(
        table,
        "histograms",
        "Density of normalized similarity: a train sample's similarity to its most similar test "
        f"image, divided by that image's gap, in {large} to the test set's gap, and in {small}.",
        {"x_label": "normalized similarity", "y": "density", "edge": "the gap"},
        "How near training samples are to the similarity gap",
    )
