from decimal import Decimal

import pyarrow as pa
import pytest

from clipaudit.errors import ConfigError
from clipaudit.parrot.matching import match
from clipaudit.parrot.spans import Span, spans_table
from clipaudit.parrot.sweep_fuzzy import FUZZY_SWEEP, sweep_fuzzy

BOX = (0.0, 0.0, 9.0, 0.0, 9.0, 9.0)
# one of five letters differs (0.8), or two (0.6)
CAPTIONS = ["apple grape", "Apple", "lemon", None, "plum"]
TEXTS = [["apply"], ["apple"], ["lemur"], ["word"], []]


def tables(captions=CAPTIONS, texts=TEXTS):
    samples = pa.table(
        {
            "shard": pa.array([0] * len(captions), pa.int32()),
            "row": pa.array(range(len(captions)), pa.int32()),
            "caption": pa.array(captions, pa.string()),
        }
    )
    spans = spans_table(
        (0, row, [Span(t, 1.0, BOX) for t in each]) for row, each in enumerate(texts)
    )
    return samples, spans


def rates(thresholds, tokenization="words", *, has_text=True):
    """The captions and the sum of their rates at each threshold."""
    found = sweep_fuzzy(*tables(), thresholds).to_pylist()
    return {
        row["threshold"]: (row["captions"], row["rates"])
        for row in found
        if row["tokenization"] == tokenization and row["has_text"] == has_text
    }


def test_four_captions_match_a_hand_calculation():
    assert rates([0.6, 0.8, 0.9]) == {
        0.6: (3, Decimal("2.5")),  # apple of two words, Apple, lemon
        0.8: (3, Decimal("1.5")),
        0.9: (3, Decimal("1")),
    }
    assert rates([0.8], "plain") == {0.8: (3, Decimal("1.5"))}  # apple, Apple: a similarity of 0.8


def test_captions_of_images_without_text_count_separately():
    assert rates([0.6], has_text=False) == {0.6: (1, Decimal(0))}


@pytest.mark.parametrize("tokenization", ["words", "plain"])
def test_rates_at_the_threshold_of_the_audit_equal_those_of_table_1(tokenization):
    own = match(*tables())[f"{tokenization}_fuzzy_rate"].drop_null()

    with_text, without = (rates([0.8], tokenization, has_text=each)[0.8] for each in (True, False))

    assert with_text[0] + without[0] == len(own)
    assert float(with_text[1] + without[1]) == pytest.approx(sum(own.to_pylist()), abs=1e-12)


def test_no_images_give_rows_with_zero_captions():
    found = sweep_fuzzy(*tables([], []), [0.8])

    assert found.schema == FUZZY_SWEEP
    assert found["captions"].to_pylist() == [0] * 4


def test_no_thresholds_give_no_rows():
    assert sweep_fuzzy(*tables(), []).equals(FUZZY_SWEEP.empty_table())


def test_a_threshold_of_0_is_refused():
    with pytest.raises(ConfigError, match="fuzzy threshold 0"):
        sweep_fuzzy(*tables(), [0])
