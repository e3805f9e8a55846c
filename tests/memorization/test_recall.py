from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.errors import ConfigError, StoreError
from clipaudit.memorization import recall
from clipaudit.memorization.recall import (
    RECALLS,
    RETRIEVED,
    SAMPLE_LABELS,
    recall_test,
    retrieved_images,
    sample_labels,
)


def labelled(images):
    """The table of images {(shard, row): labels}."""
    addresses = sorted(images)
    columns = {
        "shard": pa.array([shard for shard, _ in addresses], pa.int32()),
        "row": pa.array([row for _, row in addresses], pa.int32()),
        "labels": pa.array([images[address] for address in addresses], pa.list_(pa.int32())),
    }
    return pa.table(columns)


def found(neighbors):
    """RETRIEVED of {record: [public image, ...]}, the similarity falling by an eighth a rank."""
    rows = [
        (*record, rank, 1 - rank / 8, *image)
        for record in sorted(neighbors)
        for rank, image in enumerate(neighbors[record])
    ]
    return pa.Table.from_pylist(
        [dict(zip(RETRIEVED.names, row, strict=True)) for row in rows], RETRIEVED
    )


def plain_recalls(neighbors, truths, public, ks, top):
    """Algorithm 1 with sets, record by record."""
    for record in sorted(truths):
        own = set(truths[record])
        for k in sorted(set(ks)):
            near = neighbors.get(record, [])[:k]
            votes = Counter(label for image in near for label in set(public[image]))
            best = sorted(votes, key=lambda label: (-votes[label], label))[:top]
            yield (
                *record, k, 1.0 if near else None, len(own), len(votes), len(own & set(votes)),
                len(best), len(own & set(best)),
            )  # fmt: skip


labels = st.lists(st.integers(-1, 5), max_size=6)  # some lists empty, some labels twice
addresses = st.tuples(st.integers(0, 2), st.integers(0, 4))


@st.composite
def knn_tests(draw):
    truths = draw(st.dictionaries(addresses, labels, max_size=8))
    public = draw(st.dictionaries(addresses, labels, min_size=1, max_size=8))
    images = st.lists(st.sampled_from(sorted(public)), max_size=6, unique=True)
    tested = draw(st.sets(st.sampled_from(sorted(truths)))) if truths else ()
    return {record: draw(images) for record in sorted(tested)}, truths, public


@given(knn_tests(), st.lists(st.integers(1, 7), min_size=1, max_size=3), st.integers(1, 4))
def test_recalls_equal_those_computed_with_sets(test, ks, top):
    neighbors, truths, public = test

    recalls = recall_test(found(neighbors), labelled(truths), labelled(public), ks=ks, top=top)

    assert recalls.schema == RECALLS
    got = [tuple(row.values()) for row in recalls.to_pylist()]
    assert got == list(plain_recalls(neighbors, truths, public, ks, top))


@pytest.mark.parametrize("records", [1, 3, 4096])
def test_block_sizes_do_not_matter(monkeypatch, records):
    neighbors = {(0, row): [(0, row % 4), (1, row % 3)] for row in range(0, 20, 2)}
    truths = labelled({(0, row): [row % 5, row % 2] for row in range(20)})
    public = labelled({(shard, row): [row, shard] for shard in range(2) for row in range(4)})
    whole = recall_test(found(neighbors), truths, public, ks=[1, 2])

    monkeypatch.setattr(recall, "BLOCK_RECORDS", records)

    assert recall_test(found(neighbors), truths, public, ks=[1, 2]).equals(whole)


def test_labels_with_equal_counts_are_ranked_from_the_lowest():
    neighbors = {(0, 0): [(0, 0), (0, 1)]}
    public = labelled({(0, 0): [9, 9, 9, 3, 7], (0, 1): [7, 1]})

    recalls = recall_test(found(neighbors), labelled({(0, 0): [7, 1, 9]}), public, ks=[2], top=2)

    row = recalls.to_pylist()[0]
    assert (row["predicted"], row["correct"]) == (4, 3)
    assert (row["top_predicted"], row["top_correct"]) == (2, 2)  # 7, then 1 of the rest


def test_a_record_without_neighbours_predicts_nothing():
    recalls = recall_test(found({}), labelled({(2, 1): [4]}), labelled({}), ks=[10])

    assert recalls.to_pylist() == [
        dict(zip(RECALLS.names, (2, 1, 10, None, 1, 0, 0, 0, 0), strict=True))
    ]


def test_only_retrieved_public_images_are_held_in_memory():
    retrieved = found({(0, 0): [(0, 1), (1, 0)], (0, 1): [(1, 0)]})
    pieces = [labelled({(0, 0): [1], (0, 1): [2, 3]}), labelled({(1, 0): [4], (1, 1): [5]})]

    held = retrieved_images(pieces, retrieved)

    assert held.equals(labelled({(0, 1): [2, 3], (1, 0): [4]}))
    assert len(retrieved_images(pieces, found({}))) == 0


def test_no_records_give_no_rows():
    recalls = recall_test(found({}), labelled({}), labelled({(0, 0): [1]}), ks=[10])

    assert recalls.equals(RECALLS.empty_table())


def test_labels_may_come_in_chunks_and_slices():
    public = {(0, row): [row, 7] for row in range(6)}
    neighbors = {(0, 0): [(0, 2), (0, 4)]}
    truths = labelled({(0, 0): [2, 7]})
    chunks = pa.concat_tables([labelled(public).slice(0, 3), labelled(public).slice(3)])

    recalls = recall_test(found(neighbors), truths, chunks, ks=[2])

    assert recalls.select(["predicted", "correct"]).to_pylist() == [{"predicted": 3, "correct": 2}]


def test_an_unknown_public_image_is_named():
    neighbors = {(0, 0): [(0, 0), (3, 5)]}

    with pytest.raises(StoreError, match=r"public image \(shard, row\) \(3, 5\).* 1 images"):
        recall_test(found(neighbors), labelled({(0, 0): []}), labelled({(0, 0): []}), ks=[1])


def test_an_unknown_record_is_named():
    neighbors = {(0, 0): [(0, 0)], (1, 4): [(0, 0)]}

    with pytest.raises(StoreError, match=r"record \(shard, row\) \(1, 4\).* truths"):
        recall_test(found(neighbors), labelled({(0, 0): []}), labelled({(0, 0): []}), ks=[1])


@pytest.mark.parametrize("order", [[1, 0], [0, 0]])
def test_unsorted_labels_are_refused(order):
    public = labelled({(0, 0): [1], (0, 1): [2]}).take(pa.array(order))

    with pytest.raises(StoreError, match=r"public: \(shard, row\) \(0, .\) and then \(0, 0\)"):
        recall_test(found({}), labelled({}), public, ks=[1])


def test_unsorted_neighbours_are_refused():
    retrieved = found({(0, 0): [(0, 0), (0, 1)]}).take(pa.array([1, 0]))
    public = labelled({(0, 0): [1], (0, 1): [2]})

    with pytest.raises(StoreError, match=r"rank 0 of record \(shard, row\) \(0, 0\)"):
        recall_test(retrieved, labelled({(0, 0): []}), public, ks=[1])


@pytest.mark.parametrize("ks", [[], [0], [1 << 20]])
def test_numbers_of_neighbours_out_of_range_are_refused(ks):
    with pytest.raises(ConfigError, match="give one or more"):
        recall_test(found({}), labelled({}), labelled({}), ks=ks)


def test_the_labels_of_a_sample_are_listed_with_the_missed_ones():
    neighbors = {(0, 0): [(0, 0)], (0, 1): [(0, 0), (0, 1), (0, 2)]}
    truths = labelled({(0, 0): [1], (0, 1): [5, 6, 6]})
    public = labelled({(0, 0): [4, 4, 5], (0, 1): [5, 3], (0, 2): [8]})
    wanted = pa.table({"shard": pa.array([0], pa.int32()), "row": pa.array([1], pa.int32())})

    listed = sample_labels(found(neighbors), truths, public, wanted, k=2)

    assert listed.schema == SAMPLE_LABELS
    assert [tuple(row.values()) for row in listed.to_pylist()] == [
        (0, 1, 5, 2, True), (0, 1, 3, 1, False), (0, 1, 4, 1, False), (0, 1, 6, 0, True),
    ]  # fmt: skip


@given(knn_tests(), st.integers(1, 7))
def test_listed_labels_add_up_to_the_recalls(test, k):
    neighbors, truths, public = test
    tables = found(neighbors), labelled(truths), labelled(public)

    listed = sample_labels(*tables, labelled(truths), k=k).to_pylist()

    for row in recall_test(*tables, ks=[k]).to_pylist():
        own = [
            each for each in listed if (each["shard"], each["row"]) == (row["shard"], row["row"])
        ]
        held = [each for each in own if each["neighbors"]]
        assert len(held) == row["predicted"]
        assert sum(each["is_true"] for each in held) == row["correct"]
        assert sum(each["is_true"] for each in own) == row["truths"]


def test_listing_an_unknown_record_is_refused():
    wanted = pa.table({"shard": np.array([6], np.int32), "row": np.array([2], np.int32)})

    with pytest.raises(StoreError, match=r"record to be listed \(shard, row\) \(6, 2\)"):
        sample_labels(found({}), labelled({(0, 0): [1]}), labelled({}), wanted, k=1)
