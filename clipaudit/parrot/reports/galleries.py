"""The galleries of the parrot audit: images with text, with the highest and lowest scores.

The images of the paper's Figure 1, by corpus, `parrot_fig1_<corpus>_pictures`, and its Figures 2
(terms), 8 (distractors and concepts), 14 (by cluster) and 15 (those of Table 14). The paper does
not say how it chose the examples of Figures 2 and 8; here they are extremes.
"""

from collections.abc import Sequence
from typing import Literal

from clipaudit.config.settings import Settings
from clipaudit.parrot.reports.layouts import LISTED
from clipaudit.parrot.settings import Parrot
from clipaudit.parrot.spotted_options import ExampleList, SpottedOptions, TermOptions
from clipaudit.reports.specification import Gallery, gallery_of, part_files

TERMS_SHOWN = 4  # examples of Figure 2, at most: a row of seven images for each
CLUSTERS_SHOWN = 10  # columns of Figure 14
CLUSTER_PICTURES = 4  # images per cluster

_OUTLINED = "Spotted text is outlined, in orange if the caption repeats it."
_COVERED = "Spotted text is covered with colour, orange if the caption repeats it."


def parrot_galleries(run: Settings) -> dict[str, Gallery]:
    """Return the galleries that the settings ask for, by name, in the paper's order."""
    audit = run.section(Parrot)
    if audit is None or audit.encoder is None:
        return {}
    first = audit.corpora[0]
    return {
        **{f"parrot_fig1_{name}_pictures": _highest(run, audit, name) for name in audit.corpora},
        "parrot_fig2": _terms(run, audit, first),
        "parrot_fig8": _roles(run, audit, first),
        f"parrot_fig14_{first}": _clusters(run, audit, first),
        "parrot_fig15": _parrots(run, audit),
    }


def _highest(run: Settings, audit: Parrot, corpus: str) -> Gallery:
    """Return Figure 1: the pairs of highest score."""
    title = f"Highest scores in {run.title(corpus)}"
    asked = ExampleList(
        "highest", audit.examples, title, f"No image of {run.title(corpus)} has a score."
    )
    caption = (
        f"The {audit.examples} image-text pairs of {run.title(corpus)} whose caption and image "
        "have the highest score, S(·)."
    )
    return _gallery(run, audit, [corpus], [asked], caption, title, form="captioned")


def _terms(run: Settings, audit: Parrot, corpus: str) -> Gallery:
    """Return Figure 2: the audit's terms, explained by the pairs of highest RSC."""
    title = f"Text erased from images of {run.title(corpus)}"
    none = f"No image of {run.title(corpus)} has a word of its caption."
    asked = ExampleList("repeating", min(audit.examples, TERMS_SHOWN), title, none)
    caption = (
        f"The pairs of {run.title(corpus)} that lose most of their score, S, when co-embedded text "
        "is erased. Masks show all spotted text (white) and the co-embedded words. Further images "
        "show the result of erasing either, or the area of another image's text from the shard, "
        "and a synthetic image of the co-embedded words. These are orange in the caption."
    )
    erasing, probe = audit.erasing, audit.probe
    terms = TermOptions(
        erasing.radius,
        erasing.dilation,
        erasing.shorter_side,
        probe.side,
        probe.type_size,
        erasing.fill,
    )
    return _gallery(run, audit, [corpus], [asked], caption, title, form="terms", terms=terms)


def _roles(run: Settings, audit: Parrot, corpus: str) -> Gallery:
    """Return Figure 8: text that lowers the score, and text that the score depends on."""
    corpus_title = run.title(corpus)
    title = f"Images of {corpus_title} whose score changes most without their text"
    lists = [
        ExampleList(
            "distracted",
            audit.examples,
            "The text distracts: the score rises without it",
            f"No image of {corpus_title} has a higher score without its text.",
        ),
        ExampleList(
            "dependent",
            audit.examples,
            "The score depends on the text: it falls without it",
            f"No image of {corpus_title} has a lower score without its text.",
        ),
    ]
    caption = (
        f"The images of {corpus_title} whose score rises most, and falls most, when all spotted "
        f"text is erased: S(·) is the score before and S(\N{MULTIPLICATION SIGN}) after."
    )
    return _gallery(run, audit, [corpus], lists, caption, title, form="captioned", filled=True)


def _clusters(run: Settings, audit: Parrot, corpus: str) -> Gallery:
    """Return Figure 14: the images of highest score in the clusters with most text."""
    title = f"Clusters of {run.title(corpus)} with most text"
    none = f"No cluster of {run.title(corpus)} has {CLUSTER_PICTURES} images and text in one."
    asked = ExampleList("clustered", CLUSTER_PICTURES, title, none, clusters=CLUSTERS_SHOWN)
    caption = (
        f"The images of highest score in the clusters of {run.title(corpus)} with the "
        "largest share of images with text, a column for each. The cluster's number "
        "and that share are above the column, the score is below each image."
    )
    return _gallery(run, audit, [corpus], [asked], caption, title, form="clusters")


def _parrots(run: Settings, audit: Parrot) -> Gallery:
    """Return Figure 15: the images of Table 14."""
    none = "No image has a word of its caption."
    title = "Images whose captions parrot their text"
    asked = ExampleList("parroting", LISTED, title, none)
    caption = (
        "The images of the parrot captions in Table 14, numbered in its order, each with its score."
    )
    return _gallery(run, audit, audit.corpora, [asked], caption, title, form="numbered")


def _gallery(
    run: Settings,
    audit: Parrot,
    corpora: Sequence[str],
    lists: Sequence[ExampleList],
    caption: str,
    title: str,
    *,
    form: Literal["captioned", "numbered", "clusters", "terms"],
    filled: bool = False,
    terms: TermOptions | None = None,
) -> Gallery:
    """Return a gallery of some corpora; `filled` covers text instead of outlining it."""
    encoder = audit.scorer
    folders = {
        "samples": "samples",
        "spans": "spans",
        "matches": "matches",
        "scores": f"caption_scores/{encoder}",
    }
    if form == "clusters":
        folders["placed"] = f"placed/{encoder}"
    if form != "terms" and run.report.pictures:
        caption = f"{caption} {_COVERED if filled else _OUTLINED}"
    return gallery_of(
        run,
        corpora,
        options=SpottedOptions(
            tuple(corpora), form, tuple(lists), audit.tokenization, filled=filled, terms=terms
        ),
        inputs={name: part_files(run, folder, corpora) for name, folder in folders.items()},
        caption=caption,
        title=title,
        says=("co_words",),
    )
