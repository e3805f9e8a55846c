"""How the tables of the parrot audit's profile look in print: headings, captions, lines."""

from collections.abc import Mapping

from clipaudit.reports.layouts import (
    MINUS,
    MISSING,
    Layout,
    Line,
    Listing,
    Row,
    count,
    interval,
    percent,
)

LISTED = 21  # captions, as in the paper's Table 14
SMALL = 10  # pixels: lower words are small
DIGITS = 4  # of a score
LETTERS = 100  # of a caption or of words that are printed


def score(value: float | None, *, sign: bool = False) -> str:
    """Return a score or a difference of scores, or nothing for None.

    >>> score(0.30214), score(-0.01, sign=True), score(0.0, sign=True)
    ('0.3021', '\\u22120.0100', '0.0000')
    """
    if value is None:
        return ""
    text = f"{value:{'+' if sign else ''}.{DIGITS}f}"
    is_zero = not text.strip("+-0.")
    return text.lstrip("+-") if is_zero else text.replace("-", MINUS)


def _statistic(row: Row, column: str) -> str:
    value = row[column]
    if value is None:
        return ""
    return count(int(value)) if row["unit"] == "count" else percent(value)


def _score(row: Row, column: str) -> str:
    if row["unit"] == "share":
        return percent(row[column])
    return score(row[column], sign=row["unit"] == "difference")


def _cut(text: str) -> str:
    return text if len(text) <= LETTERS else f"{text[:LETTERS].rstrip()} \N{HORIZONTAL ELLIPSIS}"


def _parrot(row: Row) -> str:
    """Return what names a listed picture. Here, for this is where every form escapes text."""
    address = f"{row['corpus_title']}; {row['shard']}, {row['row']}"
    return f"{row['position'] + 1}. {_cut(row['caption'])} [{_cut(row['co_words'])}] ({address})"


def _recall(row: Row) -> str:
    if row["recall"] is None:
        return MISSING
    bounds = interval(row["recall_low"], row["recall_high"])
    return f"{percent(row['recall'], digits=1)} {bounds}"


def _alarms(row: Row) -> str:
    if row["false_pictures"] is None:
        return MISSING
    return f"{count(row['false_pictures'])} ({count(row['false_spans'])})"


LAYOUTS: Mapping[str, Layout | Listing] = {
    "parrot_table1": Layout(
        caption="Embedded text and parrot captions. CoTR, the co-embedded text rate of a picture, "
        "is the share of the caption's distinct words that are spotted in it; its means count "
        "pictures without text as 0. Fuzzy: words count that nearly equal a spotted one. Words "
        "are Unicode words whatever their case; to the letter: what blanks separate, as in the "
        "paper's Algorithm 1. The paper does not say which its numbers are, so they stand at both.",
        corner="Statistic",
        row="measure_title",
        column="corpus",
        lines=(
            Line("", lambda row: _statistic(row, "value") or MISSING),
            Line("in the paper", lambda row: _statistic(row, "published_value")),
        ),
    ),
    "parrot_table14": Listing(
        caption=f"Parrot captions: the {LISTED} pictures of highest score among those whose "
        "caption has a word that is spotted in them, and in brackets the co-embedded words. "
        "CoTR is their share of the caption's distinct words, the score the cosine of picture and "
        "caption, RSC what it loses when these words are erased from the picture. Captions and "
        f"words are cut after {LETTERS} letters.",
        corner="Caption [co-embedded words] (corpus; shard, row)",
        name=_parrot,
        fields={
            "CoTR, %": lambda row: percent(row["rate"], digits=1),
            "Score": lambda row: score(row["score"]),
            "RSC": lambda row: score(row["rsc"], sign=True) or MISSING,
        },
    ),
    "parrot_table9": Layout(
        caption="Mean scores (cosines of picture and caption) before and after text is erased. "
        "Pictures with nothing to erase keep their score. Random: a picture loses what covers the "
        "text of another one; of pictures with such text, those without such another one keeping "
        "their score. RSA and RSC are the score less that without all text and without co-embedded "
        "text, means over the pictures that have such text, those of random over the ones that "
        "lost something. RSA < 0: the score rises. RSA less RSC is the score without co-embedded "
        "text less that without all text. The paper's numbers are those of a CLIP ViT-B-32.",
        corner="Corpus, model",
        row="model",
        column="measure",
        lines=(
            Line("", lambda row: _score(row, "value") or MISSING),
            Line("pictures", lambda row: count(row["pictures"])),
            Line("in the paper", lambda row: _score(row, "published_value")),
        ),
    ),
    "parrot_truth": Listing(
        caption="How well text is read where it is known: pictures of a made world, in which at "
        "most one word is written, by how high its letters are. Read: the word is among the "
        "spotted ones, with the exact 95 % interval. Right: spotted words, distinct in each "
        "picture, that are written there. CoTR is a mean over captions with words, by the truth "
        "and by the spotter. False alarms: pictures with spotted text in which none is written.",
        corner="Corpus, height",
        name=lambda row: f"{row['corpus_title']}, {row['height_title']}",
        fields={
            "Pictures": lambda row: count(row["pictures"]),
            "W/ text": lambda row: count(row["words"]),
            "W/ text, spotted": lambda row: count(row["with_spans"]),
            "Read, %": _recall,
            "Words spotted": lambda row: count(row["spotted"]),
            "Right, %": lambda row: percent(row["precision"], digits=1) or MISSING,
            "CoTR, %": lambda row: percent(row["truth_rate"]) or MISSING,
            "CoTR, spotted, %": lambda row: percent(row["spotted_rate"]) or MISSING,
            "Same CoTR, %": lambda row: percent(row["equal_rates"], digits=1) or MISSING,
            "False alarms (spans)": _alarms,
        },
    ),
}
