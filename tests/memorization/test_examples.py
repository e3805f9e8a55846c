from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.errors import InputError, StoreError
from clipaudit.memorization.examples import MODELS, ExampleInputs, most_memorized
from clipaudit.memorization.measures import in_one_corpus
from clipaudit.memorization.objects import objects_table, vocabulary_table
from clipaudit.memorization.recall import RETRIEVED, recall_test

SHARDS = {"web": 2, "coco": 1}  # the sources: shards 0 and 1, and shard 2 when joined
NAMES = {0: "cat", 1: "dog", 2: "pizza", 3: None}


def objects(pictures, boxes=None):
    """OBJECTS of {(shard, row): labels}; those of `boxes` have that box."""
    places = sorted(pictures)
    owners = [n for n, place in enumerate(places) for _ in pictures[place]]
    labels = [label for place in places for label in pictures[place]]
    given = boxes or {}
    none = [np.nan] * 4
    return objects_table(
        np.array([shard for shard, _ in places], np.int32),
        np.array([row for _, row in places], np.int32),
        np.array(owners, np.int64),
        labels=np.array(labels, np.int32),
        scores=np.ones(len(labels), np.float32),
        boxes=np.array([given.get(label, none) for label in labels], np.float32).reshape(-1, 4),
    )


def retrieved(neighbors):
    """RETRIEVED of {record: [public image, ...]}, the similarity falling by an eighth a rank."""
    rows = [
        (*record, rank, 1 - rank / 8, *image)
        for record in sorted(neighbors)
        for rank, image in enumerate(neighbors[record])
    ]
    return pa.Table.from_pylist(
        [dict(zip(RETRIEVED.names, row, strict=True)) for row in rows], RETRIEVED
    )


def samples(uids):
    rows = [
        {"shard": shard, "row": row, "uid": uid, "caption": f"{uid} in words"}
        for (shard, row), uid in uids.items()
    ]
    types = [("shard", pa.int32()), ("row", pa.int32()), ("uid", pa.string())]
    return pa.Table.from_pylist(rows, pa.schema([*types, ("caption", pa.string())]))


PUBLIC = {(0, 0): [0], (0, 1): [0, 1, 1], (0, 2): [0, 1, 2], (0, 3): [3]}
TRUTHS = {(0, 0): [0, 1], (0, 1): [0, 1, 2, 2], (1, 0): [0], (2, 0): [0, 1, 2]}
UIDS = {place: f"uid {n}" for n, place in enumerate(TRUTHS)}
NEAR = {
    "target": {(0, 0): [(0, 2)], (0, 1): [(0, 1)], (1, 0): [(0, 0)], (2, 0): [(0, 2), (0, 1)]},
    "reference": {(0, 0): [(0, 0)], (0, 1): [(0, 0)], (1, 0): [(0, 0)], (2, 0): [(0, 3)]},
}
# correct labels, target - reference: 2 - 1, 2 - 1, 1 - 1, 3 - 0


def pieces(table):
    return [table.slice(row, 1) for row in reversed(range(len(table)))] or [table]


NOBODY = pa.table({"shard": pa.array([], pa.int32()), "row": pa.array([], pa.int32())})


def found(
    near=NEAR,
    own=TRUTHS,
    uids=UIDS,
    shown=PUBLIC,
    *,
    k=2,
    examples=9,
    records=None,
    holdout=NOBODY,
    **material,
):
    """The examples; `material` replaces inputs that follow from the other arguments."""
    own, shown = objects(own), objects(shown)
    recalls = {
        model: recall_test(retrieved(near[model]), own, shown, ks=[1, 2]) for model in MODELS
    }
    given = {
        "samples": pieces(samples(uids)),
        "truths": pieces(own),
        "retrieved": {model: pieces(retrieved(near[model])) for model in MODELS},
        "public": pieces(shown),
        "vocabulary": [vocabulary_table(NAMES), vocabulary_table({0: "cat"})],
    }
    return most_memorized(
        recalls,
        own if records is None else records,
        holdout,
        ExampleInputs(**given | material),
        shards=SHARDS,
        k=k,
        examples=examples,
    )


def listed(table):
    """The examples in their order, as (source, shard, row)."""
    names = ("rank", "source", "shard", "row")
    return [
        each[1:] for each in sorted(set(zip(*(table[n].to_pylist() for n in names), strict=True)))
    ]


def test_examples_are_sorted_by_gap_and_then_by_label_share():
    table = found().labels

    assert listed(table) == [("coco", 0, 0), ("web", 0, 0), ("web", 0, 1)]


def test_equal_gaps_are_sorted_by_uid():
    truths = TRUTHS | {(0, 1): [0, 1]}
    swapped = UIDS | {(0, 0): "uid 1", (0, 1): "uid 0"}

    assert listed(found(own=truths).labels)[1:] == [("web", 0, 0), ("web", 0, 1)]
    assert listed(found(own=truths, uids=swapped).labels)[1:] == [("web", 0, 1), ("web", 0, 0)]


def test_equal_uids_are_sorted_by_source_shard_and_row():
    truths = {place: [0, 1] for place in TRUTHS}
    target, reference = ({place: [(0, row)] for place in TRUTHS} for row in (1, 0))
    near = {"target": target, "reference": reference}

    table = found(near, truths, dict.fromkeys(TRUTHS, "same"), examples=3).labels

    assert listed(table) == [("web", 0, 0), ("web", 0, 1), ("web", 1, 0)]


def test_the_number_of_examples_is_limited():
    assert listed(found(examples=1).labels) == [("coco", 0, 0)]
    assert len(listed(found(examples=9).labels)) == 3


def test_records_of_other_sets_are_not_examples():
    records = objects({(0, 1): []}).select(["shard", "row"])

    assert listed(found(records=records).labels) == [("web", 0, 1)]


def shares(table):
    """The shares of A and of the hold-out with as large a gap, by rank."""
    names = ("rank", "share_of_members", "share_of_holdout")
    return [
        each[1:] for each in sorted(set(zip(*(table[n].to_pylist() for n in names), strict=True)))
    ]


def test_each_example_states_how_many_records_have_as_large_a_recall_gap():
    records, holdout = objects({(0, 0): [], (2, 0): []}), objects({(0, 1): [], (1, 0): []})

    # recall gaps: (2, 0) 1 and (0, 0) 1/2 of A, (0, 1) 1/3 and (1, 0) 0 of the hold-out
    assert shares(found(records=records, holdout=holdout).labels) == [(0.5, 0.0), (1.0, 0.0)]
    assert shares(found(records=holdout, holdout=records).labels) == [(0.5, 1.0)]


def test_records_without_an_object_count_in_no_share():
    truths = TRUTHS | {(1, 0): []}
    records, holdout = objects({(0, 0): [], (1, 0): []}), objects({(1, 0): [], (2, 0): []})

    assert shares(found(own=truths, records=records, holdout=holdout).labels) == [(1.0, 1.0)]


def test_without_a_hold_out_set_its_share_is_unknown():
    assert [unseen for _, unseen in shares(found().labels)] == [None] * 3


def test_labels_are_true_false_or_missed():
    table = found(NEAR | {"target": NEAR["target"] | {(0, 1): [(0, 1), (0, 3)]}}, examples=3).labels

    rows = [row for row in table.to_pylist() if row["uid"] == "uid 1"]
    said = [(row["model"], row["name"], row["neighbors"], row["is_true"]) for row in rows]
    assert said == [
        ("target", "cat", 1, True),
        ("target", "dog", 1, True),
        ("target", None, 1, False),
        ("target", "pizza", 0, True),
        ("reference", "cat", 1, True),
        ("reference", "dog", 0, True),
        ("reference", "pizza", 0, True),
    ]
    assert {row["caption"] for row in rows} == {"uid 1 in words"}


def test_each_neighbor_shows_its_own_labels():
    rows = found(examples=1).neighbors.to_pylist()

    assert [(row["model"], row["place"], row["public_row"]) for row in rows] == [
        ("target", 0, 2), ("target", 1, 1), ("reference", 0, 3)
    ]  # fmt: skip
    assert [row["true_labels"] for row in rows] == [[0, 1, 2], [0, 1], []]
    assert [row["false_labels"] for row in rows] == [[], [], [3]]
    assert [row["similarity"] for row in rows] == [1.0, 0.875, 1.0]


def test_only_the_k_nearest_neighbors_count():
    assert found(k=1).neighbors["place"].to_pylist() == [0] * 6
    assert set(found(k=1).labels["k"].to_pylist()) == {1}


def test_boxes_of_the_records_own_image_are_listed():
    truths = [objects(TRUTHS, {1: [1, 2, 3, 4]})]

    rows = found(truths=truths, examples=2).boxes.to_pylist()

    assert [(row["rank"], row["label"]) for row in rows] == [(0, 1), (1, 1)]
    assert [rows[0][edge] for edge in ("left", "top", "width", "height")] == [1, 2, 3, 4]


def test_joined_sources_can_be_separated_again():
    of_source = {"web": {(1, 0): [0, 1]}, "coco": {(0, 0): [0, 1, 2]}}
    truths = [in_one_corpus([(name, objects(rows))], SHARDS) for name, rows in of_source.items()]
    every = pa.concat_tables(truths)

    table = found(records=every, truths=[objects(TRUTHS)], examples=9)

    assert listed(table.labels) == [("coco", 0, 0)]  # web's has no gap


def test_without_a_gap_there_is_no_example():
    same = {model: NEAR["reference"] for model in MODELS}

    tables = found(same)

    assert [len(table) for table in (tables.labels, tables.neighbors, tables.boxes)] == [0, 0, 0]


labels = st.lists(st.integers(0, 3), max_size=4)
images = st.lists(st.sampled_from(sorted(PUBLIC)), max_size=3, unique=True)


def plain(near, truths, public, uids, k):
    """Examples record by record: [(record, model, label, neighbors, is_true)], in their order."""
    votes = {
        (model, record): Counter(
            label for image in near[model].get(record, [])[:k] for label in set(public[image])
        )
        for model in MODELS
        for record in truths
    }
    own = {record: set(held) for record, held in truths.items()}
    correct = {key: len(own[key[1]] & set(found)) for key, found in votes.items()}
    gaps = {each: correct["target", each] - correct["reference", each] for each in truths}
    best = sorted(
        (each for each in truths if gaps[each] > 0),
        key=lambda each: (-gaps[each], -gaps[each] / len(own[each]), uids[each], each),
    )
    for record in best:
        for model in MODELS:
            held = votes[model, record]
            for label in sorted(own[record] | set(held), key=lambda each: (-held[each], each)):
                yield record, model, label, held[label], label in own[record]


@given(
    near=st.fixed_dictionaries(
        {model: st.fixed_dictionaries(dict.fromkeys(TRUTHS, images)) for model in MODELS}
    ),
    truths=st.fixed_dictionaries(dict.fromkeys(TRUTHS, labels)),
    public=st.fixed_dictionaries(dict.fromkeys(PUBLIC, labels)),
    uids=st.fixed_dictionaries(dict.fromkeys(TRUTHS, st.sampled_from("abc"))),
    k=st.sampled_from([1, 2]),
    examples=st.integers(1, 4),
)
def test_examples_equal_those_of_the_plain_version(near, truths, public, uids, k, examples):
    table = found(near, truths, uids, public, k=k, examples=examples).labels

    expected = list(plain(near, truths, public, uids, k))
    records = list(dict.fromkeys(row[0] for row in expected))[:examples]
    rows = table.to_pylist()
    joined = {"web": 0, "coco": 2}
    places = [(joined[row["source"]] + row["shard"], row["row"]) for row in rows]
    names = ("model", "label", "neighbors", "is_true")
    assert [
        (place, *(row[name] for name in names)) for place, row in zip(places, rows, strict=True)
    ] == [row for row in expected if row[0] in records]
    assert [row["rank"] for row in rows] == [records.index(place) for place in places]


def test_a_label_with_two_names_is_refused():
    with pytest.raises(InputError, match="label 1 is 'dog' in one set and 'wolf' in another"):
        found(vocabulary=[vocabulary_table(NAMES), vocabulary_table({1: "wolf"})])


def test_recalls_at_another_number_of_neighbors_are_refused():
    with pytest.raises(
        InputError, match=r"target model: none from 7 neighbours, but from \[1, 2\]"
    ):
        found(k=7)


def test_a_candidate_without_a_sample_is_refused():
    with pytest.raises(InputError, match=r"no sample \(shard, row\) \(2, 0\)"):
        found(samples=[samples(UIDS).slice(0, 2)])


def test_a_neighbor_whose_labels_were_not_read_is_refused():
    with pytest.raises(StoreError, match=r"public image \(shard, row\) \(0, 2\): not among"):
        found(public=[objects({(0, 0): [0]})], examples=1)
