import pyarrow as pa
from test_groups import pair, pairs

from clipaudit.copies.pair_options import PairOptions
from clipaudit.copies.shown_pairs import SHOWN_PAIRS, pick_pairs


def options(which="copies", count=4):
    return PairOptions(which, "val", "Val", "web", "the web", count)


def shown(table, **asked):
    return [
        (row["other_row"], row["row"]) for row in pick_pairs(table, options(**asked)).to_pylist()
    ]


def test_each_searched_image_shows_its_nearest_pair():
    found = pairs(pair(1, 5, agreement=0.8), pair(1, 6, agreement=0.9), pair(2, 7, agreement=0.7))

    assert shown(found) == [(1, 6), (2, 7)]


def test_kinds_share_the_available_places():
    found = pairs(
        *(pair(n, n, "identical bytes") for n in range(10)),
        *(pair(n, n, "edited", agreement=0.9) for n in range(10, 20)),
    )

    assert shown(found) == [(0, 0), (1, 1), (10, 10), (11, 11)]


def test_lookalikes_are_shown_separately():
    found = pairs(pair(0, 0), pair(1, 1, "lookalike", agreement=0.4))

    assert shown(found, which="lookalikes") == [(1, 1)]
    assert shown(found) == [(0, 0)]


def test_no_pairs_give_no_rows():
    table = pick_pairs(pairs(), options())

    assert table.schema == SHOWN_PAIRS
    assert isinstance(table, pa.Table)
    assert len(table) == 0
