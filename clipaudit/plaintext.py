"""Make text from data harmless for a terminal line or a spreadsheet cell."""

import unicodedata

_UNSEEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}  # controls, bidi overrides, surrogates, line ends
_JOINERS = "\u200c\u200d"  # emoji and some scripts need them; they are harmless
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet computes such cells (OWASP)


def plain(text: object) -> str:
    r"""Return a text as one line with every control or format character escaped.

    >>> plain("red\x1b[31m\nnext \u202eevil")
    'red\\x1b[31m\\nnext \\u202eevil'
    >>> plain("naïve 日本 👩\u200d🔬")
    'naïve 日本 👩\u200d🔬'
    """
    line = str(text)
    if line.isprintable():  # as nearly all texts are; then it has none of them
        return line
    return "".join(map(_spelt, line))


def cell(text: str) -> str:
    """Return a text with a leading apostrophe if a spreadsheet might read it as a formula.

    >>> [cell(text) for text in ("=1+1", "-0.5", "a = b", "")]
    ["'=1+1", "'-0.5", 'a = b', '']
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def _spelt(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _UNSEEN:
        return character
    return character.encode("unicode_escape").decode("ascii")


def many(number: int, thing: str) -> str:
    """Return a count with its noun.

    >>> many(1, "job"), many(2000, "job")
    ('1 job', '2,000 jobs')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
