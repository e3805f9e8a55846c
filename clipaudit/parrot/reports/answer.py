"""Answer whether captions spell the text in the image, from spotted and erased text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from clipaudit.parrot.reports.layouts import NOT_CHECKED
from clipaudit.plaindata import Row
from clipaudit.plaintext import plain
from clipaudit.reports.answers import Answer, Sentence, Tables, cannot
from clipaudit.reports.layouts import (
    MISSING,
    count,
    digits_beside,
    interval,
    measured,
    number,
    percent,
)

Key = tuple[str, str, str | None]  # measure, unit, tokenization
Measures = Mapping[Key, Row]  # of one corpus
Bounded = tuple[float, float | None, float | None]  # a value and its 95 % interval

# Tables with a row per model. The models of Table 10 are among those of Table 2.
_PROBED = (*(f"parrot_table{number}" for number in (8, 2, 3, 4, 5, 11, 12, 13)), "parrot_filters")


def parrot_answer(tables: Tables) -> Answer:
    """Return the answer of the parrot audit, as far as its tables allow."""
    corpora = _by_corpus(tables.get("parrot_table1", ()))
    sentences = [
        Sentence(text, "parrot_table1")
        for title, measures in corpora
        if (text := _spotted(title, measures))
    ]
    sentences += [*_erased(tables), *_trained(tables), *_read(tables), *_read_over_seeds(tables)]
    sentences += _attacked(tables)
    return Answer(
        _parrot_headline(corpora),
        tuple(sentences),
        ("Corpus", *_PARROT_MEASURES.values(), "False alarms, %") if corpora else (),
        tuple(_corpus_line(title, measures) for title, measures in corpora),
        f"{_SCORE if tables.get('parrot_table9') else ''}Text is what the spotter reads; case "
        "is ignored when words are compared.",
        "Captions",
    )


def _by_corpus(rows: Sequence[Row]) -> list[tuple[str, Measures]]:
    """Return each corpus's title and measures; several may have one title."""
    corpora: dict[str, dict[Key, Row]] = {}
    for row in rows:
        key = (row["measure"], row["unit"], row["tokenization"])
        corpora.setdefault(row["corpus"], {})[key] = row
    return [(next(iter(own.values()))["corpus_title"], own) for own in corpora.values()]


_SCORE = "Score: the cosine of an image and its caption under the audit's encoder. "
_PARROT_MEASURES = {
    ("with_text", "share", None): "Images with text, %",
    ("parroting", "share", "words"): "of these, the caption repeats a word, %",
    ("rate_with_text", "share", "words"): "Caption's words in the image, if it has text, %",
    ("rate", "share", "words"): "Caption's words in the image, %",
}


_ALARMS: Key = ("false_alarms", "share", None)
_MISSED: Key = ("missed", "share", None)


def _corpus_line(title: str, measures: Measures) -> tuple[str, ...]:
    found = (measures.get(key) for key in _PARROT_MEASURES)
    values = (percent(row["value"], digits=1) if row else "" for row in found)
    alarms = measures.get(_ALARMS)
    checked = (measured(alarms, "value") if alarms else "") or NOT_CHECKED
    return plain(title), *(value or MISSING for value in values), checked


def _parrot_headline(corpora: Sequence[tuple[str, Measures]]) -> str:
    found = []
    for title, measures in corpora:
        row = measures.get(("parrots", "share", "words"))
        if row and row["value"] is not None:
            repeats, captions = round(row["value"] * row["pictures"]), row["pictures"]
            share = measured(row, "value", unit=" %")
            what = f"captions of {plain(title)} repeat a word of the text in their image, {share}"
            said = f"{count(repeats)} of {count(captions)} {what}, {_alarms(measures)}"
            missing = measures.get(("without_words", "count", "words"))
            if missing and missing["value"]:
                said += f", images without caption words: {count(int(missing['value']))}"
            found.append(said)
    if not found:
        return cannot("no image with a caption was found")
    return f"{'; '.join(found)}."


def _alarms(measures: Measures) -> str:
    """Return how often the spotter sees text that is not there, or "not checked"."""
    row = measures.get(_ALARMS)
    if row is None or row["value"] is None:
        return f"false alarms: {NOT_CHECKED}"
    share = measured(row, "value", unit=" %")
    return f"false alarms: {share} of {count(row['pictures'])} images without text"


def _mistakes(measures: Measures) -> str:
    """Return a sentence on false alarms, and on misses if they are known."""
    missed = measures.get(_MISSED)
    text = _alarms(measures)
    if missed is not None and missed["value"] is not None:
        share = measured(missed, "value", unit=" %")
        text += f"; missed: {share} of {count(missed['pictures'])} images with text"
    return f"{text[0].upper()}{text[1:]}."


def _spotted(title: str, measures: Measures) -> str:
    def value(*key: str | None) -> float | None:
        row = measures.get(key)  # type: ignore[arg-type]  # a key that is not there
        return row["value"] if row else None

    def share(*key: str | None) -> str:
        row = measures.get(key)  # type: ignore[arg-type]
        return measured(row, "value", unit=" %") if row else ""

    images, with_text = value("images", "count", None), share("with_text", "share", None)
    if images is None or not with_text:
        return ""
    text = f"{plain(title)}: text was read in {with_text} of {count(int(images))} images"
    if repeated := share("parroting", "share", "words"):
        text += f", and {repeated} of their captions repeat a word of it"
    rate, inside = share("rate", "share", "words"), share("rate_with_text", "share", "words")
    if rate and inside:
        text += (
            f". On average {rate} of a caption's words appear in its image, {inside} if the image "
            "has text"
        )
    return f"{text}. {_mistakes(measures)}"


def _erased(tables: Tables) -> Iterator[Sentence]:
    models: dict[tuple[str, str], dict[str, Row]] = {}
    titles: dict[tuple[str, str], str] = {}
    for row in tables.get("parrot_table9", ()):
        model = row["corpus"], row["encoder"]
        titles[model] = row["model"]
        if row["value"] is not None:
            models.setdefault(model, {})[row["measure"]] = row
    for model, rows in models.items():
        if "raw" not in rows:
            continue
        costs = [
            f"erasing {what} from an image costs it {_mean(rows[loss])}"
            + _elsewhere(rows.get(f"random_{loss}"))
            for loss, what in (("rsa", "all text"), ("rsc", "the repeated words"))
            if loss in rows
        ]
        if costs:
            yield Sentence(
                f"{plain(titles[model])}: the mean score is {_mean(rows['raw'])}; "
                f"{'; '.join(costs)}.",
                "parrot_table9",
            )


def _elsewhere(cost: Row | None) -> str:
    return "" if cost is None else f" (the area of another image's text: {_mean(cost)})"


def _mean(row: Row) -> str:
    bounds = interval(row["value_low"], row["value_high"], form=number, digits=3)
    return f"{number(row['value'], digits=3)} {bounds}".strip()


def _trained(tables: Tables) -> Iterator[Sentence]:
    """Yield the results of models trained on images with and without text."""
    for table in ("parrot_table2", "parrot_table10"):
        rows = [row for row in tables.get(table, ()) if row["average"] is not None]
        if len(rows) > 1:
            shown = [f"{number(row['average'], digits=3)} ({plain(row['title'])})" for row in rows]
            yield Sentence(
                f"Mean over {rows[0]['tasks']} tasks of models trained with and without text: "
                f"{', '.join(shown)}.",
                table,
            )
            return


def _read(tables: Tables) -> Iterator[Sentence]:
    """Yield, by table, which models are shown to read and which are not; each model once."""
    told: set[str] = set()
    for table in _PROBED:
        rows = [
            row
            for row in tables.get(table, ())
            if row["reading"] is not None and row["encoder"] not in told
        ]
        told |= {row["encoder"] for row in rows}
        if rows:
            yield Sentence(_readings([_Reading.of(row) for row in rows]), table)


def _read_over_seeds(tables: Tables) -> Iterator[Sentence]:
    """Yield which arms of the evidence are shown to read, and which read more than another."""
    pairs: dict[tuple[str, str], dict[str, Row]] = {}
    for row in tables.get("parrot_evidence", ()):
        if row["recipe"] is None:
            pairs.setdefault((row["arm"], row["against"]), {})[row["measure"]] = row
    known = {
        pair: measures
        for pair, measures in pairs.items()
        if measures["reading"]["difference"] is not None
    }
    alone = {
        arm: _Reading.over_seeds(each) for (arm, against), each in known.items() if not against
    }
    if alone:
        yield Sentence(_readings(list(alone.values())), "parrot_evidence")
    shown = {arm for arm, each in alone.items() if each.is_shown()}
    for (arm, against), measures in known.items():
        if against:
            text = _exceeds(measures["reading"], first=arm in shown, second=against in shown)
            yield Sentence(f"{text}{_accuracy(measures.get('imagenet'))}", "parrot_evidence")


def _attacked(tables: Tables) -> Iterator[Sentence]:
    """Yield, by test set, which models lose more to a class name than to a meaningless word."""
    rows = [row for row in tables.get("parrot_attack", ()) if row["harm"] is not None]
    for testset in dict.fromkeys(row["testset"] for row in rows):
        own = [row for row in rows if row["testset"] == testset]
        title = plain(own[0]["testset_title"])
        kinds = {
            "costs accuracy beyond a meaningless word": [r for r in own if r["harm_low"] > 0],
            "is not shown to cost accuracy beyond a meaningless word": [
                row for row in own if row["harm_low"] <= 0
            ],
        }
        text = " ".join(
            f"A wrong class name printed on {title} {what}: {'; '.join(map(_harm, found))}."
            for what, found in kinds.items()
            if found
        )
        yield Sentence(text, "parrot_attack")


def _harm(row: Row) -> str:
    return (
        f"{plain(row['title'])} ({percent(row['control'], digits=1)} % with the word, "
        f"{percent(row['attacked'], digits=1)} % with the name, difference "
        f"{measured(row, 'harm', sign=True)})"
    )


class _Reading(NamedTuple):
    """The values that show whether a model reads, with their intervals, and chance."""

    title: str
    reading: Bounded  # cosine of a word's image with this word, minus that with others
    right: Bounded  # share of images whose own word is the most similar one
    chance: float | None

    @classmethod
    def of(cls, row: Row) -> "_Reading":
        """Return the values of a row of a table of trained models."""
        reading, right = (
            (row[name], row[f"{name}_low"], row[f"{name}_high"])
            for name in ("reading", "right_word")
        )
        return cls(row["title"], reading, right, row["chance"])

    @classmethod
    def over_seeds(cls, measures: Mapping[str, Row]) -> "_Reading":
        """Return the values of an arm of the evidence."""
        reading, right = measures["reading"], measures["right_word"]
        return cls(reading["title"], _bounded(reading), _bounded(right), right["chance"])

    def is_shown(self) -> bool:
        """Return whether both intervals show reading: one above 0, one above chance."""
        (_, low, _), (_, right_low, _) = self.reading, self.right
        if low is None or right_low is None or self.chance is None:
            return False
        return low > 0 and right_low > self.chance

    def text(self) -> str:
        """Return the model and its numbers."""
        right, *bounds = self.right
        chance = self.chance or 0.0
        digits = digits_beside(chance, *bounds, digits=1, unit=100)
        share = f"{percent(right, digits=digits)} % {interval(*bounds, digits=digits)}".strip()
        return (
            f"{plain(self.title)} (own less other words {_signed(self.reading)}, right word in "
            f"{share}, by chance {percent(self.chance, digits=digits)} %)"
        )


def _readings(models: Sequence[_Reading]) -> str:
    """Return sentences that name the models shown to read, and the others."""
    kinds = {
        "Shown to read words": [each.text() for each in models if each.is_shown()],
        "Not shown to read words": [each.text() for each in models if not each.is_shown()],
    }
    return " ".join(f"{kind}: {'; '.join(texts)}." for kind, texts in kinds.items() if texts)


def _exceeds(row: Row, *, first: bool, second: bool) -> str:
    """Return a sentence on the difference in reading between two arms.

    `first` and `second` say whether each arm is shown to read.
    """
    _, low, high = _bounded(row)
    if first and low is not None and low > 0:
        verdict = "the first reads more"
    elif second and high is not None and high < 0:
        verdict = "the first reads less"
    else:
        verdict = "no difference in reading is shown"
    differ = f"own less other words differ by {_signed(_bounded(row))}"
    return f"{plain(row['title'])}: {verdict}; {differ}."


def _accuracy(row: Row | None) -> str:
    """Return the sentence on the difference in accuracy; "" if there is none."""
    if row is None or row["difference"] is None:
        return ""
    value, low, high = (None if each is None else 100 * each for each in _bounded(row))
    digits = digits_beside(0, low, high, digits=1)
    shown = interval(low, high, form=number, digits=digits, sign=True)
    points = f"{number(value, digits=digits, sign=True)} points {shown}".strip()
    return f" Accuracy differs by {points}."


def _bounded(row: Row) -> Bounded:
    return row["difference"], row["difference_low"], row["difference_high"]


def _signed(found: Bounded) -> str:
    value, *bounds = found
    digits = digits_beside(0, *bounds, digits=3)
    shown = interval(*bounds, form=number, digits=digits, sign=True)
    return f"{number(value, digits=digits, sign=True)} {shown}".strip()
