import numpy as np
import pytest
import torch
from tinyclip import sealed, text_shards

from clipaudit.config.supervised import SupervisedRecipe
from clipaudit.corpora.sealed import Sealed
from clipaudit.errors import InputError
from clipaudit.models.classifiers import training_preparation
from clipaudit.training import mixing
from clipaudit.training.data import Crops, Maker
from clipaudit.training.mixing import drawn_targets, even_distinct, refuse_unmixed


class Rows(Maker):
    """Makes a sample's address its target."""

    learns = "caption"

    def target(self, sample, epoch):
        return torch.tensor([sample.shard, sample.row])


def drawn(folder, counts, drop=()):
    shards = text_shards(folder, counts)
    file, _ = sealed(folder, shards, counts, drop=drop)
    found = drawn_targets(
        Sealed(file), dict(shards), Rows(Crops(training_preparation(SupervisedRecipe()), 0)), seed=0
    )
    return [tuple(row) for row in found.tolist()]


def test_the_even_count_is_the_average_number_of_targets_in_a_draw():
    pool = torch.tensor([0] * 6 + [1] * 3 + [2])
    dice = np.random.default_rng(0)

    means = np.mean([len(set(dice.choice(pool.numpy(), 4))) for _ in range(20_000)])

    assert even_distinct(pool, 4)[0] == pytest.approx(means, abs=0.02)


def test_targets_of_several_numbers_count_as_one_each():
    assert even_distinct(torch.tensor([[0, 1], [0, 2]]), 1)[0] == 1


def test_a_batch_of_one_class_is_refused_with_both_numbers():
    pool = torch.arange(100)

    message = "a batch of 64 samples has 5 different captions or labels, but an even draw has 47"
    with pytest.raises(InputError, match=message):
        refuse_unmixed(torch.arange(64) % 5, pool)


def test_mixed_batches_of_a_frequent_and_many_rare_targets_are_accepted():
    dice = np.random.default_rng(0)
    pool = np.where(dice.random(1024) < 0.9, 0, dice.integers(1, 1000, 1024))

    few = [
        refuse_unmixed(torch.from_numpy(dice.choice(pool, 16)), torch.from_numpy(pool))
        for _ in range(500)
    ]

    assert any(found <= 0.5 * even for found, even in few)


def test_a_mixed_batch_is_accepted():
    pool = torch.arange(100)

    found, even = refuse_unmixed(torch.from_numpy(np.random.default_rng(0).choice(100, 64)), pool)

    assert 0.8 < found / even < 1.2


def test_all_kept_samples_are_drawn_if_they_are_few(tmp_path):
    assert sorted(drawn(tmp_path, [3, 2], drop={(0, 1)})) == [(0, 0), (0, 2), (1, 0), (1, 1)]


def test_a_subset_of_many_shards_is_read_evenly(tmp_path, monkeypatch):
    monkeypatch.setattr(mixing, "SHARDS", 3)
    monkeypatch.setattr(mixing, "SAMPLES", 6)

    found = drawn(tmp_path, [4] * 5)

    shards = [shard for shard, _ in found]
    assert len(set(shards)) == 3
    assert all(shards.count(shard) == 2 for shard in set(shards))
