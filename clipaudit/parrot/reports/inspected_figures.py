"""The figures of inspected models, with their inputs: Figures 1, 3, 4 and 7 of the parrot audit.

Lin et al., ECCV 2024: https://arxiv.org/abs/2312.14232. Each figure is one `ReportFigure`; a figure
of a corpus exists for each profiled corpus, by its name: `parrot_fig1_<corpus>`.

Differences from the paper: its Figure 1 is a page of images; here the figure counts them. In
Figure 4 all means except that of images without text cover the same images: an image with text but
no co-embedded text keeps its score, as in Table 9. Figure 7 has a row of marks for each model, not
bars; the caption names models that are not trained.
"""

from collections.abc import Sequence

from clipaudit.config.settings import Settings
from clipaudit.parrot.curated import (
    HELDOUT,
    curated_sets,
    heldout,
    in_grid,
    model_encoder,
    trained_models,
)
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
BINS = 50  # per unit of score: bins of 0.02 (our choice; the paper does not state its bins)

KINDS = (  # kind, title; the last one comes first in a bar
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
    "random_rsa": "RSA of random: S(raw) \N{MINUS SIGN} S(other image's text area removed)",
    "rsc": "RSC: S(raw) \N{MINUS SIGN} S(co removed)",
    "random_rsc": "RSC of random: S(raw) \N{MINUS SIGN} S(other image's text area removed)",
    "spared": "S(co removed) \N{MINUS SIGN} S(all removed)",
}
_GROUPS = "groups of clusters, by the share of their images with text"
_OF_HELDOUT = (  # series, index of the held-out set, change to its images
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
    """Return Figure 1: the kinds of all pairs and of those with the highest scores."""
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
        f"Text in the images of {run.title(corpus)}, and whether captions repeat a word of it, "
        f"among all image-text pairs and among the {TOP} % with the highest score (cosine of image "
        f"and caption), by scoring model. In brackets: the number of pairs.",
        {"bars": "lying"},
        f"Text in images of {run.title(corpus)}, among all pairs and those with the highest score",
    )


def _groups(run: Settings, audit: Parrot, corpus: str) -> ReportFigure:
    """Return Figure 3 (a): the kinds of images in each group of clusters."""
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
        f"Text in the images of {run.title(corpus)}, and whether captions repeat a word of it, "
        f"in groups of similar images: {_number(audit.clusters.clusters)}clusters of the "
        f"embeddings of {encoder_title(run, audit.scorer)}, merged into "
        f"{_number(audit.clusters.groups)}groups. "
        "Groups are ordered by their share of images with text; empty ones are left out. A group's "
        "label is the two words most typical of its captions (chi-squared).",
        {"bars": "standing", "x_label": _GROUPS},
        f"Text in images of {run.title(corpus)}, by groups of similar images",
    )


def _number(asked: int | None) -> str:
    """Return a number and a space; "" if the data decides the number."""
    return "" if asked is None else f"{asked} "


def _removals(run: Settings, audit: Parrot, corpus: str) -> ReportFigure:
    """Return Figure 4, left: mean scores before and after text is removed, by group of clusters."""
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
        f"images of {run.title(corpus)}, by group of similar images, in the order of "
        "Figure 3: images without text, and images with text, unchanged, after all text or the "
        "text that the caption repeats is removed, and after the area of another "
        "image's text is removed. With nothing to remove, an image keeps its score. Whiskers "
        "are 95 % intervals of the means, over images.",
        {"groups": "beside", "x_label": _GROUPS},
        f"Scores with and without the text in images of {run.title(corpus)}",
    )


def _differences(run: Settings, audit: Parrot, corpus: str) -> ReportFigure:
    """Return Figure 4, right: the differences of scores with and without text."""
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
        f"changes when text is removed from the images of {run.title(corpus)}: from images "
        "with text (RSA), and with co-embedded text (RSC and the last). Random: the area of "
        "another image's text is removed, which measures the cost of any removal. Below 0 the "
        f"score rises when text is removed. Bins of {1 / BINS:g}.",
        {"x_label": "difference of scores", "y_label": "share of images (%)"},
        f"How scores change when text is removed from images of {run.title(corpus)}",
    )


# --- held-out images -----------------------------------------------------------------------------


def _heldout(run: Settings, audit: Parrot, settings: Curations) -> ReportFigure:
    """Return Figure 7: mean scores of trained models for the two held-out sets."""
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
    trained = trained_models(audit)
    missing = untrained(_model_titles(settings, [each for each in every if each not in trained]))
    return ReportFigure(
        table,
        "profiles",
        f"Mean score (cosine of image and caption) of models for images of {run.title(corpus)} "
        "that are held out of all training sets: images without text, and images whose captions "
        f"parrot it ({sets[HELDOUT[1]].title}), unchanged, after text is removed, and after the "
        "area of another image's text is removed. Above, "
        f"{encoder_title(run, audit.scorer)}, whose scores chose them; below, the grid's "
        f"models by training set. {missing}".rstrip(),
        {"groups": "below"},
        "Scores of trained models for held-out images, with and without their text",
    )


def _model_titles(settings: Curations, models: Sequence[tuple[str, str]]) -> list[str]:
    """Return the title of each model: its set, and its recipe if there are several."""
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
