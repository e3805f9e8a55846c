from unicodedata import category, decomposition, normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clipaudit.parrot.tokens import TOKENIZATIONS, tokens

# letters that fold or compose in odd ways; no half of a surrogate pair, which no read text has
letters = st.sampled_from(
    "aZ09 _-'.&;\u2019İßΣςŉé\u0301\u0345\u0308ὠ한が語ไ\u3099हि½Ⅷ\u200d\u200b\u2028\x1c\0"
)
texts = st.text(st.one_of(letters, st.characters(exclude_categories=["Cs"])))


def runs_of_words(text):
    """The words by the category of each character; both neighbours decide what joins them."""
    apart = "".join(" " * decomposition(each).startswith("<fraction>") + each for each in text)
    folded = normalize("NFKC", apart).casefold()
    shown = "".join(each for each in folded if category(each) != "Me")  # such as a keycap
    folded = normalize("NFKC", shown).replace("\u2019", "'")
    word = ""
    for place, character in enumerate(folded):
        kind = category(character)[0]
        around = category(folded[place - 1])[0] + category(folded[place + 1 : place + 2] or " ")[0]
        joins = (character == "'" and set(around) <= set("LMN")) or (
            character in ".," and around == "NN"
        )
        if kind in "LN" or (word and (kind == "M" or joins)):
            word += character
        elif word:
            yield word
            word = ""
    if word:
        yield word


# Only this test omits Chinese and invisible characters, and those whose category may differ between
# the Unicode versions of Python and of the regex package.
spoken = st.characters(max_codepoint=0x5FF, exclude_categories=["Cn", "Cf"])


@example("0\N{COMBINING CYRILLIC HUNDRED THOUSANDS SIGN}")
@given(st.text(st.one_of(st.sampled_from("aZ09 .,'\u2019İßςé\u0301½Ⅷｱ²"), spoken)))
def test_words_are_runs_of_letters_marks_and_numbers(text):
    text = text.replace("&", "").replace("\u034f", "")
    assert tokens(text, "words") == list(runs_of_words(text))


@given(texts)
def test_plain_words_equal_those_from_split(text):
    assert tokens(text, "plain") == text.split()


@pytest.mark.parametrize("tokenization", TOKENIZATIONS)
@given(st.lists(texts))
def test_texts_joined_by_a_space_keep_their_words(tokenization, parts):
    apart = [token for part in parts for token in tokens(part, tokenization)]

    assert tokens(" ".join(parts), tokenization) == apart


@pytest.mark.parametrize("tokenization", TOKENIZATIONS)
@given(texts)
def test_words_contain_no_white_space_and_are_never_empty(tokenization, text):
    for token in tokens(text, tokenization):
        assert token.split() == [token]


@given(texts)
def test_canonically_equal_texts_have_equal_words(text):
    assert tokens(normalize("NFD", text), "words") == tokens(normalize("NFC", text), "words")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Rock'n'Roll 'quoted' dogs'", ["rock'n'roll", "quoted", "dogs"]),
        ("L\N{RIGHT SINGLE QUOTATION MARK}Avare", ["l'avare"]),
        ("a''b", ["a", "b"]),
        ("snake_case and-hyphens/slashes", ["snake", "case", "and", "hyphens", "slashes"]),
        ("STRASSE Straße", ["strasse", "strasse"]),
        ("cafe\u0301 CAFÉ", ["café", "café"]),
        ("11/16/2012 3.5kg 1,000.", ["11", "16", "2012", "3.5kg", "1,000"]),
        ("I ❤️ NY 1️⃣", ["i", "ny", "1"]),  # marks of emoji are no words
        ("Tom &amp; Jerry&#39;s rock&reggae&nbsp;", ["tom", "jerry's", "rock", "reggae"]),
        ("ＦＵＬＬ ﬁne CO₂", ["full", "fine", "co2"]),
        ("\u0e01\uff07\u2460", ["\u0e01", "1"]),  # Thai, an apostrophe, a number
        ("Brand™ NIKE® 10½ ½", ["brand", "nike", "10", "1", "2", "1", "2"]),
        ("हिन्दी 한국어", ["हिन्दी", "한국어"]),
        ("東京タワーの夜景", ["東", "京", "タワーの", "夜", "景"]),
        ("วันนี้อากาศดี 50%", ["วัน", "นี้", "อากาศ", "ดี", "50"]),
        ("שלום\u200f עולם", ["שלום", "עולם"]),
        ("co\u00adop\u200bshop", ["coop", "shop"]),
        ("... - !", []),
        ("", []),
    ],
)
def test_words_are_found_in_any_case_and_with_any_punctuation(text, words):
    assert tokens(text, "words") == words


@pytest.mark.parametrize("name", ["null", "nan", "none", "na", "inf", "n", "true", "1e5", "007"])
@pytest.mark.parametrize("tokenization", TOKENIZATIONS)
def test_names_of_missing_values_are_words(tokenization, name):
    assert tokens(name, tokenization) == [name]
