"""CoTR of captions that break naive splitting: expected values counted by hand."""

import pytest

from clipaudit.parrot.rates import cotr

MANY = " ".join(f"w{number}" for number in range(10_000))


@pytest.mark.parametrize(
    ("caption", "spotted", "words", "plain"),
    [
        ("I ❤️ NY", ["I", "NY"], 1, 2 / 3),
        ("👩‍👩‍👧 family 🏳️‍🌈", ["FAMILY"], 1, 0),
        ("Fish &amp; Chips", ["FISH & CHIPS"], 1, 0),
        ("don&#39;t panic", ["DON’T PANIC"], 1, 0),
        ("Q&amp;amp;A", ["Q & A"], 2 / 3, 0),  # encoded twice: the second time is text
        ("ＳＡＬＥ today", ["SALE"], 1 / 2, 0),
        ("less CO₂", ["CO2"], 1 / 2, 0),
        ("北京欢迎你", ["欢迎"], 2 / 5, 0),
        ("東京タワー", ["タワー"], 1 / 3, 0),
        ("วันนี้อากาศดี", ["อากาศ"], 1 / 4, 0),
        ("שלום עולם", ["עולם"], 1 / 2, 1 / 2),
        ("\u202eשלום\u202c עולם", ["שלום"], 1 / 2, 0),
        ("water 1.5L, 2 for 1", ["1.5L"], 1 / 5, 0),
        ("happy_birthday", ["Happy Birthday"], 1, 0),
        ("caf\u00e9", ["cafe\u0301"], 1, 0),
        (MANY, ["w7", "W9999", "w10000"], 2 / 10_000, 1 / 10_000),
    ],
)
def test_the_rate_equals_a_manual_count(caption, spotted, words, plain):
    assert cotr([caption], [spotted], tokenization="words") == pytest.approx([words])
    assert cotr([caption], [spotted], tokenization="plain") == pytest.approx([plain])


@pytest.mark.parametrize("caption", ["", " \t", "...!", "❤️", "\ufe0f", "&nbsp;", "\u200b"])
def test_captions_without_words_have_no_rate(caption):
    assert str(cotr([caption], [["❤️", "\ufe0f", "text"]], tokenization="words")) == "[nan]"
