"""Learns a small BPE vocabulary for open_clip's `SimpleTokenizer` from given words.

Each word becomes one token; other text splits into shorter tokens, at worst letters and bytes. With
some thousand tokens instead of 49,408, a tiny model trains four times as fast.
"""

import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from clipaudit.demo.png import stored

Pair = tuple[str, str]


def words_of(phrases: Iterable[str]) -> list[str]:
    """Return the lower-case words of all phrases, each once, sorted.

    >>> words_of(["a photo of a {}", "cat face"])
    ['a', 'cat', 'face', 'of', 'photo']
    """
    return sorted({word for phrase in phrases for word in re.findall("[a-z]+", phrase.lower())})


def merges_of(words: Iterable[str]) -> list[Pair]:
    """Return byte-pair merges that make each word one token, the most frequent pair first.

    Ties go to the pair that sorts last. Words have only the letters a to z.

    >>> merges_of(["a", "at"])
    [('a', 't</w>')]
    """
    pieces = [[*word[:-1], word[-1] + "</w>"] for word in words]
    merges = []
    while pairs := Counter(pair for word in pieces for pair in pairwise(word)):
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        pieces = [_merged(word, best) for word in pieces]
    return merges


def _merged(word: list[str], pair: Pair) -> list[str]:
    result: list[str] = []
    for piece in word:
        if result and (result[-1], piece) == pair:
            result[-1] += piece
        else:
            result.append(piece)
    return result


def vocabulary_file(words: Iterable[str]) -> bytes:
    """Return the vocabulary in open_clip's form: a version line, then one merge per line, gzipped.

    It is stored without compression and without a time, so the bytes depend only on the words.
    """
    lines = ["#version: clipaudit", *(" ".join(pair) for pair in merges_of(words))]
    data = "\n".join(lines).encode()
    header = b"\x1f\x8b\x08" + bytes(7)
    return header + stored(data) + struct.pack("<II", zlib.crc32(data), len(data))
