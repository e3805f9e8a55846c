"""The tables of the parrot audit's profile, and their inputs.

Tables 1, 6 and 7 as one, 9 and 14 of the paper; and, for a corpus of a synthetic world, how well
its text was read.
"""

from clipaudit.config.settings import Settings
from clipaudit.parrot.reports.layouts import LISTED, SMALL
from clipaudit.parrot.settings import Parrot
from clipaudit.parrot.trained_on import training_notes
from clipaudit.reports.specification import (
    RelationRow,
    ReportTable,
    corpus_rows,
    encoder_files,
    encoder_title,
    numbered,
    part_files,
)

_PICTURES = (  # measure, unit, title, definition
    ("images", "count", "Number of total images", "images read by the spotter"),
    (
        "unreadable",
        "count",
        "Unreadable images, not among them",
        "images dropped at spotting",
    ),
    (
        "with_text",
        "count",
        "Number of images w/ emb. text",
        "images with at least one piece of text that counts by the setting parrot.text",
    ),
    ("with_text", "share", "Images w/ emb. text, %", "of the images read by the spotter"),
    (
        "false_alarms",
        "share",
        "False alarms among images w/o text, %",
        "of the images without text, by a synthetic world's truth or by parrot.checked, those "
        "counted as having text",
    ),
    (
        "missed",
        "share",
        "Missed among images w/ text, %",
        "of the images with text, by a synthetic world's truth or by parrot.checked, those "
        "counted as having none",
    ),
)
_WORDS = (
    (
        "without_words",
        "count",
        "Captions without words, left out below",
        "captions of spotted images that are missing or have no word, so have no rate",
    ),
    (
        "rate",
        "share",
        "CoTR, %",
        "mean over captions with words of: distinct words of the caption that are also words of "
        "the spotted text, divided by distinct words of the caption; 0 if no text is spotted",
    ),
    (
        "rate_with_text",
        "share",
        "CoTR in images w/ emb. text, %",
        "the same mean over the captions of images with text",
    ),
    (
        "fuzzy_rate",
        "share",
        "Fuzzy CoTR, %",
        "as CoTR, but a word of the caption counts if 1 - distance / length >= the setting "
        "fuzzy_threshold for some spotted word: Levenshtein's distance, the longer word's length",
    ),
    (
        "fuzzy_rate_with_text",
        "share",
        "Fuzzy CoTR in images w/ emb. text, %",
        "the same mean over the captions of images with text",
    ),
    (
        "parroting",
        "share",
        "Captions that parrot a word, in images w/ emb. text, %",
        "of the captions with words, for images with text, those with a CoTR above 0",
    ),
    (
        "parrots",
        "share",
        "Captions that parrot a word, %",
        "of the captions with words, those with a CoTR above 0",
    ),
)
_TOKENIZATIONS = {"words": "", "plain": " (to the letter)"}
_SCORES = (
    ("raw", "score", "Whole data set"),
    ("all", "score", "All text removed"),
    ("co", "score", "Co-emb. text removed"),
    ("random_all", "score", "Random for all text, w/ text"),
    ("random_co", "score", "Random for co-emb. text, w/ co-emb. text"),
    ("rsa", "difference", "RSA"),
    ("random_rsa", "difference", "RSA of random"),
    ("rsa_negative", "share", "RSA < 0, %"),
    ("rsc", "difference", "RSC"),
    ("random_rsc", "difference", "RSC of random"),
    ("rsc_negative", "share", "RSC < 0, %"),
    ("spared", "difference", "RSA less RSC"),
    ("spared_positive", "share", "RSA > RSC, %"),
)
HEIGHTS = {
    "small": f"words below {SMALL} px",
    "large": f"words of {SMALL} px or more",
    "all": "all",
}


def profile_tables(run: Settings) -> dict[str, ReportTable]:
    """Return the tables of the audit's profile that the settings ask for, by name."""
    audit = run.section(Parrot)
    if audit is None:
        return {}
    tables = {"parrot_table1": statistics(run, audit)}
    if audit.fuzzy_sweep:
        tables["parrot_fuzzy"] = fuzzy(run, audit)
    if audit.encoder is not None:
        tables["parrot_table9"] = mean_scores(run, audit)
        tables["parrot_table14"] = captions(run, audit)
    made = [name for name in audit.corpora if run.corpora[name].world is not None]
    if made:
        tables["parrot_truth"] = truth(run, made)
    return dict(sorted(tables.items()))


def statistics(run: Settings, audit: Parrot) -> ReportTable:
    """Return Tables 1, 6 and 7: the text in images, and how much of it captions repeat."""
    made = (name for name in audit.corpora if run.corpora[name].world is not None)
    unchecked = [name for name in made if name not in audit.checked]
    return ReportTable(
        sql="parrot_table1",
        inputs={
            "matches": part_files(run, "matches", audit.corpora),
            "drops": part_files(run, "drops/spot", audit.corpora),
            "truths": part_files(run, "spotted_truth", unchecked),
            "checked": [f"checked_text/{name}.json" for name in audit.checked],
        },
        relations={
            "corpora": corpus_rows(run, "corpus", audit.corpora),
            "measures": statistic_rows(),
        },
    )


def fuzzy(run: Settings, audit: Parrot) -> ReportTable:
    """Return the fuzzy rates of Table 1 at several thresholds."""
    return ReportTable(
        sql="parrot_fuzzy",
        inputs={"fuzzy_sweep": part_files(run, "fuzzy_sweep", audit.corpora)},
        relations={
            "corpora": corpus_rows(run, "corpus", audit.corpora),
            "thresholds": numbered(
                {
                    "threshold": threshold,
                    "tokenization": tokenization,
                    "title": f"{threshold:g}{note}",
                }
                for tokenization, note in _TOKENIZATIONS.items()
                for threshold in audit.fuzzy_sweep
            ),
        },
    )


def mean_scores(run: Settings, audit: Parrot) -> ReportTable:
    """Return Table 9: mean scores of images before and after text is erased."""
    return ReportTable(
        sql="parrot_table9",
        inputs={"scores": encoder_files(run, "caption_scores", audit.inspected, audit.corpora)},
        relations={
            "models": numbered(
                {
                    "corpus": corpus,
                    "corpus_title": run.title(corpus),
                    "encoder": encoder,
                    "title": f"{run.title(corpus)}, {encoder_title(run, encoder)}",
                }
                for corpus in audit.corpora
                for encoder in audit.inspected
            ),
            "measures": score_rows(),
        },
        parameters={"encoder": audit.scorer},
        notes=training_notes(run, audit.inspected, audit.corpora),
    )


def captions(run: Settings, audit: Parrot) -> ReportTable:
    """Return Table 14: the parrot captions that the audit's encoder scores highest."""
    return ReportTable(
        sql="parrot_table14",
        inputs={
            "matches": part_files(run, "matches", audit.corpora),
            "scores": part_files(run, f"caption_scores/{audit.scorer}", audit.corpora),
            "samples": part_files(run, "samples", audit.corpora),
        },
        relations={"corpora": corpus_rows(run, "corpus", audit.corpora)},
        parameters={"tokenization": audit.tokenization, "limit": LISTED},
        notes=training_notes(run, [audit.scorer], audit.corpora),
    )


def truth(run: Settings, corpora: list[str]) -> ReportTable:
    """Return the table of how well text is read in the images of synthetic worlds."""
    return ReportTable(
        sql="parrot_truth",
        inputs={"truths": part_files(run, "spotted_truth", corpora)},
        relations={
            "classes": [
                {
                    "position": number * len(HEIGHTS) + place,
                    "corpus": corpus,
                    "title": run.title(corpus),
                    "height": height,
                    "height_title": title,
                }
                for number, corpus in enumerate(corpora)
                for place, (height, title) in enumerate(HEIGHTS.items())
            ]
        },
        parameters={"small": SMALL},
    )


def statistic_rows() -> list[RelationRow]:
    """Return the relation `measures` of Table 1: of images, then of words by each tokenization."""
    found = [(*each, "") for each in _PICTURES]
    found += [
        (measure, unit, title + note, definition, tokenization)
        for tokenization, note in _TOKENIZATIONS.items()
        for measure, unit, title, definition in _WORDS
    ]
    names = ("measure", "unit", "title", "definition", "tokenization")
    return numbered(dict(zip(names, each, strict=True)) for each in found)


def score_rows() -> list[RelationRow]:
    """Return the relation `measures` of Table 9."""
    return numbered(
        {"measure": measure, "unit": unit, "title": title} for measure, unit, title in _SCORES
    )
