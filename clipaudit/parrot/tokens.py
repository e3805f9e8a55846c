"""The two tokenizations of captions and spotted text into words.

Lin et al., ECCV 2024, Algorithm 1: https://arxiv.org/abs/2312.14232, splits at white space; that is
`plain`. It cannot produce the paper's own Table 14 (row 2 is one word joined by hyphens), so the
default here is `words`: Unicode words, ignoring case, punctuation and typographic form.
"""

from collections.abc import Callable
from functools import cache
from html import unescape
from typing import Literal, get_args
from unicodedata import normalize

import regex

Tokenization = Literal["words", "plain"]
TOKENIZATIONS: tuple[Tokenization, ...] = get_args(Tokenization)

# Zero-width space, and signs that NFKC would make letters of the word before: SM and TM
_SEPARATORS = regex.compile("[\u200b\u2120\u2122]")
_FRACTION = regex.compile("(?=[\u00bc-\u00be\u2150-\u215f\u2189])")  # NFKC makes 10½ 101/2
_ENTITY = regex.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
# joiners, variation selectors, direction marks; and the mark that makes a digit a keycap
_UNSEEN = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{Me}]+")

# A Chinese character is a word. Others begin with a letter or number; the marks after it belong to
# the word, or the vowel signs of Hindi would split it. Apostrophes stay inside a word, points and
# commas inside a number.
_INSIDE = r"[[\p{L}\p{N}\p{M}]--\p{Han}]"
_WORD = regex.compile(
    rf"(?V1)\p{{Han}}\p{{M}}*+"
    rf"|[[\p{{L}}\p{{N}}]--\p{{Han}}]{_INSIDE}*+"
    rf"(?:(?:'|(?<=\p{{N}})[.,](?=\p{{N}})){_INSIDE}++)*+"
)
_THAI = regex.compile(r"\p{Thai}")


def tokens(text: str, tokenization: Tokenization) -> list[str]:
    """Return the words of a text in their order, with repetitions.

    `plain` is `text.split()`. `words` are runs of letters, numbers and the marks on them, with the
    apostrophes (' or U+2019, written as ') between them, and the points and commas between digits.
    Before that, HTML entities that end with a semicolon are decoded, invisible characters and
    enclosing marks (a keycap's) removed, and the text is normalized (NFKC: full width, ligatures,
    CO₂) and casefolded. Underscores and hyphens separate, and so do ™ and ℠, and the start of ½. In
    scripts without spaces between words, each Chinese character is a word, Thai is split by BudouX,
    and others (kana, Lao, Khmer, Burmese) are split only where the script changes to Chinese. No
    word holds white space, and the words of texts joined by a space are the words of each. A text
    without words gives [].

    >>> tokens("Don\N{RIGHT SINGLE QUOTATION MARK}t use NaN_1e5, re-use it", "words")
    ["don't", 'use', 'nan', '1e5', 're', 'use', 'it']
    >>> tokens("how-to-make-bubbles", "plain")
    ['how-to-make-bubbles']
    >>> tokens("I ❤️ NY &amp; ＣＯ₂", "words")
    ['i', 'ny', 'co2']
    """
    if tokenization == "plain":
        return text.split()
    seen = _ENTITY.sub(lambda entity: unescape(entity[0]), text)
    folded = normalize("NFKC", _FRACTION.sub(" ", _SEPARATORS.sub(" ", seen))).casefold()
    # Normalize before, so that equal texts casefold to the same, and after, since casefolding may
    # break the normal form.
    folded = normalize("NFKC", _UNSEEN.sub("", folded))
    words: list[str] = _WORD.findall(folded.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    if not _THAI.search(folded):
        return words
    parts = (_thai(word) if _THAI.search(word) else [word] for word in words)
    return [found for some in parts for part in some for found in _WORD.findall(part)]


def _thai(word: str) -> list[str]:
    return _thai_cutter()(word)


@cache
def _thai_cutter() -> Callable[[str], list[str]]:
    from budoux import load_default_thai_parser  # few texts are Thai

    parse: Callable[[str], list[str]] = load_default_thai_parser().parse
    return parse
