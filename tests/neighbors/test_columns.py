import numpy as np
import pytest
import torch

from clipaudit.neighbors import columns
from clipaudit.neighbors.columns import Columns
from clipaudit.neighbors.merging import select


@pytest.mark.parametrize("cells", [1, 40, 1 << 25])
def test_the_number_of_candidates_sorted_at_once_does_not_matter(cells, monkeypatch):
    """One query has most of them, some have none."""
    monkeypatch.setattr(columns, "_CELLS", cells)
    rng = np.random.default_rng(0)
    queries = torch.from_numpy(np.minimum(rng.integers(0, 40, 300), 9))
    similarity = torch.from_numpy(rng.integers(0, 5, 300) / 4)
    address = torch.from_numpy(rng.permutation(300))
    state = Columns(12, 3, "cpu")

    state.fold(queries, similarity, address)

    for query in range(12):
        own = (queries == query).numpy()
        expected = select(similarity.numpy()[None, own], address.numpy()[None, own], 3)
        count = expected.address.shape[1]
        assert state.top().address[query, :count].tolist() == expected.address[0].tolist()
        assert (state.top().address[query, count:] == -1).all()
