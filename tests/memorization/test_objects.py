import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.errors import ConfigError, InputError
from clipaudit.memorization.objects import (
    OBJECT_COUNTS,
    OBJECTS,
    VOCABULARY,
    count_objects,
    merged_vocabulary,
    objects_table,
    pictures_without_objects,
    vocabulary_table,
)
from clipaudit.memorization.stated import COCO_CLASSES, objects_of_dataset
from clipaudit.store.parquet import write_tables

LABELS = OBJECTS.field("labels").type


def samples(*texts):
    """One sample for each JSON value or text, all of shard 3."""
    texts = [text if text is None or isinstance(text, str) else json.dumps(text) for text in texts]
    rows = pa.array(range(len(texts)), pa.int32())
    shards = pa.array([3] * len(texts), pa.int32())
    return pa.table(
        [shards, rows, pa.array(texts, pa.string())], names=["shard", "row", "metadata"]
    )


def stated(*entries, names=None):
    """The objects of one sample with these entries, and the vocabulary, as Python values."""
    table, vocabulary = objects_of_dataset(samples({"objects": list(entries)}), names=names)
    found = table.to_pylist()[0]
    triples = list(zip(found["labels"], found["scores"], found["boxes"], strict=True))
    return triples, vocabulary.to_pylist()


def named(**names):
    return [{"label": int(key[1:]), "name": name} for key, name in names.items()]


def part(*sets, shown):
    """Members of these sets, a row each, and the objects of the rows that show one."""
    rows = pa.array(range(len(sets)), pa.int32())
    shards = pa.array([0] * len(sets), pa.int32())
    labels = pa.array([[7] if row in shown else [] for row in range(len(sets))], LABELS)
    return tuple(
        pa.table([shards, rows, column], names=["shard", "row", name])
        for name, column in (("set", pa.array(sets, pa.string())), ("labels", labels))
    )


def counted(*parts):
    return count_objects(parts, source="scenes", annotator="dataset")


def test_objects_are_counted_per_set_over_all_parts():
    table = counted(part("b", "a", "public", shown={1, 2}), part("a", "a", shown={0}))

    assert table.schema == OBJECT_COUNTS
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        ("a", 3, 2),
        ("b", 1, 0),
        ("public", 1, 1),
    ]


@pytest.mark.parametrize(
    ("shown", "message"),
    [
        ({2, 3}, "0 of 2 records of A and B"),
        ({0, 3}, "0 of 1 public images"),
    ],
)
def test_sets_without_any_object_are_refused_with_the_counts(shown, message):
    drawn = part("a", "b", "public", "holdout", shown=shown)

    with pytest.raises(InputError, match=rf"sources\.scenes: dataset .* {message}.*annotations"):
        counted(drawn)


def test_a_small_holdout_without_any_object_is_accepted():
    table = counted(part("a", "b", "public", "holdout", shown={0, 2}))

    assert table.to_pylist()[-1] == {"set": "holdout", "members": 1, "with_objects": 0}


def test_members_without_annotation_have_no_object():
    members, objects = part("a", "b", shown={0, 1})

    assert counted((members, objects.slice(1)))["with_objects"].to_pylist() == [0, 1]


@pytest.mark.parametrize(
    ("entry", "names", "label", "name"),
    [
        ({"category_id": 7}, None, 7, None),
        ({"category_id": 7, "category": "cat"}, None, 7, "cat"),
        ({"category_id": 7, "category_name": "cat"}, None, 7, "cat"),
        ({"category_id": 1, "category": None}, ["dog", "cat"], 1, "cat"),
        ({"category": "cat"}, ["dog", "cat"], 1, "cat"),
        ({"category_name": "cat"}, ["dog", "cat"], 1, "cat"),
        ({"name": "cat"}, ["dog", "cat"], 1, "cat"),
        ({"label": "cat", "category_id": None}, ["dog", "cat"], 1, "cat"),
        ("cat", ["dog", "cat"], 1, "cat"),
        ("cat", "coco", 17, "cat"),
        ({"category_id": 90}, "coco", 90, "toothbrush"),
        ({"category_id": 1}, ["crane", "cat", "crane"], 1, "cat"),
    ],
)
def test_an_object_may_be_given_in_several_forms(entry, names, label, name):
    triples, vocabulary = stated(entry, names=names)

    assert triples == [(label, 1.0, None)]
    assert vocabulary == [{"label": label, "name": name}]


def test_boxes_and_scores_are_kept():
    triples, _ = stated({"category_id": 2, "bbox": [1, 2.5, 3, 4], "score": 0.25})

    assert triples == [(2, 0.25, [1.0, 2.5, 3.0, 4.0])]


def test_objects_are_sorted_by_score_label_and_box_with_missing_boxes_last():
    triples, _ = stated(
        {"category_id": 1},
        {"category_id": 1, "bbox": [5, 0, 1, 1]},
        {"category_id": 1, "bbox": [0, 9, 1, 1]},
        {"category_id": 0, "score": 0.5},
        {"category_id": 9, "score": 0.75},
        {"category_id": 0},
    )

    assert triples == [
        (0, 1.0, None),
        (1, 1.0, [0.0, 9.0, 1.0, 1.0]),
        (1, 1.0, [5.0, 0.0, 1.0, 1.0]),
        (1, 1.0, None),
        (9, 0.75, None),
        (0, 0.5, None),
    ]


def test_samples_without_the_fields_have_no_objects():
    texts = [None, {"width": 3}, {"objects": []}, {"objects": None, "annotations": []}]

    table, vocabulary = objects_of_dataset(samples(*texts), names=None)

    assert table["row"].to_pylist() == [0, 1, 2, 3]
    assert table["labels"].to_pylist() == [[], [], [], []]
    assert pictures_without_objects(table) == 4
    assert len(vocabulary) == 0


def test_annotations_count_if_there_are_no_objects():
    one, two = {"category_id": 1}, {"category_id": 2}
    texts = [{"annotations": [two]}, {"annotations": [two], "objects": [one]}]

    table, _ = objects_of_dataset(samples(*texts), names=None)

    assert table["labels"].to_pylist() == [[2], [1]]


def test_the_vocabulary_has_all_labels_that_occur_and_all_given_names():
    entries = [{"category_id": 5}, {"category_id": 2, "name": "dog"}, {"category_id": 5}]
    later = {"objects": [{"category_id": 5, "name": "cat"}, {"category_id": 8}]}

    _, vocabulary = objects_of_dataset(samples({"objects": entries}, later), names=None)

    assert vocabulary.to_pylist() == named(_2="dog", _5="cat", _8=None)


def test_no_samples_give_empty_tables():
    table, vocabulary = objects_of_dataset(samples(), names="coco")

    assert (table.schema, table.num_rows) == (OBJECTS, 0)
    assert (vocabulary.schema, vocabulary.num_rows) == (VOCABULARY, 0)
    assert pictures_without_objects(table) == 0


def test_coco_has_80_classes_and_ten_gaps():
    gaps = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}

    assert COCO_CLASSES.keys() == set(range(1, 91)) - gaps
    assert len(set(COCO_CLASSES.values())) == 80


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (3, "an object is 3: an object is a name, or has"),
        ({}, "an object is {}"),
        ("", 'a class name is ""'),
        ({"category": 7}, "a class name is 7"),
        ({"category": "\ud800"}, 'a class name is "\\\\ud800"'),
        ({"category_id": -1}, "category_id is -1"),
        ({"category_id": 2**31}, "category_id is 2147483648"),
        ({"category_id": 1.0}, "category_id is 1.0"),
        ({"category_id": True}, "category_id is true"),
        ({"category_id": "1"}, 'category_id is "1"'),
        ({"category_id": 1, "score": "high"}, 'score is "high"'),
        ({"category_id": 1, "score": float("nan")}, "score is NaN"),
        ({"category_id": 1, "bbox": [1, 2, 3]}, r"bbox is \[1, 2, 3\]"),
        ({"category_id": 1, "bbox": {"left": 1}}, 'bbox is {"left": 1}'),
        ({"category_id": 1, "bbox": [1, 2, 3, float("inf")]}, "bbox is .*Infinity"),
        ({"category_id": 1, "bbox": [1, 2, 3, 1e39]}, "bbox is .*1e.39"),
        ({"category_id": 1, "bbox": [1, 2, 3, 10**400]}, "bbox is .*1000"),
        ({"category_id": 1, "bbox": [1, 2, True, 4]}, "bbox is .*true"),
        ({"category_id": 1, "bbox": [9, 2, -3, 4]}, r"bbox is \[9, 2, -3, 4\]: .*neither below 0"),
    ],
)
def test_malformed_entries_are_refused_with_their_position(entry, message):
    with pytest.raises(InputError, match=f"^shard 3, row 1: {message}"):
        objects_of_dataset(samples(None, {"objects": [entry]}), names=None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ({"objects": {"category_id": 1}}, "objects is .*: make it a list"),
        ({"annotations": 3}, "annotations is 3: make it a list"),
        ([1], r"its JSON is \[1\]"),
        ("{", "its JSON cannot be read"),
        ("[" * 100_000, "its JSON cannot be read"),
    ],
)
def test_malformed_texts_are_refused_with_their_position(text, message):
    with pytest.raises(InputError, match=f"^shard 3, row 0: {message}"):
        objects_of_dataset(samples(text), names=None)


def test_names_without_numbers_require_a_list_of_classes():
    with pytest.raises(
        InputError, match=r"row 0: .*'cat' has a name but no number.*objects\.names"
    ):
        stated("cat")


@pytest.mark.parametrize("names", [["dog"], "coco", ["Cat"]])
def test_unlisted_names_are_refused(names):
    with pytest.raises(
        InputError, match=r"row 0: .*'tiger cat' is not among the \d+ names of memorization"
    ):
        stated("tiger cat", names=names)


def test_a_name_of_two_classes_needs_a_number():
    with pytest.raises(InputError, match=r"'crane' may be any of the classes \[0, 2\]"):
        stated("crane", names=["crane", "cat", "crane"])


def test_a_number_with_two_names_is_refused():
    entries = [{"category_id": 4, "name": "cat"}, {"category_id": 4, "name": "dog"}]

    with pytest.raises(InputError, match="category_id 4 is named 'dog', but 'cat' in shard 3, row"):
        stated(*entries)


def test_a_number_with_another_name_than_listed_is_refused():
    message = r"0 is named 'dog', but 'cat' in memorization\.objects\.names"
    with pytest.raises(InputError, match=message):
        stated({"category_id": 0, "name": "dog"}, names=["cat"])


def test_a_word_other_than_coco_is_refused_as_a_list():
    message = r"objects\.names is 'lvis': give the names as a list .*'coco'"
    with pytest.raises(ConfigError, match=message):
        stated(names="lvis")


def test_merged_vocabularies_replace_nulls_by_names():
    parts = [vocabulary_table({3: None, 1: "dog"}), vocabulary_table({3: "cat", 1: None})]

    assert merged_vocabulary(parts).to_pylist() == named(_1="dog", _3="cat")
    assert merged_vocabulary([]).schema == VOCABULARY


def test_vocabularies_that_disagree_are_refused():
    parts = [vocabulary_table({3: "cat"}), vocabulary_table({3: "dog"})]

    with pytest.raises(InputError, match="label 3 is 'cat' in one set and 'dog' in another"):
        merged_vocabulary(parts)


def test_objects_survive_a_parquet_round_trip(tmp_path):
    entries = [{"category_id": 1, "bbox": [1, 2, 3, 4]}, {"category_id": 2}]
    table, _ = objects_of_dataset(samples({"objects": entries}, None), names=None)

    write_tables([table], OBJECTS, tmp_path / "objects.parquet")

    assert pq.read_table(tmp_path / "objects.parquet").equals(table)


edge = st.sampled_from([-0.0, 0.0, 1.5])
box = st.one_of(st.just([np.nan] * 4), st.lists(edge, min_size=4, max_size=4))
things = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from([0.0, 0.5, 1.0]), box)
)


@given(things, st.randoms(use_true_random=False))
def test_the_order_of_the_objects_does_not_matter(things, random):
    def table(things):
        owners, labels, scores, boxes = zip(*things, strict=True) if things else [()] * 4
        return objects_table(
            np.zeros(4, np.int32),
            np.arange(4, dtype=np.int32),
            np.array(owners, np.int64),
            labels=np.array(labels, np.int32),
            scores=np.array(scores, np.float32),
            boxes=np.array(boxes, np.float32).reshape(-1, 4),
        )

    shuffled = random.sample(things, len(things))

    found = table(things)
    assert str(found.to_pylist()) == str(table(shuffled).to_pylist())  # distinguishes -0.0 from 0.0
    assert found["labels"].to_pylist() == [
        [label for _, label in sorted((-s, label) for at, label, s, _ in things if at == owner)]
        for owner in range(4)
    ]
