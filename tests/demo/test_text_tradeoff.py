"""benchmarks/texttradeoff.py: images whose text is known, and the results of a choice."""

import numpy as np
import texttradeoff
from tinyclipart import library, put, svg

from clipaudit.parrot.spans import Span


def span(text):
    return Span(text, 1.0, (0.0, 0.0, 9.0, 0.0, 9.0, 9.0))


def test_found_images_words_and_false_alarms_match_a_hand_count():
    texts = ["red SALE", "cat cat", "", "", "12"]
    spans = [[span("sale"), span("x")], [], [span("oo")], [], [span("12")]]

    found = texttradeoff.compare(texts, spans)

    assert (found.with_text, found.called) == (3, 2)
    assert (found.words, found.read) == (4, 2)  # red, sale, cat, 12
    assert (found.without, found.alarms) == (2, 1)
    assert found.cells == ["66.7", "50.0", "50.0 [1.3, 98.7]"]


def test_each_page_has_a_counterpart_without_text():
    pages = list(texttradeoff.pages(4))
    with_text, without = pages[::2], pages[1::2]

    assert all(each.text for each in with_text)
    assert not any(each.text for each in without)
    shapes = {each.pixels.shape for each in (*with_text, *without)}
    assert shapes == {(texttradeoff.PAGE, texttradeoff.PAGE, 3)}
    assert all(np.ptp(each.pixels) > 60 for each in (*with_text, *without))


def test_clip_art_has_text_if_its_drawing_states_text(tmp_path):
    folder = library(tmp_path / "drawings", 9)
    for number in range(9, 14):
        put(folder, f"signs/{number}", drawing=svg(body="<text>Exit</text>"))

    drawn = list(texttradeoff.clip_art(tmp_path, 3))

    assert sorted(each.text for each in drawn) == [""] * 4 + ["Exit"] * 3
