import json

import pyarrow as pa
import pytest

from clipaudit.corpora.drops import Drops
from clipaudit.errors import InputError
from clipaudit.parrot.spans import Span, Word, spans_of
from clipaudit.parrot.spans_inside import OUTSIDE
from clipaudit.parrot.stated_spans import read_spans as read_stated_spans

TRIANGLE = (0.0, 0.0, 4.0, 0.0, 4.0, 4.0)


def samples(*texts):
    table = {
        "shard": pa.array([2] * len(texts), pa.int32()),
        "row": pa.array(range(len(texts)), pa.int32()),
        "key": pa.array(map(str, range(len(texts))), pa.string()),
        "width": pa.array([8] * len(texts), pa.int32()),
        "height": pa.array([8] * len(texts), pa.int32()),
        "metadata": pa.array(texts, pa.string()),
    }
    return pa.table(table)


def read_spans(samples, **field):
    return read_stated_spans(samples, **field, drops=Drops("spot"))


def stating(*entries):
    return json.dumps({"spans": entries})


@pytest.mark.parametrize(
    ("place", "polygon"),
    [
        ({"polygon": [0, 0, 4, 0, 4, 4]}, TRIANGLE),
        ({"polygon": [[0, 0], [4, 0], [4, 4]]}, TRIANGLE),
        ({"bbox": [1, 2, 3, 4]}, (1.0, 2.0, 4.0, 2.0, 4.0, 6.0, 1.0, 6.0)),
        ({"polygon": None, "bbox": [1, 2, 0, 0]}, (1.0, 2.0) * 4),
    ],
)
def test_polygons_may_be_flat_lists_pairs_or_boxes(place, polygon):
    table = read_spans(samples(stating({"text": "sale"} | place)))

    assert list(spans_of(table)) == [[Span("sale", 1.0, polygon, None)]]


def test_scores_and_words_are_kept():
    word = {"text": "big", "polygon": TRIANGLE}
    entry = {"text": "big sale", "polygon": TRIANGLE, "score": 0.5, "words": [word]}

    table = read_spans(samples(stating(entry)))

    expected = Span("big sale", 0.5, TRIANGLE, (Word("big", TRIANGLE),))
    assert list(spans_of(table)) == [[expected]]


def test_images_without_the_field_have_no_text():
    table = read_spans(samples(None, "{}", '{"spans": null}', '{"spans": []}'))

    assert list(spans_of(table)) == [[], [], [], []]
    assert table["row"].to_pylist() == [0, 1, 2, 3]


def test_the_field_may_have_any_name():
    text = json.dumps({"spans": 3, "ocr": [{"text": "sale", "polygon": TRIANGLE}]})

    table = read_spans(samples(text), field="ocr")

    assert [span.text for span in next(spans_of(table))] == ["sale"]


def test_places_in_pixels_of_a_larger_image_are_refused():
    text = stating({"text": "sale", "bbox": [200, 9, 40, 10]})

    with pytest.raises(InputError, match=r"row 1, key '1': 'sale' at .* in an image of 8 x 8"):
        read_spans(samples(stating(), text))


def test_a_stray_span_outside_drops_its_image():
    inside, stray = ({"text": "a", "bbox": [x, 0, 4, 4]} for x in (0, 200))
    drops = Drops("spot")

    table = read_stated_spans(samples(stating(stray), *[stating(inside)] * 99), drops=drops)

    assert table["row"].to_pylist() == list(range(1, 100))
    assert drops.table().select(["row", "reason"]).to_pylist() == [{"row": 0, "reason": OUTSIDE}]


def test_no_samples_give_an_empty_table():
    assert read_spans(samples()).num_rows == 0


@pytest.mark.parametrize("score", [87, -0.5, "high", float("nan")])
def test_a_score_that_is_no_share_is_refused(score):
    text = stating({"text": "a", "polygon": TRIANGLE, "score": score})

    with pytest.raises(InputError, match=r"row 0: score is .*: give .* a share between 0 and 1"):
        read_spans(samples(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "its JSON cannot be read"),
        ("[" * 100_000, "its JSON cannot be read"),
        ("[]", r"its JSON is \[\]: make it an object"),
        ('{"spans": {}}', r"spans is \{\}: make it a list"),
        (stating("sale"), 'an entry is "sale": a span is an object'),
        (stating({"polygon": TRIANGLE}), "text is null"),
        (stating({"text": 3, "polygon": TRIANGLE}), "text is 3"),
        (stating({"text": "\ud800", "polygon": TRIANGLE}), r'text is "\\ud800"'),
        (stating({"text": "a"}), "bbox is null"),
        (stating({"text": "a", "bbox": [1, 2, 3]}), r"bbox is \[1, 2, 3\]"),
        (stating({"text": "a", "bbox": [1, 2, -3, 4]}), r"bbox is \[1, 2, -3, 4\]"),
        (stating({"text": "a", "bbox": [3e38, 2, 3e38, 4]}), "bbox is"),
        (stating({"text": "a", "polygon": [[0, 0], [4, 0, 1], [4, 4]]}), "polygon is"),
        (stating({"text": "a", "polygon": [[0, 0], 4, 0, 1]}), "polygon is"),
        (stating({"text": "a", "polygon": [0, 0, 4, 0]}), 'the polygon of "a" has 2 corners'),
        (stating({"text": "a", "polygon": [0, 0, 4, 0, True, 1]}), "polygon is"),
        (stating({"text": "a", "polygon": [0, 0, 4, 0, float("nan"), 1]}), "polygon is"),
        (stating({"text": "a", "polygon": "0 0 4 0"}), "polygon is"),
        (stating({"text": "a", "polygon": TRIANGLE, "words": "a"}), 'words is "a"'),
        (stating({"text": "a", "polygon": TRIANGLE, "words": [{"text": "a"}]}), "bbox is null"),
    ],
    ids=range(20),
)
def test_other_values_are_refused_with_their_position(text, message):
    with pytest.raises(InputError, match=f"shard 2, row 1: {message}"):
        read_spans(samples(None, text))
