import tarfile
from collections import Counter

import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_digits

from clipaudit.config.worlds import DigitWorld
from clipaudit.demo.digit_world import SCANS, samples
from clipaudit.demo.worlds import write_shard
from clipaudit.errors import ConfigError

WORLD = DigitWorld(
    side=24,
    corpora={
        "large": {"samples_per_shard": 30, "scans": (0, 0.1), "printed": 1 / 3},
        "test": {"samples_per_shard": 30, "scans": (0.1, 0.15), "labelled": True},
        "small": {"samples_per_shard": 30, "printed": 1, "captioned": False, "labelled": True},
        "hard": {"samples_per_shard": 30, "scans": (0.2, 0.3), "disturbed": 1},
    },
)


def truth(corpus, shard):
    return [dict(sample.truth) for sample in samples(WORLD, corpus, shard)]


def test_scans_have_their_own_labels():
    digits = load_digits().target

    for row in truth("test", 0):
        assert row["labels"] == [digits[row["scan"]]]


def test_shards_and_corpora_share_no_scan():
    rows = [row for shard in range(9) for row in truth("large", shard)]
    rows += [row for shard in range(3) for row in truth("test", shard)]

    scans = [row["scan"] for row in rows if row["scan"] is not None]

    assert len(scans) == len(set(scans)) == round(0.15 * SCANS)


def test_a_mixed_shard_has_the_requested_share_of_printed_digits():
    rows = truth("large", 0)

    assert Counter(row["style"] for row in rows) == {"handwritten": 20, "printed": 10}


def test_printed_digits_are_equally_frequent():
    labels = Counter(row["labels"][0] for row in truth("small", 4))

    assert set(labels.values()) == {3}


def test_a_slice_may_end_within_a_shard_but_not_before_it():
    assert len(truth("test", 2)) == round(0.05 * SCANS) - 60

    with pytest.raises(ConfigError, match="test: shard 3 has no scan left: its slice has 90, 30"):
        truth("test", 3)
    with pytest.raises(ConfigError, match=r"enough for 1 shard\. Set fewer"):
        list(samples(DigitWorld(corpora={"few": {"scans": (0, 0.01)}}), "few", 1))


def test_disturbed_digits_have_the_style_disturbed():
    assert {row["style"] for row in truth("hard", 0)} == {"disturbed"}


def test_captions_name_the_digit():
    names = "zero one two three four five six seven eight nine".split()

    for row in truth("large", 0):
        assert names[row["labels"][0]] in row["caption"].split()


def test_a_shard_beyond_the_scans_leaves_no_file(tmp_path):
    with pytest.raises(ConfigError):
        write_shard(WORLD, "test", 9, tmp_path / "a.tar", tmp_path / "a.parquet")

    assert list(tmp_path.iterdir()) == []


def test_a_digit_shard_has_the_usual_shard_format(tmp_path):
    write_shard(WORLD, "small", 0, tmp_path / "a.tar", tmp_path / "a.parquet")

    with tarfile.open(tmp_path / "a.tar") as archive:
        assert archive.getnames()[:3] == ["000000.png", "000000.cls", "000000.json"]
    assert pq.read_table(tmp_path / "a.parquet")["scan"].null_count == 30
