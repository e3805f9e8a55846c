import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from clustercases import (
    clustered,
    first_of_group,
    grid_vectors,
    nearest_earlier,
    reader,
    similarities,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from clipaudit.deduplication import clusters as reading
from clipaudit.deduplication.duplicates import DUPLICATES, find_duplicates
from clipaudit.errors import InputError

RULES = ["semdedup", "clip-ood", "paper"]


def find(*parts, rule, **settings):
    table = find_duplicates(reader(*parts, batch_rows=5), range(10), rule=rule, **settings)
    assert table.schema == DUPLICATES
    return table


def kept(table, threshold):
    """Return the rows kept at a threshold."""
    leaves = pc.fill_null(pc.greater(table["similarity"], threshold), False)
    return table.filter(pc.invert(leaves))["row"].to_pylist()


def expected(part, rule):
    """Return the removal similarity and the duplicate's row, by row, for one cluster and shard."""
    vectors = np.array([np.frombuffer(b, "<f2") for b in part["embedding"].to_pylist()])
    centroid = part["centroid_similarity"].to_numpy()
    order = np.arange(len(vectors)) if rule == "clip-ood" else np.argsort(centroid, kind="stable")
    answer = first_of_group if rule == "paper" else nearest_earlier
    found = [(None, None)] * len(vectors)
    for rank, (similarity, earlier) in enumerate(answer(similarities(vectors[order]))):
        found[order[rank]] = (similarity, None if earlier is None else order[earlier])
    return found


@pytest.fixture
def parts():
    """Shards 0 to 2, a part each, in clusters 1, 4 and 5."""
    rng = np.random.default_rng(0)
    return [
        clustered(
            grid_vectors(rng, 40),
            cluster=rng.choice([1, 4, 5], 40),
            shard=shard,
            centroid_similarity=rng.choice([0.25, 0.5], 40),
        )
        for shard in range(3)
    ]


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 30]), st.sampled_from(RULES))
def test_each_rule_equals_its_plain_version(seed, n, rule):
    rng = np.random.default_rng(seed)
    part = clustered(grid_vectors(rng, n), centroid_similarity=rng.choice([-0.5, 0.0, 0.5], n))

    table = find(part, rule=rule, block_rows=4)

    rows = zip(table["similarity"].to_pylist(), table["duplicate_row"].to_pylist(), strict=True)
    assert list(rows) == expected(part, rule)


@pytest.mark.parametrize(
    ("rule", "stay"),
    [
        ("semdedup", [1, 2]),  # a and c come first and are no duplicates; b repeats them
        ("clip-ood", [0]),  # b is the first in the file, a and c repeat it
        ("paper", [1]),  # the chain is one group, of which a is farthest from the centroid
    ],
)
def test_each_rule_keeps_different_samples_of_a_chain(rule, stay):
    b, a, c = [0.75, 0.75], [1, 0], [0, 1]  # in the order of the file
    part = clustered([b, a, c], centroid_similarity=[0.9, 0.1, 0.2])

    table = find(part, rule=rule)

    assert kept(table, 0.7) == stay
    assert kept(table, 0.75) == [0, 1, 2]  # a tie stays


def test_a_removed_sample_still_removes_others():
    """SemDeDup's code: a-b-c in this order keeps only a, though a and c are no duplicates."""
    part = clustered([[1, 0], [0.75, 0.75], [0, 1]], centroid_similarity=[0.1, 0.2, 0.3])

    table = find(part, rule="semdedup")

    assert kept(table, 0.7) == [0]
    assert table["duplicate_row"].to_pylist() == [None, 0, 1]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("block_rows", "held_rows"), [(1, 3), (3, 7), (16, 16), (1000, 10), (2, 1000)]
)
def test_block_sizes_do_not_change_the_result(parts, monkeypatch, rule, block_rows, held_rows):
    whole = find(*parts, rule=rule)
    monkeypatch.setattr(reading, "JOINED_ROWS", 4)

    blocks = find(*parts, rule=rule, block_rows=block_rows, held_rows=held_rows)

    assert blocks == whole


@pytest.mark.parametrize("rule", RULES)
def test_parts_and_groups_of_clusters_do_not_change_the_result(parts, rule):
    whole = pa.concat_tables(parts).sort_by(
        [("cluster", "ascending"), ("shard", "ascending"), ("row", "ascending")]
    )

    groups = [
        find_duplicates(reader(whole), clusters, rule=rule)
        for clusters in (range(4), range(4, 5), range(5, 10))
    ]

    address = [("shard", "ascending"), ("row", "ascending")]
    assert pa.concat_tables(groups).sort_by(address) == find(*parts, rule=rule)


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize("held_rows", [12, 1000])
@pytest.mark.parametrize("rule", ["semdedup", "paper"])
def test_backends_do_not_change_the_result(parts, monkeypatch, rule, backend, held_rows):
    usual = find(*parts, rule=rule, floor=0.0)
    monkeypatch.setattr(reading, "JOINED_ROWS", 16)
    sizes = {"block_rows": 8, "held_rows": held_rows, "floor": 0.0}

    assert find(*parts, rule=rule, backend=backend, threads=1, **sizes) == usual


def test_rows_are_complete_and_sorted_by_address(parts):
    table = find(*parts, rule="semdedup")

    addresses = table.select(["shard", "row"]).to_pylist()
    assert addresses == [{"shard": shard, "row": row} for shard in range(3) for row in range(40)]
    assert sum(table["similarity"].is_null().to_pylist()) == 3  # the first of each cluster


@pytest.mark.parametrize("rule", RULES)
def test_a_sample_alone_in_its_cluster_is_kept(rule):
    table = find(clustered([[0, 1]], cluster=7), rule=rule)

    assert table.to_pylist() == [
        {"cluster": 7, "shard": 0, "row": 0}
        | dict.fromkeys(["similarity", "duplicate_shard", "duplicate_row"])
    ]


@pytest.mark.parametrize("rule", RULES)
def test_no_samples_give_no_rows(rule):
    assert find(rule=rule).num_rows == 0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("vector", [[0.5, 0.5], [0, 0]])
def test_the_first_of_many_copies_is_kept(rule, vector):
    part = clustered(np.tile(vector, (3000, 1)))

    table = find_duplicates(reader(part), range(1), rule=rule)

    similarity = float(any(vector))
    assert table["similarity"].to_pylist() == [None] + [similarity] * 2999
    assert set(table["duplicate_row"].to_pylist()) == {None, 0}


def test_pairs_below_the_floor_remove_no_sample():
    part = clustered([[1, 0], [0.75, 0.25], [0.75, 0.5]])

    none, low, high = find(part, rule="paper")["similarity"].to_pylist()

    assert none is None
    assert low < high
    for floor, expected in ((0.5, [low, high]), (low, [None, high]), (high, [None, None])):
        table = find(part, rule="paper", floor=floor)
        assert table["similarity"].to_pylist() == [None, *expected]


@pytest.mark.parametrize("rule", RULES)
def test_a_vector_too_long_for_exact_sums_is_named(rule):
    part = clustered([[1, 0], [5, 0]], shard=3)

    with pytest.raises(InputError, match=r"shard 3, row 1.*norm 5"):
        find(part, rule=rule)


def test_without_clusters_no_part_is_read():
    table = find_duplicates(reader(batch_rows=5), range(0))

    assert table.num_rows == 0
    assert table.schema == DUPLICATES
