"""Do captions spell the text in the image? The answer, from what was spotted and erased."""

from collections.abc import Iterator, Mapping

from clipaudit.plaindata import Row
from clipaudit.plaintext import plain
from clipaudit.reports.answers import Answer, Sentence, Tables, cannot
from clipaudit.reports.layouts import MISSING, count, measured, number, percent

Key = tuple[str, str, str | None]  # measure, unit, tokenization
Measures = Mapping[Key, Row]  # of one corpus


def parrot_answer(tables: Tables) -> Answer:
    """Return the answer of the parrot audit; what its tables lack is left out."""
    rows = tables.get("parrot_table1", ())
    corpora: dict[str, dict[Key, Row]] = {}
    for row in rows:
        key = (row["measure"], row["unit"], row["tokenization"])
        corpora.setdefault(row["corpus_title"], {})[key] = row
    sentences = [
        Sentence(text, "parrot_table1")
        for corpus, measures in corpora.items()
        if (text := _spotted(corpus, measures))
    ]
    sentences += [*_erased(tables), *_trained(tables)]
    return Answer(
        _parrot_headline(corpora),
        tuple(sentences),
        ("Corpus", *_PARROT_MEASURES.values()) if corpora else (),
        tuple(_corpus_line(corpus, measures) for corpus, measures in corpora.items()),
        f"{_SCORE if tables.get('parrot_table9') else ''}Text is what the spotter reads; words "
        "are compared whatever their case.",
        "Captions",
    )


_SCORE = "Score: the cosine of an image and its caption under the audit's encoder. "
_PARROT_MEASURES = {
    ("with_text", "share", None): "Images with text, %",
    ("parroting", "share", "words"): "of these, the caption repeats a word, %",
    ("rate_with_text", "share", "words"): "Caption's words in the image, where it has text, %",
    ("rate", "share", "words"): "Caption's words in the image, %",
}


def _corpus_line(corpus: str, measures: Measures) -> tuple[str, ...]:
    found = (measures.get(key) for key in _PARROT_MEASURES)
    values = (percent(row["value"], digits=1) if row else "" for row in found)
    return plain(corpus), *(value or MISSING for value in values)


def _parrot_headline(corpora: Mapping[str, Measures]) -> str:
    found = []
    for corpus, measures in corpora.items():
        row = measures.get(("parrots", "share", "words"))
        if row and row["value"] is not None:
            repeats, captions = round(row["value"] * row["pictures"]), row["pictures"]
            share = measured(row, "value", unit=" %")
            what = f"captions of {plain(corpus)} repeat a word of the text in their image, {share}"
            found.append(f"{count(repeats)} of {count(captions)} {what}")
    if not found:
        return cannot("no image with a caption was found")
    return f"{'; '.join(found)}."


def _spotted(corpus: str, measures: Measures) -> str:
    def value(*key: str | None) -> float | None:
        row = measures.get(key)  # type: ignore[arg-type]  # a key that is not there
        return row["value"] if row else None

    images, share = value("images", "count", None), value("with_text", "share", None)
    if images is None or share is None:
        return ""
    text = (
        f"{plain(corpus)}: text was read in {percent(share, digits=1)} % of {count(int(images))} "
        "images"
    )
    repeated = value("parroting", "share", "words")
    if repeated is not None:
        text += f", and {percent(repeated, digits=1)} % of their captions repeat a word of it"
    rate, inside = value("rate", "share", "words"), value("rate_with_text", "share", "words")
    if rate is not None and inside is not None:
        text += (
            f". On average {percent(rate, digits=1)} % of a caption's words stand in its image, "
            f"{percent(inside, digits=1)} % where the image has text"
        )
    return f"{text}."


def _erased(tables: Tables) -> Iterator[Sentence]:
    models: dict[str, dict[str, float | None]] = {}
    for row in tables.get("parrot_table9", ()):
        models.setdefault(row["model"], {})[row["measure"]] = row["value"]
    for model, values in models.items():
        raw, lost, random = (values.get(name) for name in ("raw", "rsc", "random_rsc"))
        if raw is None or lost is None:
            continue
        other = (
            f"; erasing as much elsewhere costs {number(random, digits=3)}"
            if random is not None
            else ""
        )
        yield Sentence(
            f"{plain(model)}: the mean score is {number(raw, digits=3)}; erasing the repeated "
            f"words from an image costs it {number(lost, digits=3)}{other}.",
            "parrot_table9",
        )


def _trained(tables: Tables) -> Iterator[Sentence]:
    """Yield what models learn from images with and without text, size by size."""
    for table in ("parrot_table2", "parrot_table10"):
        rows = [row for row in tables.get(table, ()) if row["average"] is not None]
        if len(rows) > 1:
            shown = [f"{number(row['average'], digits=3)} ({plain(row['title'])})" for row in rows]
            yield Sentence(
                f"Mean over {rows[0]['tasks']} tasks of models trained on such sets: "
                f"{', '.join(shown)}.",
                table,
            )
            return
