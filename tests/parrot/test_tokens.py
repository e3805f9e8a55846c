from unicodedata import category, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.parrot.tokens import TOKENIZATIONS, tokens

# half of a surrogate pair is in no text that was read; letters that fold or compose in odd ways
letters = st.sampled_from("aZ09 _-'\u2019İßΣςŉé\u0301\u0345\u0308ὠ한が\u3099हि½Ⅷ\u200d\u2028\x1c\0")
texts = st.text(st.one_of(letters, st.characters(exclude_categories=["Cs"])))


def runs_of_words(text):
    """The words by category, character by character, an apostrophe being judged by both sides."""
    folded = normalize("NFC", normalize("NFC", text).casefold()).replace("\u2019", "'")
    inside = [category(character)[0] in "LMN" for character in folded]
    word = ""
    for place, character in enumerate(folded):
        joins = 0 < place < len(folded) - 1 and inside[place - 1] and inside[place + 1]
        if inside[place] or (character == "'" and joins):
            word += character
        elif word:
            yield word
            word = ""
    if word:
        yield word


# digits and letters whose category Python and the regex package may know from different versions of
# Unicode are left out of this test alone
@given(st.text(st.one_of(letters, st.characters(max_codepoint=0x2FFF, exclude_categories=["Cn"]))))
def test_words_are_runs_of_letters_marks_and_numbers(text):
    assert tokens(text, "words") == list(runs_of_words(text))


@given(texts)
def test_plain_words_are_those_that_split_gives(text):
    assert tokens(text, "plain") == text.split()


@pytest.mark.parametrize("tokenization", TOKENIZATIONS)
@given(st.lists(texts))
def test_texts_joined_by_a_space_keep_their_words(tokenization, parts):
    apart = [token for part in parts for token in tokens(part, tokenization)]

    assert tokens(" ".join(parts), tokenization) == apart


@pytest.mark.parametrize("tokenization", TOKENIZATIONS)
@given(texts)
def test_words_hold_no_white_space_and_are_never_empty(tokenization, text):
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
        ("हिन्दी 日本語", ["हिन्दी", "日本語"]),
        ("11/16/2012 3.5kg", ["11", "16", "2012", "3", "5kg"]),
        ("... - !", []),
        ("", []),
    ],
)
def test_words_are_found_whatever_case_and_punctuation(text, words):
    assert tokens(text, "words") == words


@pytest.mark.parametrize("name", ["null", "nan", "none", "na", "inf", "n", "true", "1e5", "007"])
@pytest.mark.parametrize("tokenization", TOKENIZATIONS)
def test_names_of_missing_values_are_words(tokenization, name):
    assert tokens(name, tokenization) == [name]
