"""The printed form of the parrot-caption audit's tables: headings, captions, lines."""

from collections.abc import Callable, Mapping
from functools import partial

from clipaudit.plaindata import Row
from clipaudit.reports.layouts import (
    MISSING,
    NOT_TRAINED,
    Cell,
    Layout,
    Line,
    Listing,
    cell,
    count,
    interval,
    measured,
    number,
    percent,
)

LISTED = 21  # captions, as in the paper's Table 14
SMALL = 10  # pixels: words of less height are small
SCORE_DIGITS = 4
MISTAKES = ("false_alarms", "missed")  # of the spotter, if the text in images is known
NOT_CHECKED = "not checked"
LETTERS = 100  # letters printed of a caption or of words
DIGITS = 3  # of a model's numbers, as in the paper


# --- the profile of a corpus ---------------------------------------------------------------------


def score(value: float | None, *, sign: bool = False) -> str:
    """Format a score or a difference of scores; "" for None.

    >>> score(0.30214), score(-0.01, sign=True), score(0.0, sign=True)
    ('0.3021', '\\u22120.0100', '0.0000')
    """
    return number(value, digits=SCORE_DIGITS, sign=sign)


def _statistic(row: Row) -> str:
    """Return a number of Table 1; for mistakes with its interval, or "not checked"."""
    if row["measure"] in MISTAKES:
        return measured(row, "value") or NOT_CHECKED
    return _plain_statistic(row, "value") or MISSING


def _plain_statistic(row: Row, column: str) -> str:
    value = row[column]
    if value is None:
        return ""
    return count(int(value)) if row["unit"] == "count" else percent(value)


def _score(row: Row, column: str) -> str:
    if row["unit"] == "share":
        return percent(row[column])
    return score(row[column], sign=row["unit"] == "difference")


def _score_bounds(row: Row) -> str:
    bounds = row["value_low"], row["value_high"]
    if row["unit"] == "share":
        return interval(*bounds)
    return interval(*bounds, form=number, digits=SCORE_DIGITS, sign=row["unit"] == "difference")


def _cut(text: str) -> str:
    return text if len(text) <= LETTERS else f"{text[:LETTERS].rstrip()} \N{HORIZONTAL ELLIPSIS}"


def _parrot(row: Row) -> str:
    """Return the name of a listed image; every form of the table escapes its text."""
    address = f"{row['corpus_title']}; {row['shard']}, {row['row']}"
    return f"{row['position'] + 1}. {_cut(row['caption'])} [{_cut(row['co_words'])}] ({address})"


def _alarms(row: Row) -> str:
    if row["false_pictures"] is None:
        return MISSING
    return f"{count(row['false_pictures'])} ({count(row['false_spans'])})"


# --- trained models ------------------------------------------------------------------------------


_rounded = partial(number, digits=DIGITS)


def _trained(row: Row) -> str:
    """Return the title of a set and model, and why there is no model."""
    if not row["in_grid"]:
        return f"{row['title']}{NOT_TRAINED}"
    return f"{row['title']}{'' if row['samples'] else ', too small'}"


def _beside(column: str, form: Callable[..., str] = _rounded) -> Cell:
    """Return a function that prints a number, and the paper's in brackets if it has one."""

    def cell(row: Row) -> str:
        own, paper = form(row[column]) or MISSING, form(row[f"published_{column}"])
        return f"{own} ({paper})" if paper else own

    return cell


def _average(row: Row) -> str:
    """Return the mean over tasks, and their number."""
    average = _beside("average")(row)
    return f"{average}, n = {row['tasks']}" if row["tasks"] else average


def _bounds(row: Row) -> str:
    low, high = row["difference_low"], row["difference_high"]
    return interval(low, high, form=number, digits=DIGITS, sign=True)


def _reading(row: Row) -> str:
    """Return the difference of own and other words, and its interval."""
    value = number(row["reading"], digits=DIGITS, sign=True)
    bounds = interval(
        row["reading_low"], row["reading_high"], form=number, digits=DIGITS, sign=True
    )
    return f"{value} {bounds}".strip() or MISSING


def _of_pair(row: Row, column: str) -> str:
    """Return the value of one of two arms; "" for a single arm."""
    return number(row[column], digits=DIGITS) if row["against"] else ""


def _chance(row: Row) -> str:
    return "" if row["chance"] is None else number(row["chance"], digits=DIGITS)


def _skipped(row: Row) -> str:
    return f" ({row['track']})" + (f", skipped: {row['reason']}" if row["reason"] else "")


_TASKS: Mapping[str, Cell] = {
    "IN": _beside("imagenet"),
    "Ret.": _beside("retrieval"),
    "Avg.": _average,
}
_READING: Mapping[str, Cell] = {
    "Other word": cell(number, "mismatched", digits=DIGITS, missing=MISSING),
    "Difference": _reading,
    "Right word, %": lambda row: measured(row, "right_word") or MISSING,
    "Chance, %": cell(percent, "chance", digits=1, missing=MISSING),
}
_SYNC: Mapping[str, Cell] = {"Sync. S": _beside("sync"), **_READING}
_SCORE: Mapping[str, Cell] = {"Avg. S": _beside("avg_score")}
_TRAINING: Mapping[str, Cell] = {
    "Samples": cell(count, "samples", missing=MISSING),
    "Final loss": cell(number, "final_loss", digits=DIGITS, missing=MISSING),
}

_ACCURACY = "IN: zero-shot accuracy on the test set that stands for ImageNet"
_RECALL = (
    "mean R@1 of captions to images and back, with WinoGAViL's Jaccard score if the suite has it"
)
_RETRIEVAL = f"Ret.: {_RECALL}"
_AVERAGE = "Avg.: the mean over all n tasks"
_PROBE = (
    "Sync. S: the mean cosine of a word of the vocabulary and an image of only that word; "
    "other word: of the image and each other word. A model reads only if the difference is "
    "above 0 and the right word is the most similar one more often than by chance"
)
_END = (
    f"{_PROBE}. Their 95 % intervals are over words. The final loss is a mean over the last epoch. "
    "In brackets: the paper's number, if the set's corpus is the paper's and model and size have "
    "its names; its average is over 38 tasks. Not trained: this run's settings ask for no such "
    "model."
)


def _ablation(title: str, what: str, *, score: bool = False) -> Listing:
    """Return a table of models trained on sets of equal size; `score` adds their mean score."""
    text = "; Avg. S: the mean score of the set's pairs by the audit's encoder" if score else ""
    return Listing(
        title=title,
        caption=f"{what} {_ACCURACY}; {_RETRIEVAL}; {_AVERAGE}{text}. {_END}",
        corner="Data / model",
        name=_trained,
        fields={**(_SCORE if score else {}), **_TASKS, **_SYNC, **_TRAINING},
    )


_TEXT = "Models trained on images with and without embedded text."
_COTR = (
    "Models trained on images with embedded text, by the share of the caption's words that are "
    "spotted in the image (CoTR)."
)
_RSA = (
    "Models trained on sets by RSA: the score of a pair minus that of its image with all text "
    "erased. Sets have only images with text, except those named `or no text`, which count "
    "images without text as RSA 0. The paper does not say which its set of RSA ≥ 0 is, so "
    "each row of RSA ≥ 0 shows its numbers."
)
_RSC = (
    "Models trained on sets by RSC: the score of a pair minus that of its image with the text "
    "erased that the caption repeats."
)
_LARGEST = " The largest size."

LAYOUTS: Mapping[str, Layout | Listing] = {
    "parrot_table1": Layout(
        title="Text in images, and captions that repeat it",
        caption="Embedded text and parrot captions. CoTR, the co-embedded text rate of an image, "
        "is the share of the caption's distinct words that are spotted in it; its means count "
        "images without text as 0. Fuzzy: words that nearly equal a spotted one count too. Words "
        "are Unicode words, compared without case; to the letter: words split at blanks, as in the "
        "paper's Algorithm 1. The paper does not say which its numbers are, so both rows show "
        "them. False alarms and misses, with 95 % intervals, are known for drawn worlds and for "
        "images checked by hand (parrot.checked).",
        corner="Statistic",
        row="measure_title",
        column="corpus",
        lines=(
            Line("", _statistic),
            Line("in the paper", lambda row: _plain_statistic(row, "published_value")),
        ),
    ),
    "parrot_fuzzy": Layout(
        title="Captions that nearly repeat the text, by threshold",
        caption="Fuzzy CoTR by the threshold from which words count as equal: 1 - distance / "
        "length, with Levenshtein's distance and the longer word's length. Means over captions "
        "with words, and over those of images with text. The paper does not state its threshold, "
        "so every row shows its numbers.",
        corner="Threshold",
        row="threshold_title",
        column="corpus",
        lines=(
            Line("", cell(percent, "rate", missing=MISSING)),
            Line("in images w/ emb. text", cell(percent, "rate_with_text", missing=MISSING)),
            Line("in the paper", cell(percent, "published_rate")),
            Line("in the paper, w/ emb. text", cell(percent, "published_rate_with_text")),
        ),
    ),
    "parrot_table14": Listing(
        title="The captions that parrot text with the highest score",
        caption=f"Parrot captions: the {LISTED} images of highest score among those whose "
        "caption has a word that is spotted in them. Brackets hold the co-embedded words. "
        "CoTR is their share of the caption's distinct words. The score is the cosine of image and "
        "caption. RSC is its loss when these words are erased from the image, RSC of random "
        "its loss when the area of another image's text is erased. Captions and "
        f"words are cut after {LETTERS} letters.",
        corner="Caption [co-embedded words] (corpus; shard, row)",
        name=_parrot,
        fields={
            "CoTR, %": cell(percent, "rate", digits=1),
            "Score": cell(score, "score"),
            "RSC": cell(score, "rsc", sign=True, missing=MISSING),
            "RSC of random": cell(score, "random_rsc", sign=True, missing=MISSING),
        },
    ),
    "parrot_table9": Layout(
        title="Scores before and after text is erased",
        caption="Mean scores (cosines of image and caption) before and after text is erased. "
        "Images with nothing to erase keep their score. Random: each image with such text loses "
        "the area of another image's text, or keeps its score if there is no such image. "
        "RSA and RSC are the score minus that without all text and without co-embedded text: means "
        "over the images that have such text, for random over those that lost something. RSA < 0: "
        "the score rises. RSA less RSC is the score without co-embedded text minus that "
        "without all text. Intervals are over images. The paper's numbers are those of a CLIP "
        "ViT-B-32.",
        corner="Corpus, model",
        row="model",
        column="measure",
        lines=(
            Line("", lambda row: _score(row, "value") or MISSING),
            Line("95 % interval", _score_bounds),
            Line("images", cell(count, "pictures")),
            Line("in the paper", lambda row: _score(row, "published_value")),
        ),
    ),
    "parrot_truth": Listing(
        title="How well known text is read",
        caption="How well known text is read: images of a synthetic world, with at "
        "most one word each, by the height of its letters. Read: the word is among the "
        "spotted ones, with the exact 95 % interval. Right: spotted words, distinct in each "
        "image, that are written there. CoTR is a mean over captions with words, by the truth "
        "and by the spotter. False alarms: images with spotted text but no written text.",
        corner="Corpus, height",
        name=lambda row: f"{row['corpus_title']}, {row['height_title']}",
        fields={
            "Images": cell(count, "pictures"),
            "W/ text": cell(count, "words"),
            "W/ text, spotted": cell(count, "with_spans"),
            "Read, %": lambda row: measured(row, "recall") or MISSING,
            "Words spotted": cell(count, "spotted"),
            "Right, %": cell(percent, "precision", digits=1, missing=MISSING),
            "CoTR, %": cell(percent, "truth_rate", missing=MISSING),
            "CoTR, spotted, %": cell(percent, "spotted_rate", missing=MISSING),
            "Same CoTR, %": cell(percent, "equal_rates", digits=1, missing=MISSING),
            "False alarms (spans)": _alarms,
        },
    ),
    "parrot_evidence": Layout(
        title="What parrot captions teach a model, over seeds",
        caption="What parrot captions teach, over seeds: models with the same random seed trained "
        "on a set full of them and on one without. Rows of two sets show the first set's model "
        "minus the second's; rows of one set show its model alone. Means over seeds have a 95 % "
        "interval, over seeds and words or images, and the number of seeds with the same sign; the "
        f"single seeds follow below. {_PROBE}; {_ACCURACY}; Avg.: the mean over all tasks. The "
        "final loss is a mean over the last epoch.",
        corner="Sets, seed",
        row="title",
        column="measure",
        lines=(
            Line("", cell(number, "difference", digits=DIGITS, sign=True, missing=MISSING)),
            Line("95 % interval", _bounds),
            Line(
                "seeds of this sign",
                lambda row: f"{row['same_sign']} of {row['seeds']}" if row["seeds"] else "",
            ),
            Line("first set", lambda row: _of_pair(row, "value")),
            Line("second set", lambda row: _of_pair(row, "against_value")),
            Line("chance", _chance),
        ),
    ),
    "parrot_attack": Listing(
        title="Accuracy lost when a wrong class name is printed on the image",
        caption="A wrong class's name printed on test images: a typographic attack. Accuracy is "
        "zero-shot, with 95 % intervals: for unchanged images, with a printed meaningless word of "
        "as many letters, and with the wrong name in its place, in letters of the same size "
        "and colour. Any word costs: the first minus the second. The name costs: the second minus "
        "the third, the harm of the text's meaning. Answers name: the share of images for which "
        "the model predicts the printed class, and the same share with the meaningless word. "
        "Differences compare the same images; intervals are over images. Right over printed: the "
        "share of images more similar to the right class than to the printed one. Images that "
        "already bear a name have no control, so no harm is stated.",
        corner="Test set, model",
        name=lambda row: f"{row['testset_title']}, {row['title']}",
        fields={
            "Images": cell(count, "images"),
            "Accuracy, %": lambda row: measured(row, "plain") or MISSING,
            "With a word, %": lambda row: measured(row, "control") or MISSING,
            "With the name, %": lambda row: measured(row, "attacked") or MISSING,
            "Any word costs": lambda row: measured(row, "clutter", sign=True) or MISSING,
            "The name costs": lambda row: measured(row, "harm", sign=True) or MISSING,
            "Answers name, %": cell(percent, "named", digits=1, missing=MISSING),
            "So with a word, %": cell(percent, "named_control", digits=1, missing=MISSING),
            "Difference": lambda row: measured(row, "following", sign=True) or MISSING,
            "Right over printed, %": cell(percent, "right_over_printed", digits=1, missing=MISSING),
        },
    ),
    "parrot_suite": Layout(
        title="Results on the tasks of the DataComp suite",
        caption="The tasks of the DataComp suite: the main metric of each, by clip_benchmark. A "
        "task is listed as skipped if its webdataset is not in the suite's folder or "
        "clip_benchmark does not compute it.",
        corner="Task (track)",
        row="title",
        column="encoder",
        row_note=_skipped,
        lines=(Line("", cell(number, "value", digits=DIGITS, missing=MISSING)),),
    ),
    "parrot_filters": _ablation(
        "Models trained on sets that filters choose",
        "Models trained on sets of equal size that filters choose, beside random sets and sets "
        "without text. Highest score: by the audit's encoder; highest masked score: that of the "
        "image with all text erased (T-MARS); highest stated score: a number in the samples' JSON "
        "or in given files. Basic: a random draw of what DataComp's basic filter keeps, of any "
        "language; text-based: of the samples whose caption names one of the given words.",
        score=True,
    ),
    "parrot_table10": _ablation(
        "Models trained with and without text in images, smallest size",
        f"{_TEXT} The smallest size, beside the paper's models trained on CC12M.",
    ),
    "parrot_table11": _ablation(
        "Models trained by how much of the caption is in the image, largest size",
        _COTR + _LARGEST,
    ),
    "parrot_table12": _ablation(
        "Models trained by what all text adds to the score, largest size",
        _RSA + _LARGEST,
        score=True,
    ),
    "parrot_table13": _ablation(
        "Models trained by what repeated text adds to the score, largest size",
        f"{_RSC}{_LARGEST} The paper's own Table 13 repeats its Table 5, so its numbers are "
        "omitted here.",
        score=True,
    ),
    "parrot_table2": _ablation("Models trained with and without text in images", _TEXT),
    "parrot_table3": _ablation("Models trained by how much of the caption is in the image", _COTR),
    "parrot_table4": _ablation(
        "Models trained by what all text adds to the score", _RSA, score=True
    ),
    "parrot_table5": _ablation(
        "Models trained by what repeated text adds to the score", _RSC, score=True
    ),
    "parrot_table8": Listing(
        title="Models trained on the debiased set, beside others",
        caption="Models trained on the debiased subset (no text, a high score) beside others. "
        f"{_PROBE}; mean and standard deviation over words and styles, 95 % "
        "intervals over words. ImageNet: "
        "the test set that stands for it; dist. shifts: the mean over its other test sets; "
        f"retrieval: {_RECALL}; average: over all n tasks. In brackets: the number of the paper's "
        "model with that name, whose average is over 38 tasks. The paper's standard deviations are "
        "doubtful: 0.305 beside CLIP's mean of 0.317 would put one cosine in seven below 0.",
        corner="Model",
        name=lambda row: row["title"],
        fields={
            "Samples": _beside("samples", count),
            "Sync. S, mean": _beside("sync_mean"),
            "Sync. S, std": _beside("sync_std"),
            **_READING,
            "ImageNet": _beside("imagenet"),
            "Dist. shifts": _beside("shifts"),
            "VTAB": _beside("vtab"),
            "Retrieval": _beside("retrieval"),
            "Average": _average,
        },
    ),
}
