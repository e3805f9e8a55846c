"""The conditions of a curation on samples, and its reasons to refuse one.

Lin et al., ECCV 2024, Sec. 6 and 8: https://arxiv.org/abs/2312.14232. "CoTR = 0" covers only images
with text (Sec. 6.2), and so do RSA and RSC, which need text to erase; but the means of the paper's
Table 4 suggest that its set of RSA >= 0 has images without text. Scores are stored in float32 and
subtracted in float64.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float64

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.errors import ConfigError, InputError
from clipaudit.parrot.filters import (
    FILTERED,
    Phrases,
    Refusal,
    basic_refusals,
    original_sides,
    text_refusal,
)
from clipaudit.parrot.kinds import TOP, Kind
from clipaudit.parrot.tokens import Tokenization

NOT_SPOTTED = "not spotted"  # MATCHES lacks the sample
NOT_SCORED = "not scored"
HAS_TEXT = "has text"
NO_TEXT = "no text"
NO_CAPTION = "no caption"
NO_CO_EMBEDDED = "no co-embedded text"
NO_AESTHETICS = "no aesthetics score"
NOT_STATED = "no stated score"
DUPLICATE = "duplicate"


@dataclass(frozen=True)
class Curation:
    """The samples that a curation may take, and their number.

    - `random`: every spotted sample;
    - `without-text`, `with-text`: samples without and with spotted text;
    - `cotr`, `rsa`, `rsc`: with text, and the CoTR, raw - all or raw - co within the bounds;
    - `debiased`: without text, raw score and aesthetics above their bounds, no duplicate;
    - `top-score`, `top-masked`, `top-stated`: every sample with a score, the highest first instead
      of in a random order: the raw score, that with all text erased (T-MARS, Maini et al., ICLR
      2024), or one that the sample states, given as `aesthetics`;
    - `basic`: DataComp's basic filter without its condition on the language;
    - `text`: the caption names one of some words.

    It takes `size` samples, or all if None. Held-out sets are curations too.
    """

    name: str
    kind: Kind
    at_least: float | None = None  # of the CoTR, RSA or RSC
    below: float | None = None
    above: float | None = None  # of the RSA or RSC, and of the raw score if debiased
    exactly: float | None = None  # of the CoTR
    aesthetics_above: float | None = None  # if debiased; None: no condition
    textless: bool = False  # of the RSA: images without text count as 0
    size: int | None = None
    seed: int = 0
    tokenization: Tokenization = "words"  # of the CoTR

    def __post_init__(self) -> None:
        """Refuse bounds that the kind does not have."""
        of_difference = {"at_least", "below", "above"}
        of_rate = {"at_least", "below", "exactly"}
        taken = {"cotr": of_rate, "rsa": of_difference, "rsc": of_difference, "debiased": {"above"}}
        may = taken.get(self.kind, set())
        given = [name for name, _ in self.bounds()]
        if (may and not given) or not may.issuperset(given):
            raise ConfigError(
                f"curation {self.name}: {self.kind} with {' and '.join(given) or 'no bound'}, and "
                f"it takes {' or '.join(sorted(may)) or 'none'}; give it such a bound"
            )
        if self.aesthetics_above is not None and self.kind != "debiased":
            raise ConfigError(
                f"curation {self.name}: aesthetics above {_number(self.aesthetics_above)} of kind "
                f"{self.kind}, but only a debiased curation asks for them; leave it out"
            )
        if self.textless and self.kind != "rsa":
            raise ConfigError(
                f"curation {self.name}: textless images of kind {self.kind}, but only an RSA "
                "counts them; leave it out"
            )
        if self.size is not None and self.size < 0:
            raise ConfigError(f"curation {self.name}: size {self.size}; give 0 or more, or none")

    def bounds(self) -> list[tuple[str, float]]:
        """Return the given bounds, by name."""
        names = ("at_least", "below", "above", "exactly")
        return [(name, getattr(self, name)) for name in names if getattr(self, name) is not None]


@dataclass(frozen=True, eq=False)
class CuratedPart:
    """The tables about a part's samples, each in any order and with a sample at most once.

    `base` is a MANIFEST; a sample that it dropped is never taken. Only the columns that the kind
    needs are read. Without `aesthetics` or `duplicates`, debiased does not check them.
    """

    base: pa.Table
    matches: pa.Table  # MATCHES
    scores: pa.Table | None = None  # SCORES; None: not needed
    aesthetics: pa.Table | None = None  # shard, row, aesthetics, a number or null
    duplicates: pa.Table | None = None  # shard and row of samples that repeat another
    samples: pa.Table | None = None  # SAMPLES; None: not needed
    words: Phrases | None = None  # for `text`; None: not needed


def criterion(curation: Curation, part: CuratedPart) -> str:
    """Return the condition on a sample as text; it names checks skipped for lack of a table.

    >>> nothing = pa.table({})
    >>> criterion(Curation("c3", "cotr", at_least=0.3), CuratedPart(nothing, nothing))
    'text, CoTR (words) >= 0.3'
    >>> criterion(Curation("fix", "debiased", above=0.3), CuratedPart(nothing, nothing))
    'no text, score > 0.3, aesthetics not asked, duplicates not asked'
    """
    signs = {"at_least": ">=", "below": "<", "above": ">", "exactly": "="}
    bounds = [f"{signs[name]} {_number(value)}" for name, value in curation.bounds()]
    if curation.kind == "debiased":
        aesthetics, duplicates = "aesthetics not asked", "duplicates not asked"
        if part.aesthetics is not None and curation.aesthetics_above is not None:
            aesthetics = f"aesthetics > {_number(curation.aesthetics_above)}"
        if part.duplicates is not None:
            duplicates = "no duplicate"
        return f"no text, score {bounds[0]}, {aesthetics}, {duplicates}"
    if curation.kind in TOP:
        return TOP[curation.kind]
    if curation.kind in FILTERED:
        return FILTERED[curation.kind]
    if curation.kind in ("random", "without-text", "with-text"):
        return {"random": "spotted", "without-text": "no text", "with-text": "text"}[curation.kind]
    measure = _measure(curation)
    measure += f" ({curation.tokenization})" if curation.kind == "cotr" else ""
    of_text = "text or not (RSA 0)" if curation.textless else "text"
    return f"{of_text}, {measure} {' and '.join(bounds)}"


def refusals(curation: Curation, part: CuratedPart) -> list[Refusal]:
    """Return the samples that the kind refuses, by reason, unspotted ones first."""
    # in the columns NaN means null
    spans = _column(part.base, part.matches, "spans")
    found: list[Refusal] = [(np.isnan(spans), NOT_SPOTTED)]
    if curation.kind in ("without-text", "debiased"):
        found.append((spans > 0, HAS_TEXT))
    elif curation.kind not in ("random", *FILTERED, *TOP) and not curation.textless:
        found.append((spans == 0, NO_TEXT))
    if curation.kind == "cotr":
        rate = _column(part.base, part.matches, f"{curation.tokenization}_rate")
        found.append((np.isnan(rate), NO_CAPTION))
        found += _outside(curation, rate)
    if curation.kind in FILTERED:
        assert part.samples is not None, "the workflow gives the samples"
        captions = _taken(part.base, part.samples, "caption").to_pylist()
        if curation.kind == "text":
            assert part.words is not None, "the workflow gives the words"
            found.append(text_refusal(captions, part.words))
        else:
            height, width = (_column(part.base, part.samples, side) for side in ("height", "width"))
            stated = _taken(part.base, part.samples, "metadata").to_pylist()
            found += basic_refusals(captions, *original_sides(height, width, stated))
    elif curation.kind == "top-stated":
        found.append((np.isnan(top_scores(curation, part)), NOT_STATED))
    elif curation.kind in ("rsa", "rsc", "debiased", *TOP):
        if part.scores is None:  # else every sample would count as not scored
            raise InputError(
                f"curation {curation.name}: a part came without scores, and {curation.kind} asks "
                "for them; score the captions of this corpus first"
            )
        raw = _column(part.base, part.scores, "raw")
        found.append((np.isnan(raw), NOT_SCORED))
        if curation.kind in TOP:
            found.append((np.isnan(top_scores(curation, part)), NOT_SCORED))
        elif curation.kind == "debiased":
            found += _outside(curation, raw) + _blemishes(curation, part)
        else:
            erased = _column(part.base, part.scores, {"rsa": "all", "rsc": "co"}[curation.kind])
            erased = np.where((spans == 0) & curation.textless, raw, erased)
            missing = {"rsa": NOT_SCORED, "rsc": NO_CO_EMBEDDED}[curation.kind]
            found.append((np.isnan(erased), missing))
            found += _outside(curation, raw - erased)
    return found


def top_scores(curation: Curation, part: CuratedPart) -> Float64[np.ndarray, " n"]:
    """Return the scores by which a curation takes the highest samples; NaN means no score.

    The masked score is that with all text erased; an image without text keeps its own.
    """
    if curation.kind == "top-stated":
        assert part.aesthetics is not None, "the workflow gives what samples state"
        return _column(part.base, part.aesthetics, "aesthetics")
    assert part.scores is not None, "refused before"
    raw = _column(part.base, part.scores, "raw")
    if curation.kind == "top-score":
        return raw
    spans = _column(part.base, part.matches, "spans")
    masked: np.ndarray = np.where(spans == 0, raw, _column(part.base, part.scores, "all"))
    return masked


def _outside(curation: Curation, values: Float64[np.ndarray, " n"]) -> list[Refusal]:
    measure = _measure(curation)
    found: list[Refusal] = []
    for name, bound in curation.bounds():
        refused, word = {
            "at_least": (values < bound, "below"),
            "below": (values >= bound, "not below"),
            "above": (values <= bound, "not above"),
            "exactly": (values != bound, "not"),
        }[name]
        found.append((refused, f"{measure} {word} {_number(bound)}"))
    return found


def _blemishes(curation: Curation, part: CuratedPart) -> list[Refusal]:
    found: list[Refusal] = []
    least = curation.aesthetics_above
    if part.aesthetics is not None and least is not None:
        aesthetics = _column(part.base, part.aesthetics, "aesthetics")
        found.append((np.isnan(aesthetics), NO_AESTHETICS))
        found.append((aesthetics <= least, f"aesthetics not above {_number(least)}"))
    if part.duplicates is not None:
        repeats = np.isin(sample_addresses(part.base), sample_addresses(part.duplicates))
        found.append((repeats, DUPLICATE))
    return found


def _measure(curation: Curation) -> str:
    return {"cotr": "CoTR", "rsa": "RSA", "rsc": "RSC"}.get(curation.kind, "score")


def _number(value: float) -> str:
    return np.format_float_positional(value, trim="-")


def _column(base: pa.Table, table: pa.Table, name: str) -> Float64[np.ndarray, " n"]:
    """Return a column of another table for each row of the base, NaN if missing."""
    values = _taken(base, table, name).cast(pa.float64())
    column: np.ndarray = pc.fill_null(values, np.nan).to_numpy(zero_copy_only=False)
    return column


def _taken(base: pa.Table, table: pa.Table, name: str) -> pa.Array:
    """Return a column of another table for each row of the base, null if missing."""
    at = pc.index_in(pa.array(sample_addresses(base)), value_set=pa.array(sample_addresses(table)))
    column = table[name]
    if pa.types.is_string(column.type):  # an array of strings holds 2 GiB at most
        column = column.cast(pa.large_string())
    return column.combine_chunks().take(at)
