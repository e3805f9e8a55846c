import numpy as np
import pytest

from clipaudit.errors import InputError
from clipaudit.neighbors.backends import search
from clipaudit.neighbors.interface import Queries

UNIT = np.eye(3, dtype=np.float16)
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "torch", "native", "triton"])


def unit_queries(**changes):
    fields = {"vectors": UNIT, "starts": (0, 3), "addresses": np.arange(3), "gaps": None}
    return Queries(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"starts": (0, 2)}, r"boundaries \(0, 2\) .* number of vectors, 3"),
        ({"addresses": np.array([0, 2, 1])}, "must rise strictly"),
        ({"addresses": np.array([0, 1, 1])}, "must rise strictly"),
        ({"starts": (0, 2, 1, 3)}, "must rise strictly"),
        ({"gaps": np.array([0, np.nan, 0])}, "query 1: its gap nan is not a similarity"),
        ({"gaps": np.array([0, 0, np.inf])}, "query 2: its gap inf is not a similarity"),
        ({"vectors": UNIT * 5}, r"test sample \(shard 0, row 0\): its embedding has norm 5"),
    ],
)
def test_invalid_queries_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        unit_queries(**changes)


def test_addresses_may_restart_in_the_next_set():
    queries = unit_queries(starts=(0, 2, 3), addresses=np.array([4, 7, 4]))

    assert list(queries.sets()) == [(0, 2), (2, 3)]


@BACKENDS
@pytest.mark.parametrize("element", [4.01, np.nan, np.inf, 6e4])
def test_vectors_without_exact_sums_are_refused_by_address(backend, element):
    block = UNIT[:2].copy()
    block[1, 1] = element
    addresses = np.array([0, (7 << 32) + 5])

    with pytest.raises(InputError, match=r"train sample \(shard 7, row 5\).* normalise"):
        search(unit_queries(), k=1, backend=backend).rows(addresses, block)


@BACKENDS
def test_vectors_of_norm_4_are_exact(backend):
    found = search(unit_queries(vectors=UNIT * 4), k=1, backend=backend)

    assert found.rows(np.arange(3), UNIT * 4).similarity.tolist() == [[1.0]] * 3


@BACKENDS
def test_other_dimensions_are_refused(backend):
    with pytest.raises(InputError, match="dimension 2 against queries of dimension 3"):
        search(unit_queries(), k=1, backend=backend).rows(np.arange(3), UNIT[:, :2])


@BACKENDS
def test_no_training_samples_give_no_neighbours(backend):
    found = search(unit_queries(), k=2, backend=backend)

    best = found.rows(np.arange(0), UNIT[:0])

    assert best.similarity.shape == (0, 1)
    assert found.top().address.tolist() == [[-1, -1]] * 3
