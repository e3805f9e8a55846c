import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from tinyclip import index, text_shards, without

from clipaudit.parrot.erased_pictures import Erasing, Reduced, erasable_pictures, kinds_of
from clipaudit.parrot.erasing import erase, mask_of
from clipaudit.parrot.matching import match
from clipaudit.parrot.spans import Span, spans_table

LEFT, RIGHT = (2, 2, 12, 2, 12, 12, 2, 12), (22, 2, 34, 2, 34, 12, 22, 12)


@pytest.fixture
def samples(tmp_path):
    return index(text_shards(tmp_path, [4]))


def two_of_four(samples):
    """Rows 1 and 3 show a word of their caption at the left, row 3 another one at the right."""
    words = [caption.split()[0] for caption in samples["caption"].to_pylist()]
    one, other = Span(words[1], 1.0, LEFT), [Span(words[3], 1.0, LEFT), Span("zzz", 1.0, RIGHT)]
    return spans_table([(0, 0, []), (0, 1, [one]), (0, 2, []), (0, 3, other)])


def erasable(samples, spans, tokenization="words"):
    return erasable_pictures(samples, spans, match(samples, spans), tokenization, seed=0)


def test_two_images_with_text_are_donors_for_each_other(samples):
    pictures = erasable(samples, two_of_four(samples))

    assert pictures["donor_row"].to_pylist() == [None, 3, None, 1]
    assert pictures["co_donor_row"].to_pylist() == [None, 3, None, 1]


def test_an_image_has_only_the_kinds_with_text_to_erase(samples):
    kinds = kinds_of(erasable(samples, without(two_of_four(samples), (0, 1))))

    assert kinds == [["raw"], ["raw"], ["raw", "all", "co"]]


@pytest.mark.parametrize("tokenization", ["words", "plain"])
def test_images_are_erased_at_their_text(samples, tokenization):
    pictures = erasable(samples, two_of_four(samples), tokenization)
    stored = np.random.default_rng(0).integers(0, 256, (40, 43, 3), np.uint8)
    erasing = Erasing(pictures, tokenization, radius=28, dilation=0)

    raw, *made = erasing.all_kinds(0, 3, stored)

    np.testing.assert_array_equal(raw, stored)
    for pixels, polygons in zip(made, ([LEFT, RIGHT], [LEFT], [LEFT], [LEFT]), strict=True):
        expected = erase(stored, mask_of(polygons, 40, 43, dilation=0), radius=5)
        np.testing.assert_array_equal(pixels, expected)


def test_all_kinds_use_the_requested_fill(samples):
    pictures = erasable(samples, two_of_four(samples))
    stored = np.random.default_rng(0).integers(0, 256, (40, 43, 3), np.uint8)

    *_, own = Erasing(pictures, "words", 28, 0, "mean").all_kinds(0, 1, stored)

    mask = mask_of([LEFT, RIGHT], 40, 43, dilation=0)
    np.testing.assert_array_equal(
        own, erase(stored, mask_of([LEFT], 40, 43, dilation=0), radius=5, fill="mean")
    )
    assert (own[~mask] == stored[~mask]).all()


def test_tables_of_other_images_are_refused(samples):
    spans = two_of_four(samples)

    with pytest.raises(AssertionError, match="matches are of these spans"):
        erasable_pictures(samples, spans, match(samples, spans[:2]), "words", seed=0)
    with pytest.raises(AssertionError, match="spans are of these samples"):
        erasable_pictures(samples[:2], spans, match(samples, spans), "words", seed=0)


def test_no_images_give_an_empty_table(samples):
    pictures = erasable(samples, two_of_four(samples)[:0])

    assert len(pictures) == 0
    assert pictures.schema.field("donor_row").type == pa.int32()


@pytest.mark.parametrize(
    ("size", "expected"),
    [((300, 150), (200, 100)), ((150, 301), (100, 201)), ((99, 500), (99, 500))],
)
def test_images_are_reduced_by_their_shorter_side_and_never_enlarged(size, expected):
    assert Reduced(100)(Image.new("RGB", size)).size == expected
