"""What the figures of inspected models are made from: Figures 1, 3, 4 and 7 of the parrot audit.

Lin et al., ECCV 2024: https://arxiv.org/abs/2312.14232. One `ReportFigure` a figure, and one for
each profiled corpus, by its name, where it is of a corpus: `parrot_fig1_<corpus>`.

Differences: Figure 1 is there a page of pictures; here it counts them. In Figure 4 all means but
that of pictures without text are of the same pictures: one with text but no co-embedded text keeps
its score, as in Table 9. Figure 7 has a row of marks for each model, not bars; models that are
not trained are named in the caption.
"""

from collections.abc import Sequence

from clipaudit.config.settings import Settings
from clipaudit.parrot.curated import HELDOUT, curated_sets, heldout, in_grid, model_encoder
from clipaudit.parrot.curated_settings import Curations
from clipaudit.parrot.settings import Parrot
from clipaudit.reports.layouts import short_count
from clipaudit.reports.leftout import untrained
from clipaudit.reports.specification import (
    ReportFigure,
    ReportTable,
    encoder_files,
    encoder_title,
    numbered,
    part_files,
    titled,
)
from clipaudit.steps import paths

TOP = 5  # percent of the pairs, by score (paper)
BINS = 50  # per unit of score: bins of 0.02 (ours: the paper's are not stated)

KINDS = (  # kind, title; the last one stands first in a bar
    ("none", "no text"),
    ("apart", "text, none of it in the caption"),
    ("co", "co-embedded text"),
)
SERIES = {
    "none": "no text",
    "raw": "with text",
    "all": "all text removed",
    "co": "co-emb. text removed",
    "random_all": "random for all text",
    "random_co": "random for co-emb. text",
}
DIFFERENCES = {
    "rsa": "RSA: S(raw) \N{MINUS SIGN} S(all removed)",
    "random_rsa": "RSA of random: S(raw) \N{MINUS SIGN} S(as much removed elsewhere)",
    "rsc": "RSC: S(raw) \N{MINUS SIGN} S(co removed)",
    "random_rsc": "RSC of random: S(raw) \N{MINUS SIGN} S(as much removed elsewhere)",
    "spared": "S(co removed) \N{MINUS SIGN} S(all removed)",
}
_GROUPS = "groups of clusters, by the share of their pictures with text"
_OF_HELDOUT = (  # series, which of the two held-out sets, what is done to its pictures
    ("none", 0, ""),
    ("raw", 1, ""),
    ("co", 1, ", co-emb. text removed"),
    ("random_co", 1, ", random for co-emb. text"),
    ("all", 1, ", all text removed"),
    ("random_all", 1, ", random for all text"),
)


def inspected_figures(run: Settings) -> dict[str, ReportFigure]:
    """Return the figures that the settings ask for, by name, in the paper's order."""
    audit = run.section(Parrot)
    if audit is None or audit.encoder is None:
        return {}
    found = {f"fig1_{corpus}": _top_pairs(run, audit, corpus) for corpus in audit.corpora}
    found |= {f"fig3_{corpus}": _groups(run, audit, corpus) for corpus in audit.corpora}
    for corpus in audit.corpora:
        found[f"fig4_{corpus}"] = _removals(run, audit, corpus)
        found[f"fig4_{corpus}_differences"] = _differences(run, audit, corpus)
    if audit.curations is not None:
        found["fig7"] = _heldout(run, audit, audit.curations)
    return {f"parrot_{name}": figure for name, figure in found.items()}


# --- profiled corpora ----------------------------------------------------------------------------


def _top_pairs(run: Settings, audit: Parrot, corpus: str) -> ReportFigure:
    """Figure 1: the kinds of all pairs and of those of the highest scores."""
    table = ReportTable(
        sql="parrot_fig1",
        inputs={
            "scores": encoder_files(run, "caption_scores", audit.inspected, [corpus]),
            "matches": part_files(run, "matches", [corpus]),
        },
        relations={
            "models": titled(
                "encoder", ((name, encoder_title(run, name)) for name in audit.inspected)
            ),
            "selections": titled("selection", [("all", "all pairs"), ("top", f"top {TOP} %")]),
            "kinds": titled("kind", KINDS),
        },
        parameters={"tokenization": audit.tokenization, "top": TOP},
    )
    return ReportFigure(
        table,
        "stacks",
        f"Text in the pictures of {run.title(corpus)}, and whether captions repeat a word of it, "
        f"among all image-text pairs and among the {TOP} % of the highest score (cosine of image "
        f"and caption), by the model that scores. In brackets: how many pairs.",
        {"bars": "lying"},
        f"Text in images of {run.title(corpus)}, among all pairs and those of the highest score",
    )


def _groups(run: Settings, audit: Parrot, corpus: str) -> ReportFigure:
    """Figure 3 (a): the kinds of pictures of each group of clusters."""
    table = ReportTable(
        sql="parrot_fig3",
        inputs={
            "matches": part_files(run, "matches", [corpus]),
            "placed": part_files(run, f"placed/{audit.scorer}", [corpus]),
            "samples": part_files(run, "samples", [corpus]),
        },
        relations={"kinds": titled("kind", KINDS)},
        parameters={"tokenization": audit.tokenization, "title": run.title(corpus)},
    )
    return ReportFigure(
        table,
        "stacks",
        f"Text in the pictures of {run.title(corpus)}, and whether captions repeat a word of it, "
        f"in groups of pictures that look alike: {_number(audit.clusters.clusters)}clusters of the "
        f"embeddings of {encoder_title(run, audit.scorer)}, merged into "
        f"{_number(audit.clusters.groups)}groups. "
        "Groups stand by their share of pictures with text; empty ones are left out. A group bears "
        "the two words that stand out most in its captions (chi-squared).",
        {"bars": "standing", "x_label": _GROUPS},
        f"Text in images of {run.title(corpus)}, by groups of images that look alike",
    )


def _number(asked: int | None) -> str:
    """Return a number as it stands before what is counted; nothing where the data decides it."""
    return "" if asked is None else f"{asked} "


def _removals(run: Settings, audit: Parrot, corpus: str) -> ReportFigure:
    """Figure 4, left: mean scores before and after text is removed, by group of clusters."""
    table = ReportTable(
        sql="parrot_fig4",
        inputs={
            "matches": part_files(run, "matches", [corpus]),
            "placed": part_files(run, f"placed/{audit.scorer}", [corpus]),
            "samples": part_files(run, "samples", [corpus]),
            "scores": part_files(run, f"caption_scores/{audit.scorer}", [corpus]),
        },
        relations={"series": titled("series", SERIES.items())},
    )
    return ReportFigure(
        table,
        "profiles",
        f"Mean score (cosine of image and caption) of {encoder_title(run, audit.scorer)} for the "
        f"pictures of {run.title(corpus)}, by group of pictures that look alike, in the order of "
        "Figure 3: those without text, and those with text, as they are, after all text or that "
        "which the caption repeats is removed, and after as much is removed where another "
        "picture's text is. Where there is nothing to remove, a picture keeps its score. Whiskers "
        "are 95 % intervals of the means, over pictures.",
        {"groups": "beside", "x_label": _GROUPS},
        f"Scores with and without the text in images of {run.title(corpus)}",
    )


def _differences(run: Settings, audit: Parrot, corpus: str) -> ReportFigure:
    """Figure 4, right: how scores differ with and without text."""
    table = ReportTable(
        sql="parrot_fig4_differences",
        inputs={"scores": part_files(run, f"caption_scores/{audit.scorer}", [corpus])},
        relations={"differences": titled("difference", DIFFERENCES.items())},
        parameters={"bins": BINS},
    )
    return ReportFigure(
        table,
        "differences",
        f"How the score (cosine of image and caption) of {encoder_title(run, audit.scorer)} "
        f"changes when text is removed from the pictures of {run.title(corpus)}: of those that "
        "have text (RSA), that have co-embedded text (RSC and the last). Random: as much is "
        "removed where another picture's text is, what any removal costs. Below 0 the score rises "
        f"when text is removed. Bins of {1 / BINS:g}.",
        {"x_label": "difference of scores", "y_label": "share of pictures (%)"},
        f"How scores change when text is removed from images of {run.title(corpus)}",
    )


# --- held-out pictures ---------------------------------------------------------------------------


def _heldout(run: Settings, audit: Parrot, settings: Curations) -> ReportFigure:
    """Figure 7: mean scores of trained models for the two held-out sets."""
    corpus, models = settings.corpus, in_grid(settings)
    encoders = [audit.scorer, *(model_encoder(*model) for model in models)]
    titles = [encoder_title(run, audit.scorer), *_model_titles(settings, models)]
    sets = heldout(settings)
    table = ReportTable(
        sql="parrot_fig7",
        inputs={
            "scores": [paths.heldout_scores(encoder, corpus) for encoder in encoders],
            "heldout": [
                paths.manifest(corpus, name, part) for name in HELDOUT for part in run.parts(corpus)
            ],
        },
        relations={
            "models": titled("encoder", zip(encoders, titles, strict=True)),
            "series": numbered(
                {
                    "series": series,
                    "title": f"{sets[HELDOUT[which]].title}{what}",
                    "curated": HELDOUT[which],
                }
                for series, which, what in _OF_HELDOUT
            ),
        },
    )
    every = [
        (recipe, name)
        for name, each in curated_sets(settings).items()
        for recipe in settings.recipes_for(each.size)
    ]
    missing = untrained(_model_titles(settings, [each for each in every if each not in models]))
    return ReportFigure(
        table,
        "profiles",
        f"Mean score (cosine of image and caption) of models for pictures of {run.title(corpus)} "
        "that are held out of all train sets: those without text, and those whose captions parrot "
        f"it ({sets[HELDOUT[1]].title}), as they are, after text is removed, and after as much is "
        "removed where another picture's text is. Above, "
        f"{encoder_title(run, audit.scorer)}, by whose scores they were chosen; below, models by "
        f"what they were trained on. {missing}".rstrip(),
        {"groups": "below"},
        "Scores of trained models for held-out images, with and without their text",
    )


def _model_titles(settings: Curations, models: Sequence[tuple[str, str]]) -> list[str]:
    """Return what each model is called: its set, and its recipe where there are several."""
    sets = curated_sets(settings)
    found = []
    for recipe, name in models:
        each = sets[name]
        words = [each.curation.title]
        if each.size is not None:
            words.append(short_count(each.size))
        if len(settings.all_recipes) > 1:
            words.append(recipe)
        found.append(", ".join(words))
    return found
