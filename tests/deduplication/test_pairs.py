from itertools import combinations, product

import numpy as np
import pytest

from clipaudit.deduplication.clusters import Cluster
from clipaudit.deduplication.pairs import Removals, compare

SCALE = 16  # vectors of length rank / SCALE are short enough for exact sums


def ranks_of(vectors):
    return (vectors[:, 0] * SCALE).astype(int).tolist()


class Recorder:
    """A comparison that notes which pairs came, and how many earlier rows at once."""

    def __init__(self):
        self.pairs = []
        self.panels = [0]

    def within(self, first, vectors):
        self.panels.append(len(vectors))
        self.pairs += combinations(ranks_of(vectors), 2)

    def across(self, first, earlier, later):
        self.panels.append(len(earlier))
        for ranks, vectors in later:
            assert ranks.tolist() == ranks_of(vectors)
            self.pairs += product(range(first, first + len(earlier)), ranks_of(vectors))
        assert ranks_of(earlier) == list(range(first, first + len(earlier)))

    def removals(self):
        return Removals(np.zeros(0), np.zeros(0, dtype=np.int64))


def cluster_of(ranks, reads, size=3):
    """A cluster whose vectors say their rank, in blocks of `size` rows."""
    vectors = np.asarray(ranks, dtype=np.float16)[:, None] / SCALE

    def blocks():
        reads.append(len(vectors))
        return (vectors[start : start + size] for start in range(0, len(vectors), size))

    return Cluster(0, np.arange(len(ranks)), np.zeros(len(ranks)), blocks)


@pytest.mark.parametrize("n", [1, 2, 7, 23])
@pytest.mark.parametrize("held_rows", [1, 5, 6, 50])
def test_every_pair_is_compared_once_with_the_earlier_first(n, held_rows):
    ranks, reads, seen = np.random.default_rng(n).permutation(n), [], Recorder()
    cluster = cluster_of(ranks, reads)

    compare(cluster, ranks, seen, held_rows=held_rows)

    assert sorted(seen.pairs) == list(combinations(range(n), 2))
    assert max(seen.panels) <= held_rows
    assert len(reads) == max(1, 2 * -(-n // held_rows) - 1)


def test_a_cluster_that_changes_between_readings_is_noticed():
    blocks = iter([[np.zeros((2, 1), dtype=np.float16)], []])
    cluster = Cluster(4, np.arange(2), np.zeros(2), lambda: next(blocks))

    with pytest.raises(AssertionError, match="cluster 4 changed while it was read"):
        compare(cluster, np.arange(2), Recorder(), held_rows=1)
