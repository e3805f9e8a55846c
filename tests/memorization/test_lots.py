import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.corpora.manifests import MANIFEST, keep_all
from clipaudit.corpora.samples import SAMPLES
from clipaudit.errors import InputError
from clipaudit.memorization.lots import LOTS, draw_lots


def samples(captions, uids=None, shard=0):
    n = len(captions)
    columns = {
        "shard": [shard] * n,
        "row": range(n),
        "uid": uids or [f"{i:032x}" for i in range(n)],
        "caption": captions,
        "label": [None] * n,
        "metadata": [None] * n,
    }
    rest = {
        field.name: [0 if pa.types.is_integer(field.type) else ""] * n
        for field in SAMPLES
        if field.name not in columns
    }
    return pa.table({name: (columns | rest)[name] for name in SAMPLES.names}, schema=SAMPLES)


def lots(table, group="caption", seed=0, base=None):
    return draw_lots(table, keep_all(table) if base is None else base, group=group, seed=seed)


def values(table):
    pairs = zip(table["high"].to_pylist(), table["low"].to_pylist(), strict=True)
    return [high << 64 | low for high, low in pairs]


def test_a_lot_is_pinned():
    """A changed literal means that every set is redrawn."""
    found = lots(samples(["a cat"]), seed=7)

    assert found.schema == LOTS
    assert found.to_pylist() == [
        {"shard": 0, "row": 0, "high": 12627115430732174387, "low": 12695708740694561720},
    ]


@given(st.lists(st.text("aé ", max_size=3), max_size=8), st.integers(0, 2**64 - 1))
def test_a_lot_is_the_hash_of_seed_tag_and_caption(captions, seed):
    expected = [
        hashlib.sha256(seed.to_bytes(8, "big") + b"c" + caption.encode()).digest()[:16]
        for caption in captions
    ]

    found = lots(samples(captions), seed=seed)

    assert values(found) == [int.from_bytes(digest, "big") for digest in expected]


def test_captions_share_a_lot_only_if_they_are_equal():
    one, two, again, other = values(lots(samples(["a cat", "A cat", "a cat", "a cat "])))

    assert one == again
    assert len({one, two, other}) == 3


def test_equal_uids_share_a_lot_even_with_different_captions():
    one, again, other = values(lots(samples(["a", "b", "b"], ["00", "00", "11"]), group="uid"))

    assert one == again != other


def test_seeds_and_kinds_of_group_give_different_lots():
    table = samples(["cat"], ["cat"])

    drawn = {values(lots(table, group, seed))[0] for group in ("caption", "uid") for seed in (0, 1)}

    assert len(drawn) == 4


def test_only_samples_kept_by_the_base_take_part():
    table = samples(["a", "b", "c"])
    kept = keep_all(table)
    base = kept.set_column(2, MANIFEST.field("kept"), pa.array([True, False, True]))

    found = lots(table, base=base.take([2, 1, 0]))  # its order does not matter

    assert found["row"].to_pylist() == [0, 2]
    assert values(found) == [values(lots(table))[i] for i in (0, 2)]


def test_adding_samples_changes_no_lot():
    assert values(lots(samples(["a", "b", "c"])))[:2] == values(lots(samples(["a", "b"])))


def test_no_samples_have_no_lots():
    assert lots(samples([])) == LOTS.empty_table()


def test_a_sample_without_a_caption_cannot_be_grouped_by_caption():
    table = samples(["a", None, None], shard=4)

    with pytest.raises(InputError, match=r"shard 4, row 1: .*no caption, as 2 of 3 .* by uid"):
        lots(table)


def test_a_dropped_sample_needs_no_caption():
    table = samples(["a", None])
    kept = keep_all(table)
    base = kept.set_column(2, MANIFEST.field("kept"), pc.is_valid(table["caption"]))

    assert len(lots(table, base=base)) == 1
    assert np.array_equal(lots(table, "uid")["row"], [0, 1])
