"""Read a vocabulary from a text file of grams, instead of counting grams in a corpus."""

import logging
from collections import Counter
from pathlib import Path

import pyarrow as pa

from clipaudit.corpora.drops import table_of_rows
from clipaudit.errors import InputError
from clipaudit.parrot.vocabulary import GRAMS
from clipaudit.plaintext import many, plain

_MOST_DIGITS = 12  # of a frequency, so that sums fit into 64 bits

_log = logging.getLogger(__name__)


def read_grams(path: Path, *, n: int, most: int) -> pa.Table:
    """Return the grams of n words in a UTF-8 file as GRAMS, the `most` most frequent ones.

    A line is a gram, or a gram, a tab and its frequency, a whole number from 1; without a frequency
    a gram counts once. White space separates words. Frequencies of equal grams add up. In a tie the
    first grams in the file are kept. Grams of other lengths are left out, and the log counts them.
    Empty lines are skipped.

    Raises InputError, with the line, for a file that cannot be read as such, and if no gram has n
    words.
    """
    counts: Counter[str] = Counter()
    others = 0
    try:
        # universal newlines, and no splitlines: a gram may hold U+2028
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                text, tab, frequency = line.rstrip("\n").partition("\t")
                words = text.split()
                if not words and not tab:
                    continue
                count = _frequency(frequency, f"{path}, line {number}") if tab else 1
                if len(words) == n:
                    counts[" ".join(words)] += count
                else:
                    others += 1
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: cannot be read: {error}. Give a UTF-8 text file, one gram per line."
        ) from error
    if not counts:
        raise InputError(
            f"{path}: {many(others, 'gram')}, none of {many(n, 'word')}. Name another file in "
            f"parrot.probe.vocabulary, or remove {n} from parrot.probe.lengths."
        )
    _log.info("%d grams of %d words, and %d of other lengths", len(counts), n, others)
    kept = counts.most_common(most)  # in a tie the first in the file
    rows = sorted(kept, key=lambda item: (-item[1], item[0]))
    return table_of_rows(rows, GRAMS)


def _frequency(text: str, place: str) -> int:
    digits = text.strip()
    if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS and int(digits) > 0:
        return int(digits)
    raise InputError(
        f"{place}: the frequency is {plain(text)!r}. Give one gram per line, or a gram, a tab and "
        "a whole number from 1."
    )
