"""Find co-embedded words, a caption's words that are also spotted in its image, and their rate.

Lin et al., ECCV 2024, Algorithm 1 and Sec. 4.1: https://arxiv.org/abs/2312.14232. The paper's text
calls the rate an IoU; here it is Algorithm 1's share of the caption's distinct words. `plain`
follows Algorithm 1 exactly; the paper's Table 14 needs `words`. A caption without words has no
rate; Algorithm 1 divides by zero there. The paper states no fuzzy threshold; here it is 0.8.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction

import numpy as np
import pyarrow as pa
from jaxtyping import Int64
from rapidfuzz.distance import Levenshtein

from clipaudit.corpora.addresses import sample_addresses, shard_row
from clipaudit.corpora.drops import table_of_rows
from clipaudit.errors import ConfigError, StoreError
from clipaudit.parrot.spans import Polygon, Span
from clipaudit.parrot.tokens import TOKENIZATIONS, Tokenization, tokens

FUZZY_THRESHOLD = 0.8  # the paper states none

_WORDS = pa.list_(pa.field("word", pa.string(), nullable=False))


def _tokenization_fields(prefix: Tokenization) -> list[pa.Field]:
    return [
        pa.field(f"{prefix}_caption", pa.int32(), nullable=False),  # distinct words of the caption
        # those that are spotted too, in code point order
        pa.field(f"{prefix}_co", _WORDS, nullable=False),
        # co-embedded words / caption words; null: the caption is null or has no words
        pa.field(f"{prefix}_rate", pa.float64()),
        # caption words with a similar spotted word, equal ones included
        pa.field(f"{prefix}_fuzzy", pa.int32(), nullable=False),
        pa.field(f"{prefix}_fuzzy_rate", pa.float64()),  # null where the rate is
    ]


# One row per row of SPANS, by (shard, row).
MATCHES = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("spans", pa.int32(), nullable=False),  # pieces of text; 0: an image without text
        *(field for prefix in TOKENIZATIONS for field in _tokenization_fields(prefix)),
    ]
)


def match(
    samples: pa.Table, spans: pa.Table, *, fuzzy_threshold: float = FUZZY_THRESHOLD
) -> pa.Table:
    """Return the MATCHES of every image of `spans`, by (shard, row), for any order of the inputs.

    `samples` is a SAMPLES table, read for shard, row and caption; it may hold more than `spans`, a
    SPANS table. A repeated word counts once. A caption word is matched fuzzily if
    1 - distance / length >= `fuzzy_threshold` with a spotted word, where distance is Levenshtein's
    in code points and length that of the longer word. The threshold is taken as its decimal
    notation, so that 0.8 allows one letter of five.

    Raises ConfigError for a threshold outside 0 < threshold <= 1, StoreError for an image that
    `samples` lacks and for a sample or image that occurs twice.
    """
    if not 0 < fuzzy_threshold <= 1:  # so that NaN is refused too
        raise ConfigError(f"fuzzy threshold {fuzzy_threshold}: give a number above 0 and at most 1")
    threshold = Fraction(repr(float(fuzzy_threshold)))  # 0.8 is 4/5, unlike the float
    addresses, order = sorted_places(spans, "spans")
    captions = _captions(samples, addresses)
    texts = list(span_texts(spans))
    rows = (
        (*shard_row(int(address)), *_row(caption, texts[place], threshold))
        for address, place, caption in zip(addresses, order, captions, strict=True)
    )
    return table_of_rows(rows, MATCHES)


def co_embedded(
    spans: Sequence[Span], co_words: AbstractSet[str], tokenization: Tokenization
) -> list[Polygon]:
    """Return the polygons that cover the co-embedded words in one image's spans, in their order.

    A span gives the polygons of its words that contain a co-embedded word. It gives its own polygon
    if all its words are co-embedded, since boxes of words may cut letters off; if the spotter gives
    no words; or if these contain a co-embedded word fewer times than the span does, for example
    because the spotter splits it in two. A span without such words gives none.

    >>> from clipaudit.parrot.spans import Word
    >>> box, left, right = (0, 0, 9, 0, 9, 9), (0, 0, 4, 0, 4, 9), (5, 0, 9, 0, 9, 9)
    >>> span = Span("Be Mine", 0.9, box, (Word("Be", left), Word("Mine", right)))
    >>> co_embedded([span, span._replace(words=None)], {"mine"}, "words") == [right, box]
    True
    """
    return [polygon for span in spans for polygon in _co_embedded_in(span, co_words, tokenization)]


def span_texts(spans: pa.Table) -> Iterator[list[str]]:
    """Yield the texts of the spans of each row of SPANS, in order; faster than `spans_of`."""
    for chunk in spans["spans"].chunks:
        texts = chunk.flatten().field("text").to_pylist()
        ends = np.cumsum(np.asarray(chunk.value_lengths()), dtype=np.int64).tolist()
        yield from (texts[start:end] for start, end in zip([0, *ends], ends, strict=False))


def sorted_places(
    table: pa.Table, name: str
) -> tuple[Int64[np.ndarray, " n"], Int64[np.ndarray, " n"]]:
    """Return the ascending addresses of a table's rows, and the place of each in the table.

    Raises StoreError for an address that occurs twice; the message calls the table `name`.
    """
    addresses = sample_addresses(table)
    order = np.argsort(addresses, kind="stable")
    addresses = addresses[order]
    twice = np.flatnonzero(np.diff(addresses) == 0)
    if len(twice):
        raise StoreError(
            f"{name}: (shard, row) {shard_row(int(addresses[twice[0]]))} occurs twice among "
            f"{len(addresses)} rows; run `clipaudit verify`, or make the table again"
        )
    return addresses, order


def _captions(samples: pa.Table, addresses: Int64[np.ndarray, " n"]) -> list[str | None]:
    """Return the caption of each address."""
    known, order = sorted_places(samples, "samples")
    places = np.searchsorted(known, addresses)
    lacking = np.flatnonzero(~np.isin(addresses, known))
    if len(lacking):
        raise StoreError(
            f"spans: (shard, row) {shard_row(int(addresses[lacking[0]]))} is not among the "
            f"{len(known)} samples that they are matched with; give the samples whose images "
            "were spotted"
        )
    captions = samples["caption"].to_pylist()
    return [captions[place] for place in order[places]]


def _row(caption: str | None, texts: list[str], threshold: Fraction) -> Iterator[object]:
    """Yield the columns of MATCHES after the address."""
    yield len(texts)
    spotted_text = " ".join(texts)  # Algorithm 1's ocr_text
    for tokenization in TOKENIZATIONS:
        caption_words = set(tokens(caption or "", tokenization))
        spotted = set(tokens(spotted_text, tokenization)) if caption_words else set()
        co_words = caption_words & spotted
        fuzzy = len(co_words) + _count_near(caption_words - co_words, spotted, threshold)
        words = len(caption_words)
        yield from (words, sorted(co_words), _rate(len(co_words), words))
        yield from (fuzzy, _rate(fuzzy, words))


def _rate(matched: int, words: int) -> float | None:
    return matched / words if words else None


def _count_near(words: Iterable[str], spotted: Iterable[str], threshold: Fraction) -> int:
    """Return the number of words with a spotted word that is similar enough but not equal."""
    by_length: dict[int, list[str]] = {}
    for other in spotted:
        by_length.setdefault(len(other), []).append(other)
    return sum(_has_near(word, by_length, threshold) for word in words) if by_length else 0


def _has_near(word: str, by_length: dict[int, list[str]], threshold: Fraction) -> bool:
    parts, whole = threshold.denominator - threshold.numerator, threshold.denominator
    for length, others in by_length.items():
        most = max(len(word), length) * parts // whole  # edits allowed; integers, so exact
        # Skips most pairs: short words allow no edit, and each letter of unequal length costs one.
        if most and abs(len(word) - length) <= most:
            for other in others:
                if Levenshtein.distance(word, other, score_cutoff=most) <= most:
                    return True
    return False


def _co_embedded_in(
    span: Span, co_words: AbstractSet[str], tokenization: Tokenization
) -> list[Polygon]:
    own = Counter(tokens(span.text, tokenization))
    wanted = Counter({token: count for token, count in own.items() if token in co_words})
    if not wanted:
        return []
    if wanted == own:
        return [span.polygon]
    held: Counter[str] = Counter()
    polygons = []
    for word in span.words or ():
        found = [token for token in tokens(word.text, tokenization) if token in wanted]
        held.update(found)
        if found:
            polygons.append(word.polygon)
    return polygons if wanted <= held else [span.polygon]
