"""The inputs and drawings of Figures 5, 6 and 9 to 13 of the parrot-caption paper.

Figures 5, 6, 9 and 10 show the synthetic probe and its vocabularies, 11 to 13 the tracks of tasks.
Differences from the paper: Figures 5b to 5d show how much more similar an image is to its own text
than to others, and Figures 6 and 9 show both and the difference, since similarity to its own text
alone does not show that a model reads. Figure 10 has words in lines instead of word clouds, and
Figure 13 is split by RSA and RSC. Captions name models that are not trained; a figure without any
model is omitted.
"""

import re
from collections.abc import Sequence

from clipaudit.config.settings import Settings
from clipaudit.parrot.curated import Family, curated_sets, model_encoder, trained_models
from clipaudit.parrot.curated_settings import Curations
from clipaudit.parrot.reports.tasks import TRACKS
from clipaudit.parrot.settings import Parrot
from clipaudit.reports.layouts import count, short_count
from clipaudit.reports.specification import (
    RelationRow,
    ReportFigure,
    ReportTable,
    encoder_title,
    in_run,
    numbered,
    titled,
)
from clipaudit.steps import paths

WORDS = 60  # words of each part of Figure 10
_WIDTH, _INTERVALS = 3, 10  # characters per interval of lengths, and number of intervals
_PARTS = ("head", "middle", "tail")
_FAMILIES: dict[Family, str] = {
    "text": "embedded text",
    "cotr": "CoTR",
    "rsa": "RSA",
    "rsc": "RSC",
    "filter": "filters",
}
_FULL_TRACKS: dict[str, Family] = {
    "fig11": "text",
    "fig12": "cotr",
    "fig13_rsa": "rsa",
    "fig13_rsc": "rsc",
}
_READING = {
    "matched": "own word (Sync. S)",
    "mismatched": "other words",
    "reading": "difference",
}
_STYLES = "Each is the mean over four styles of background and letters."


def probe_figures(run: Settings) -> dict[str, ReportFigure]:
    """Return the figures that the settings ask for, by name, in the paper's order.

    Figures of a vocabulary need a setting for grams of its length, figures of trained models at
    least one trained model, Figure 9 two sizes, and the tracks tasks.
    """
    audit = run.section(Parrot)
    if audit is None:
        return {}
    found = {}
    if 1 in audit.probe.lengths:
        found["fig5a"] = _tails(run, audit)
        found["fig10"] = _words(run, audit)
    if 1 in audit.probe.lengths and audit.inspected:
        found["fig5b"] = _ranges(run, audit, "frequency", 1)
        found["fig5c"] = _ranges(run, audit, "length", 1)
    if 2 in audit.probe.lengths and audit.inspected:
        found["fig5d"] = _ranges(run, audit, "length", 2)
    if (settings := audit.curations) is not None:
        smallest, *larger = sorted(set(settings.sizes))
        if 1 in audit.probe.lengths:
            for name, size in (("fig6", smallest), *(("fig9", each) for each in larger[-1:])):
                if spotting := _spotting(run, audit, settings, size):
                    found[name] = spotting
        if audit.test_sets or audit.retrieval or audit.suite:
            found |= _full_tracks(audit, settings)
    names = sorted(found, key=lambda name: (int(re.findall(r"\d+", name)[0]), name))
    return {f"parrot_{name}": found[name] for name in names}


# --- the vocabularies and the probe --------------------------------------------------------------


def _tails(run: Settings, audit: Parrot) -> ReportFigure:
    """Return Figure 5a: the number of words by frequency."""
    corpus, sources = audit.corpora[0], audit.probe.sources
    table = ReportTable(
        sql="parrot_fig5a",
        inputs={"grams": [paths.vocabulary(corpus, f"{name}-1") for name in sources]},
        relations={
            "vocabularies": titled(
                "vocabulary", ((f"{name}-1", title) for name, title in sources.items())
            )
        },
    )
    return ReportFigure(
        table,
        "tallies",
        f"Words of {_texts(run, audit)}, by how often they occur: the {count(audit.probe.most)} "
        "most frequent ones at most.",
        {"x_label": "frequency", "y_label": "words", "empty": "no words"},
        "Number of words by frequency",
    )


def _ranges(run: Settings, audit: Parrot, by: str, length: int) -> ReportFigure:
    """Return Figure 5b, 5c or 5d: differences of similarities by frequency or by length."""
    corpus = audit.corpora[0]
    series: list[RelationRow] = [
        {
            "encoder": encoder,
            "encoder_position": place,
            "encoder_title": encoder_title(run, encoder),
            "vocabulary": f"{source}-{length}",
            "vocabulary_position": number,
            "vocabulary_title": title,
        }
        for place, encoder in enumerate(audit.all_probed)
        for number, (source, title) in enumerate(audit.probe.sources.items())
    ]
    table = ReportTable(
        sql="parrot_fig5",
        inputs={
            "probes": [
                paths.probe(str(row["encoder"]), corpus, str(row["vocabulary"])) for row in series
            ]
        },
        relations={"series": numbered(series)},
        parameters={"by": by, "width": _WIDTH, "most": _INTERVALS},
    )
    what, x_label = {
        "frequency": ("its frequency", "frequency in the vocabulary"),
        "length": ("its length", "characters"),
    }[by]
    text = {1: "word", 2: "two words in a row"}[length]
    return ReportFigure(
        table,
        "ranges",
        f"Similarity of an image of only a text ({text}) to this text, minus its mean "
        f"similarity to all other texts of the vocabulary, by {what}: above 0 the text is read. "
        f"Texts of {_texts(run, audit)}. {_STYLES} Lines reach from the 5 % to the 95 % quantile "
        "of texts, boxes from the lower to the upper quartile; marks show the median.",
        {"x_label": x_label, "y_label": "own less other texts", "empty": "no texts of this length"},
        f"Whether models read a text ({text}), by {what}",
    )


def _words(run: Settings, audit: Parrot) -> ReportFigure:
    """Return Figure 10: the most frequent words of three parts of the vocabulary."""
    corpus = audit.corpora[0]
    table = ReportTable(
        sql="parrot_fig10",
        inputs={"grams": [paths.vocabulary(corpus, audit.probe.word_vocabulary)]},
        relations={"parts": numbered({"title": title} for title in _PARTS)},
        parameters={"limit": WORDS},
    )
    return ReportFigure(
        table,
        "words",
        f"Words of {_words_of(run, audit)}: the {WORDS} most frequent ones of each of "
        "three parts of the vocabulary, equal in the logarithm of the rank. A word's size follows "
        "the logarithm of its frequency within a part.",
        {"empty": "no words"},
        "The most frequent words of the vocabulary",
    )


def _words_of(run: Settings, audit: Parrot) -> str:
    """Return a phrase for the source of the tables' vocabulary."""
    if audit.probe.vocabulary is not None:
        return "the given vocabulary"
    return f"the captions of {run.title(audit.corpora[0])}"


def _texts(run: Settings, audit: Parrot) -> str:
    """Return a phrase for the sources of all vocabularies."""
    words = _words_of(run, audit)
    if audit.probe.vocabulary is not None:
        return words
    return f"{words}, and of the text in its images that the caption repeats"


# --- trained models ------------------------------------------------------------------------------


def _spotting(run: Settings, audit: Parrot, settings: Curations, size: int) -> ReportFigure | None:
    """Return Figure 6 or 9: whether the models trained on sets of a size read text."""
    corpus = audit.corpora[0]
    trained = trained_models(audit)
    sets = [each for each in curated_sets(settings).values() if each.size == size]
    every: list[RelationRow] = [
        {
            "panel_position": panel,
            "panel_title": recipe,
            "group_position": list(_FAMILIES).index(each.curation.family),
            "group_title": _FAMILIES[each.curation.family],
            "row_position": position,
            "row_title": each.curation.title,
            "encoder": model_encoder(recipe, each.name),
            "in_grid": (recipe, each.name) in trained,
        }
        for panel, recipe in enumerate(settings.recipes_for(size))
        for position, each in enumerate(sets)
    ]
    models, missing = _named(every, "row_title")
    if not models:
        return None
    encoders = [audit.scorer, *(str(row["encoder"]) for row in models)]
    table = ReportTable(
        sql="parrot_fig6",
        inputs={
            "probes": [paths.probe(name, corpus, audit.probe.word_vocabulary) for name in encoders]
        },
        relations={"models": models, "series": titled("series", _READING.items())},
        parameters={"reference": audit.scorer},
    )
    return ReportFigure(
        table,
        "dots",
        f"Whether models trained on {short_count(size)} samples of {run.title(settings.corpus)} "
        "read text: the similarity of an image of only a word to this word (Sync. S) and "
        f"to the other words of {_words_of(run, audit)}, means and quartiles over "
        "words, and the difference with its 95 % interval over words. A model reads only if "
        f"that interval is above 0. {_STYLES} The dashed line is the difference for "
        f"{encoder_title(run, audit.scorer)}.{missing}",
        {
            "x_label": "similarity",
            "reference": f"difference for {encoder_title(run, audit.scorer)}",
            "empty": "no words",
        },
        f"Whether models trained on {short_count(size)} samples read words",
    )


def _full_tracks(audit: Parrot, settings: Curations) -> dict[str, ReportFigure]:
    """Return Figures 11, 12 and 13: the models of each family on each task."""
    found = {}
    for name, family in _FULL_TRACKS.items():
        models, missing = _named(_family_models(audit, settings, family), "series_title")
        table = ReportTable(
            sql="parrot_fig11",
            inputs={"task_results": [paths.task_results(str(row["encoder"])) for row in models]},
            relations={
                "models": models,
                "tracks": titled("track", ((track, title) for title, track in TRACKS.items())),
            },
        )
        caption = (
            "The main metric of every task for models trained on sets curated by "
            f"{_FAMILIES[family]}: accuracy, for captioned images the mean R@1 of both directions, "
            f"else DataComp's metric.{missing}"
        )
        options = {"x_label": "value (%)", "scale": "percent", "empty": "no tasks"}
        if models:
            title = f"Every task, for models trained on sets curated by {_FAMILIES[family]}"
            found[name] = ReportFigure(table, "dots", caption, options, title)
    return found


def _named(every: Sequence[RelationRow], title: str) -> tuple[list[RelationRow], str]:
    """Return the trained models, and a sentence that names the others.

    Names come from the column `title`, and from the panel if there are several.
    """
    several = len({row["panel_title"] for row in every}) > 1
    return in_run(
        every, lambda row: f"{row[title]} ({row['panel_title']})" if several else str(row[title])
    )


def _family_models(audit: Parrot, settings: Curations, family: Family) -> list[RelationRow]:
    """Return the relation `models` of a family: a panel for each recipe and size."""
    trained = trained_models(audit)
    sizes = sorted(set(settings.sizes))
    panels = [
        (recipe, size)
        for recipe in settings.all_recipes
        for size in sizes
        if recipe in settings.recipes_for(size)
    ]
    sets = [each for each in curated_sets(settings).values() if each.curation.family == family]
    return [
        {
            "panel_position": panels.index((recipe, size)),
            "panel_title": f"{recipe}, {short_count(size)}",
            "series_position": position,
            "series_title": each.curation.title,
            "encoder": model_encoder(recipe, each.name),
            "in_grid": (recipe, each.name) in trained,
        }
        for recipe, size in panels
        for position, each in enumerate(each for each in sets if each.size == size)
    ]
