import pyarrow as pa
import pytest

from clipaudit.corpora.drops import DROPS, Drops, refuse_only_unusable
from clipaudit.errors import InputError


def test_details_do_not_change_between_runs():
    drops = Drops("index")
    drops.add(0, 1, "a", "corrupt image", "cannot read <BytesIO object at 0x7f00deadbeef>")
    drops.add(0, 2, "b", "corrupt image", "half \ud800" + "x" * 1000)

    details = drops.table()["detail"].to_pylist()

    assert details[0] == "cannot read <BytesIO object>"
    assert details[1].startswith("half \\ud800x")
    assert len(details[1]) == 300


def test_no_drops_give_an_empty_table():
    assert Drops("embed").table().schema == DROPS
    assert Drops("embed").table().num_rows == 0


def refused(usable):
    """Return the number of rows of a part with some usable samples, unless none of them is."""
    drops = Drops("embed")
    for row in (row for row, fine in enumerate(usable) if not fine):
        drops.add(3, row, str(row), "not finite")
    table = pa.table({"row": [row for row, fine in enumerate(usable) if fine]})
    kept = refuse_only_unusable([table], drops, "not finite", of="own (own.pt)")
    return sum(map(len, kept))


def test_a_part_whose_samples_are_all_not_finite_is_refused():
    expected = r"not finite for all 2 samples, first shard 3, row 0, key '0': .* of own \(own.pt\)"

    with pytest.raises(InputError, match=expected):
        refused([False, False])


@pytest.mark.parametrize("usable", [[False, True], []])
def test_a_part_with_a_finite_sample_or_without_samples_is_not_refused(usable):
    assert refused(usable) == sum(usable)
