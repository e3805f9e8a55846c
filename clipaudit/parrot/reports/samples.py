"""The parrot audit's data about single samples: the text in them, caption scores, clusters."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from clipaudit.catalog.parts import AuditPart, Colour
from clipaudit.catalog.samples.catalog import Address, SampleCatalog
from clipaudit.catalog.samples.forms import STROKE, Fate, Section, escaped, picked, section
from clipaudit.catalog.scores import Score, ScoreTable, column_name, folders, score_files
from clipaudit.catalog.view_parts import Columns, chosen, nothing
from clipaudit.config.settings import Settings
from clipaudit.parrot.settings import Parrot
from clipaudit.plaindata import Row
from clipaudit.plaintext import many
from clipaudit.store.store import Store

# --- the view `audit` --------------------------------------------------------------------------


def _queries(columns: Columns, run: Settings | None) -> dict[str, str]:
    audit = run.section(Parrot) if run else None
    encoder = audit.encoder if audit else None
    return {
        "spotted": _spotted(columns),
        "scored": _scored(columns, encoder),
        "grouped": _grouped(columns, encoder),
    }


def _spotted(columns: Columns) -> str:
    """Return the query for the text in an image, and the caption words in it."""
    if "matches" not in columns:
        return nothing(
            spans="int",
            words_caption="int",
            words_co="varchar[]",
            words_rate="double",
            words_fuzzy_rate="double",
            plain_rate="double",
            plain_fuzzy_rate="double",
        )
    return """\
    select
        corpus,
        shard,
        row,
        spans,
        words_caption,
        words_co,
        words_rate,
        words_fuzzy_rate,
        plain_rate,
        plain_fuzzy_rate,
    from matches"""


def _scored(columns: Columns, named: str | None) -> str:
    """Return the query for the caption's scores."""
    if "encoder" not in columns.get("caption_scores", ()):
        return nothing(raw="float", all="float", co="float")
    encoder = chosen(named, "caption_scores", "encoder")
    return f"""\
    select corpus, shard, row, raw, "all", co
    from caption_scores
    where encoder = {encoder}"""


def _grouped(columns: Columns, named: str | None) -> str:
    """Return the query for the image's cluster."""
    if "encoder" not in columns.get("placed", ()):
        return nothing(cluster="int", group="int")
    encoder = chosen(named, "placed", "encoder")
    return f"""\
    select corpus, shard, row, cluster, "group"
    from placed
    where encoder = {encoder}"""


_COLUMNS = """\
    spotted.spans as text_spans,
    spotted.words_caption as caption_words,
    spotted.words_co as co_words,
    spotted.words_rate as cotr,
    spotted.words_fuzzy_rate as cotr_fuzzy,
    spotted.plain_rate as cotr_plain,
    spotted.plain_fuzzy_rate as cotr_plain_fuzzy,
    scored.raw as score,
    scored.raw::double - scored.all::double as rsa,
    scored.raw::double - scored.co::double as rsc,
    grouped.cluster,
    grouped.group as cluster_group,"""

# --- a sample's fate ---------------------------------------------------------------------------


def _fate(catalog: SampleCatalog, address: Address) -> dict[str, Any]:
    of = catalog.rows_of(address)
    return {
        "text": _text(of("spans"), of("matches"), of("readings")),
        "scores": [_scores(row) for row in of("caption_scores", "encoder")],
        "clusters": picked(of("placed", "encoder"), "encoder", "cluster", "group"),
    }


def _text(spans: Sequence[Row], matches: Sequence[Row], readings: Sequence[Row]) -> Row | None:
    if not spans and not matches:
        return None
    as_text = spans[0]["spans"] if spans else []
    read = readings[0]["spans"] if readings else []
    found = {"spans": as_text, "not_counted": [span for span in read if span not in as_text]}
    for prefix in ("words", "plain"):
        fields = ("caption", "co", "rate", "fuzzy", "fuzzy_rate")
        found[prefix] = (
            {field: matches[0][f"{prefix}_{field}"] for field in fields} if matches else None
        )
    return found


def _scores(row: Row) -> Row:
    stated = picked([dict(row)], "encoder", "raw", "all", "co", "random_all", "random_co")[0]
    return {
        **stated,
        "rsa": None if row["all"] is None else row["raw"] - row["all"],
        "rsc": None if row["co"] is None else row["raw"] - row["co"],
    }


def _sentences(fate: Fate) -> Iterator[str]:
    if fate["text"] and fate["text"]["words"]:
        words = fate["text"]["words"]
        yield (
            f"{len(words['co'])} of {words['caption']} caption words appear in the image, "
            f"which shows {many(len(fate['text']['spans']), 'piece')} of text."
        )


def _sections(fate: Fate) -> Iterator[Section]:
    text = fate["text"] or {"spans": []}
    yield section("Text in the image", text["spans"], "text", "score")
    yield section("Read, but not counted as text", text.get("not_counted", []), "text", "score")
    yield Section(
        "Caption words in the image",
        ("split by", "caption words", "in the image", "rate", "fuzzy rate"),
        [
            (name, words["caption"], " ".join(words["co"]), words["rate"], words["fuzzy_rate"])
            for name in ("words", "plain")
            if (words := text.get(name))
        ],
    )
    columns = ("encoder", "raw", "all", "rsa", "co", "rsc", "random_all", "random_co")
    yield section("Caption scores", fate["scores"], *columns)
    yield section("Clusters", fate["clusters"], "encoder", "cluster", "group")


def _shapes(fate: Fate) -> Iterator[str]:
    for span in (fate["text"] or {"spans": []})["spans"]:
        points = " ".join(str(float(number)) for number in span["polygon"])
        title = escaped(span["text"])
        yield f'<polygon class="text" {STROKE} points="{points}"><title>{title}</title></polygon>'


# --- exports -----------------------------------------------------------------------------------


def _score_tables(results: Path, store: Store, corpora: Sequence[str]) -> Iterator[ScoreTable]:
    """Yield the scores of matches, then of each encoder, or of its held-out samples."""
    of_words = "share of the caption's words that are spotted in the image"
    columns = [
        ("text_spans", "pieces of text spotted in the image", "spans", pa.int32()),
        ("cotr", f"CoTR: {of_words}", "words_rate", pa.float64()),
        ("cotr_plain", f"{of_words}, split at spaces only", "plain_rate", pa.float64()),
        ("cotr_fuzzy", f"{of_words} or a similar one", "words_fuzzy_rate", pa.float64()),
    ]
    scores = [Score(name, says, f"max({column})", kind) for name, says, column, kind in columns]
    yield ScoreTable(score_files(results / "matches", store, corpora), scores)
    scored, held_out = (folders(results / stage) for stage in ("caption_scores", "heldout_scores"))
    for encoder in dict.fromkeys([*scored, *held_out]):
        stage = "caption_scores" if encoder in scored else "heldout_scores"
        numbers = [
            ("score", "similarity of image and caption", "raw::double"),
            ("rsa", "RSA: score minus that with all text erased", 'raw::double - "all"::double'),
            (
                "rsc",
                "RSC: score minus that with co-embedded text erased",
                "raw::double - co::double",
            ),
        ]
        scores = [
            Score(
                column_name(name, encoder), f"{says}, by {encoder}", f"max({column})", pa.float64()
            )
            for name, says, column in numbers
        ]
        yield ScoreTable(score_files(results / stage / encoder, store, corpora), scores)


_TEXT = """\
case
    when text_spans = 0 then 'none'
    when len(co_words) > 0 then 'the caption repeats it'
    when text_spans > 0 then 'the caption does not repeat it'
end"""

PART = AuditPart(
    _queries,
    _COLUMNS,
    _fate,
    _sentences,
    _sections,
    _score_tables,
    _shapes,
    colours=[
        Colour("cotr", "CoTR: share of caption words that the image shows", is_number=True),
        Colour("text_spans", "Pieces of text in the image", is_number=True),
        Colour("cluster", "Cluster"),
        Colour("score", "Similarity of image and caption", is_number=True),
    ],
    facets={"Text in the image": _TEXT},
    orders={"Share of the caption in the image": "cotr", "Score of the caption": "score"},
)
