"""The galleries of the parrot audit: pictures with text, at the ends of their captions' scores.

The pictures of the paper's Figure 1, one a corpus, `parrot_fig1_<corpus>_pictures`, and its Figures
2 (terms), 8 (distractors and concepts), 14 (by cluster) and 15 (those of Table 14). The paper does
not say how the examples of Figures 2 and 8 were found: here they are extremes.
"""

from collections.abc import Sequence
from typing import Literal

from clipaudit.config.settings import Settings
from clipaudit.parrot.reports.layouts import LISTED
from clipaudit.parrot.settings import Parrot
from clipaudit.parrot.spotted_options import ExampleList, SpottedOptions, TermOptions
from clipaudit.reports.specification import Gallery, gallery_of, part_files

TERMS_SHOWN = 4  # examples of Figure 2, at most: a row of seven pictures for each
CLUSTERS_SHOWN = 10  # columns of Figure 14
CLUSTER_PICTURES = 4  # of each

_OUTLINED = "Spotted text is outlined, what the caption says too in orange."
_COVERED = "Spotted text is covered with colour, orange where the caption says it too."


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
    """Figure 1: the pairs of highest score."""
    title = f"Highest scores in {run.title(corpus)}"
    asked = ExampleList(
        "highest", audit.examples, title, f"No picture of {run.title(corpus)} is scored."
    )
    caption = (
        f"The {audit.examples} image-text pairs of {run.title(corpus)} whose caption and picture "
        "have the highest score, S(·)."
    )
    return _gallery(run, audit, [corpus], [asked], caption, title, form="captioned")


def _terms(run: Settings, audit: Parrot, corpus: str) -> Gallery:
    """Figure 2: what the audit's words mean, by the pairs of highest RSC."""
    title = f"What is erased, in images of {run.title(corpus)}"
    none = f"No picture of {run.title(corpus)} has a word of its caption."
    asked = ExampleList("repeating", min(audit.examples, TERMS_SHOWN), title, none)
    caption = (
        f"The pairs of {run.title(corpus)} that lose most of their score, S, when co-embedded text "
        "is erased: where all spotted text is (white) and where the co-embedded words are, what is "
        "left when either is erased, or what the text of another picture of the shard would cover, "
        "and a synthetic picture of the co-embedded words. These are orange in the caption."
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
    """Figure 8: text that distracts, and text that the score needs."""
    corpus_title = run.title(corpus)
    title = f"Images of {corpus_title} whose score changes most without their text"
    lists = [
        ExampleList(
            "distracted",
            audit.examples,
            "The score rises without the text: it distracts",
            f"No picture of {corpus_title} has a higher score without its text.",
        ),
        ExampleList(
            "dependent",
            audit.examples,
            "The score falls without the text: it rests on it",
            f"No picture of {corpus_title} has a lower score without its text.",
        ),
    ]
    caption = (
        f"The pictures of {corpus_title} whose score rises most, and falls most, when all spotted "
        f"text is erased: S(·) is the score before and S(\N{MULTIPLICATION SIGN}) after."
    )
    return _gallery(run, audit, [corpus], lists, caption, title, form="captioned", filled=True)


def _clusters(run: Settings, audit: Parrot, corpus: str) -> Gallery:
    """Figure 14: the pictures of highest score in the clusters with most text."""
    title = f"Clusters of {run.title(corpus)} with most text"
    none = f"No cluster of {run.title(corpus)} has {CLUSTER_PICTURES} pictures and text in one."
    asked = ExampleList("clustered", CLUSTER_PICTURES, title, none, clusters=CLUSTERS_SHOWN)
    caption = (
        f"The pictures of highest score in the clusters of {run.title(corpus)} that have the "
        "largest share of pictures with text, a column for each: above it are the cluster's number "
        "and that share, below each picture its score."
    )
    return _gallery(run, audit, [corpus], [asked], caption, title, form="clusters")


def _parrots(run: Settings, audit: Parrot) -> Gallery:
    """Figure 15: the pictures of Table 14."""
    none = "No picture has a word of its caption."
    title = "Images whose captions parrot their text"
    asked = ExampleList("parroting", LISTED, title, none)
    caption = (
        "The pictures of the parrot captions in Table 14, numbered in its order, each with its "
        "score."
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
    """Return a gallery of some corpora; `filled` covers text with colour, not outlines it."""
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
