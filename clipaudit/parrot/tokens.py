"""What a word is: the two tokenizations of captions and spotted text.

Lin et al., ECCV 2024, Algorithm 1: https://arxiv.org/abs/2312.14232, splits at white space; that is
`plain`. The paper's own Table 14 cannot come of it (row 2 is one word joined by hyphens), so the
default here is `words`: Unicode words whatever their case and punctuation.
"""

from typing import Literal, get_args
from unicodedata import normalize

import regex

Tokenization = Literal["words", "plain"]
TOKENIZATIONS: tuple[Tokenization, ...] = get_args(Tokenization)

# Marks belong to a word, or the vowel signs of Hindi would cut it; so does an apostrophe inside.
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:'[\p{L}\p{M}\p{N}]+)*+")


def tokens(text: str, tokenization: Tokenization) -> list[str]:
    """Return the words of a text in their order, repeated ones repeatedly.

    `plain` is `text.split()`. `words` are the maximal runs of letters, marks and numbers, an
    apostrophe (' or U+2019, written as ') between two of them included, normalized (NFC) and
    casefolded. Underscores and hyphens separate; scripts that set no space between words are not
    cut. No word holds white space, and the words of texts joined by a space are the words of each.
    A text without words gives [].

    >>> tokens("Don\N{RIGHT SINGLE QUOTATION MARK}t use NaN_1e5, re-use it", "words")
    ["don't", 'use', 'nan', '1e5', 're', 'use', 'it']
    >>> tokens("how-to-make-bubbles", "plain")
    ['how-to-make-bubbles']
    """
    if tokenization == "plain":
        return text.split()
    # Casefolding may break the normal form, so that comes last; but canonically equal texts only
    # fold alike from one form, so it comes first too.
    folded = normalize("NFC", normalize("NFC", text).casefold())
    words: list[str] = _WORD.findall(folded.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    return words
