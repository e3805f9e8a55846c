import re

import numpy as np
import pyarrow as pa
import pytest

from clipaudit.errors import InputError
from clipaudit.parrot import printed_names
from clipaudit.parrot.printed_names import PRINTS, Printing, draw_prints, print_texts
from clipaudit.parrot.synthetic import dejavu_sans, layout

CLASSES = ["red cat", "green dog", "Blue bird", "red cat"]
GRAY = np.full((100, 160, 3), 128, np.uint8)


def drawn(count=40, *, classes=CLASSES, seed=0, shards=1):
    """The prints on samples whose labels cycle through the classes."""
    right = np.arange(count, dtype=np.int32) % len(classes)
    samples = pa.table(
        {
            "shard": np.arange(count, dtype=np.int32) * shards // count,
            "row": np.arange(count, dtype=np.int32),
        }
    )
    labels = np.arange(len(classes), dtype=np.int32)
    options = {"type_size": (0.1, 0.2), "seed": seed, "place": "val"}
    return right, draw_prints(samples, right, classes, labels, **options)


def on_gray(text, *, type_size=0.2, place=(0.5, 0.5), black=True, picture=GRAY):
    options = {"type_size": type_size, "place": place, "black": black}
    return print_texts(picture, [text], dejavu_sans(), **options)[0]


def inked(picture, before=GRAY):
    """The top, bottom, left and right of what was printed."""
    rows, columns = np.nonzero((picture != before).any(axis=2))
    return rows.min(), rows.max(), columns.min(), columns.max()


def test_another_class_name_is_drawn_and_equal_names_give_the_lowest_label():
    right, prints = drawn()

    printed = prints["printed"].to_pylist()
    assert prints.schema == PRINTS
    assert all(CLASSES[p] != CLASSES[r] for p, r in zip(printed, right, strict=True))
    assert set(printed) == {0, 1, 2}
    assert prints["name"].to_pylist() == [CLASSES[label] for label in printed]


def test_a_control_has_the_shape_of_the_name_and_no_class_word():
    _, prints = drawn()

    words = {word for name in CLASSES for word in name.casefold().split()}
    for name, control in zip(
        prints["name"].to_pylist(), prints["control"].to_pylist(), strict=True
    ):
        assert [len(word) for word in control.split()] == [len(word) for word in name.split()]
        assert control[0].isupper() == name[0].isupper()
        assert words.isdisjoint(control.casefold().split())


def test_prints_depend_only_on_the_random_seed_and_the_address():
    (_, few), (_, many), (_, other) = drawn(8), drawn(16), drawn(8, seed=1)

    assert few["control"].to_pylist() == many["control"].to_pylist()[:8]
    assert few["control"].to_pylist() != other["control"].to_pylist()


def test_sizes_are_within_their_bounds_and_both_colours_occur():
    _, prints = drawn()

    sizes = prints["type_size"].to_numpy()
    assert sizes.min() >= 0.1
    assert sizes.max() <= 0.2
    assert len(set(sizes)) == len(prints)
    assert set(prints["black"].to_pylist()) == {True, False}


def test_classes_that_all_have_one_name_are_refused():
    with pytest.raises(InputError, match="val: its 2 classes have 1 name"):
        drawn(classes=["cat", "cat"])


@pytest.mark.parametrize(
    "classes",
    [
        ["BMW M3 Coupe 2012", "Acura RL Sedan 2012", "Ram C/V Cargo Van 2012"],
        ["707-320", "727-200", "737-800"],
        ["bed & breakfast", "bed & bath", "garage"],
    ],
)
def test_names_with_numbers_and_signs_have_controls_of_the_same_shape(classes):
    _, prints = drawn(classes=classes)

    words = {word for name in classes for word in name.casefold().split()} - {"&"}
    for row in prints.to_pylist():
        shapes = [re.sub(r"\w", "x", row[column]) for column in ("name", "control")]
        assert shapes[0] == shapes[1]
        assert words.isdisjoint(row["control"].casefold().split())


@pytest.mark.parametrize("classes", [["1", "2"], ["+", "-"]])
def test_class_names_whose_letters_form_no_other_word_are_refused(classes):
    with pytest.raises(InputError, match=r"val: found no word .* as long as '.', that is not a"):
        drawn(classes=classes)


def test_no_samples_give_no_prints():
    _, prints = drawn(0)

    assert prints.equals(PRINTS.empty_table())


@pytest.mark.parametrize(("black", "ink", "edge"), [(True, 0, 255), (False, 255, 0)])
def test_letters_have_an_outline_in_the_other_colour(black, ink, edge):
    values = set(np.unique(on_gray("cat", black=black)))

    assert {ink, edge, 128} <= values


@pytest.mark.parametrize("picture", [GRAY, GRAY.transpose(1, 0, 2).copy()])
@pytest.mark.parametrize("place", [(0.0, 0.0), (1.0, 1.0)])
def test_letters_stay_within_the_middle_square(picture, place):
    top, bottom, left, right = inked(on_gray("a long name", place=place, picture=picture), picture)

    height, width, _ = picture.shape
    side = min(height, width)
    assert (height - side) // 2 <= top <= bottom < (height + side) // 2
    assert (width - side) // 2 <= left <= right < (width + side) // 2


def test_a_place_gives_the_horizontal_and_vertical_position_of_letters():
    first, last = (inked(on_gray("cat", place=place)) for place in [(0, 0), (1, 1)])

    assert first[0] == 0
    assert first[2] == 30
    assert last[1] == 99
    assert last[3] == 129


def test_all_texts_of_an_image_have_the_type_size_of_the_longest():
    options = {"type_size": 0.4, "place": (0.5, 0.5), "black": True}

    alone = print_texts(GRAY, ["cat"], dejavu_sans(), **options)[0]
    beside, _ = print_texts(GRAY, ["cat", "antidisestablishment"], dejavu_sans(), **options)

    assert np.ptp(inked(beside)[:2]) < np.ptp(inked(alone)[:2])


def test_a_small_image_is_enlarged():
    small = np.full((28, 28, 3), 128, np.uint8)

    assert on_gray("seven", picture=small).shape == (84, 84, 3)


def test_an_image_is_enlarged_until_no_letter_of_a_text_is_cut(monkeypatch):
    name = "restriction ending an overtaking prohibition for trucks and all other large vehicles"
    layouts = []

    def kept(*arguments, **options):
        layouts.append(layout(*arguments, **options))
        return layouts[-1]

    monkeypatch.setattr(printed_names, "layout", kept)
    picture = on_gray(name, picture=np.full((64, 64, 3), 128, np.uint8))

    assert picture.shape == (128, 128, 3)
    assert (layouts[1].cut > 0, layouts[-1].cut) == (True, 0)


def test_the_control_comes_first_then_the_name():
    _, prints = drawn(4)

    control, named = Printing(prints, dejavu_sans()).printed(0, 2, GRAY)

    (own,) = prints.slice(2, 1).to_pylist()
    place = {"place": (own["x"], own["y"]), "black": own["black"], "type_size": own["type_size"]}
    np.testing.assert_array_equal(control, on_gray(own["control"], **place))
    np.testing.assert_array_equal(named, on_gray(own["name"], **place))
