import numpy as np
import pyarrow as pa
import pytest
from drawnimages import described, drawing

from clipaudit.copies.candidates import Described
from clipaudit.copies.repeats import find_repeats
from clipaudit.copies.search_limits import Limits, Thresholds

IMAGES = [(drawing(seed % 3) * (1 - 0.02 * seed)).astype(np.uint8) for seed in range(12)]
GIVEN = Thresholds(20, {})


class Stricter(Thresholds):
    """Thresholds that become stricter with every third image, and at last allow no pair."""

    def limits(self, images=None):
        return Limits((40, 20, 4, None)[(images - 1) // 3], {})


def rows(found):
    return [(row["other_row"], row["row"], row["distance"]) for row in found.to_pylist()]


def cut(corpus, start, stop):
    return Described(
        *(
            table.filter(pa.array([start <= row < stop for row in table["row"].to_pylist()]))
            for table in corpus
        )
    )


@pytest.mark.parametrize("thresholds", [GIVEN, Stricter(None, {})])
@pytest.mark.parametrize("size", [1, 4, 5])
def test_cutting_a_corpus_into_parts_changes_no_repeat(thresholds, size):
    corpus = described(IMAGES)
    whole = find_repeats(corpus, corpus, thresholds)

    parts = [
        find_repeats(cut(corpus, 0, start + size), cut(corpus, start, start + size), thresholds)
        for start in range(0, len(IMAGES), size)
    ]

    assert len(whole) > 5
    assert pa.concat_tables(parts).equals(whole)


def test_each_image_has_the_limit_of_the_number_of_images_up_to_it():
    corpus = described(IMAGES)
    loose, found = (
        rows(find_repeats(corpus, corpus, thresholds))
        for thresholds in (Thresholds(40, {}), Stricter(None, {}))
    )

    limits = [40] * 3 + [20] * 3 + [4] * 3 + [-1] * 3
    assert found == [pair for pair in loose if pair[2] <= limits[pair[1]]]
    assert 0 < len(found) < len(loose)


def test_a_part_without_images_has_no_repeats():
    corpus = described(IMAGES)

    assert len(find_repeats(corpus, cut(corpus, 0, 0), GIVEN)) == 0
