import json
import logging

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clipaudit.errors import InputError
from clipaudit.memorization.given_objects import take_objects
from clipaudit.memorization.sorted_objects import SORTED_OBJECTS, sort_objects


@pytest.fixture
def samples():
    """Three samples with a key, a uid and a URL each."""
    return pa.table(
        {
            "shard": pa.array([0, 0, 1], pa.int32()),
            "row": pa.array([0, 2, 1], pa.int32()),
            "key": ["a", "b", "c"],
            "uid": ["0", "1", "2"],
            "metadata": [json.dumps({"url": f"https://{name}"}) for name in "xyz"],
        }
    )


@pytest.fixture
def parquet(tmp_path):
    def write(name="given", **columns):
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
        return tmp_path / f"{name}.parquet"

    return write


@pytest.fixture
def coco(tmp_path):
    def write(**changes):
        document = {
            "images": [{"id": 5, "file_name": "val/b.jpg"}, {"id": 6, "file_name": "val/a.jpg"}],
            "annotations": [
                {"image_id": 6, "category_id": 3, "bbox": [1, 2, 3, 4], "score": 0.9},
                {"image_id": 6, "category_id": 4, "bbox": [0, 0, 1, 1], "score": 0.2},
            ],
            "categories": [{"id": 3, "name": "kite"}, {"id": 4, "name": "cat"}],
        }
        (tmp_path / "coco.json").write_text(json.dumps(document | changes))
        return tmp_path / "coco.json"

    return write


def taken(samples, *files, column="key", join_on="key", threshold=0.5, names=None):
    rows = sort_objects([samples], files, column=column, join_on=join_on)
    given = pa.concat_tables([SORTED_OBJECTS.empty_table(), *rows])
    return take_objects(samples, given, threshold=threshold, names=names)


def labels(samples, *files, **options):
    return taken(samples, *files, **options)[0]["labels"].to_pylist()


@pytest.mark.parametrize(
    ("join_on", "values"),
    [("key", ["b", "c"]), ("uid", ["1", "2"]), ("url", ["https://y", "https://z"])],
)
def test_rows_are_joined_in_any_order_by_key_uid_or_url(samples, parquet, join_on, values):
    one = parquet("one", of=[values[1], "elsewhere"], labels=[[7], [9]])
    other = parquet("other", of=values[:1], labels=[[8, 8]])

    assert labels(samples, one, other, column="of", join_on=join_on) == [[], [8, 8], [7]]


def test_integers_are_joined_as_text(samples, parquet):
    assert labels(samples, parquet(n=[2, 0], labels=[[7], [8]]), column="n", join_on="uid") == [
        [8],
        [],
        [7],
    ]


def test_an_object_with_a_score_counts_above_the_threshold(samples, parquet):
    given = parquet(key=["a"], labels=[[1, 2, 3]], scores=[[0.5, 0.6, None]])

    assert labels(samples, given) == [[3, 2], [], []]


def test_the_vocabulary_is_that_of_the_file(samples, parquet):
    given = parquet(key=["a", "b"], labels=[[1], [20_999]], names=[["kite"], ["zebra"]])

    assert taken(samples, given)[1].to_pylist() == [
        {"label": 1, "name": "kite"},
        {"label": 20_999, "name": "zebra"},
    ]


def test_coco_json_gives_boxes_scores_and_names_by_the_file_names_stem(samples, coco):
    objects, vocabulary = taken(samples, coco(), column="file_name")

    first = objects.to_pylist()[0]
    assert (first["labels"], first["boxes"]) == ([3], [[1.0, 2.0, 3.0, 4.0]])
    assert first["scores"] == pytest.approx([0.9])
    assert vocabulary.to_pylist() == [{"label": 3, "name": "kite"}]


def test_samples_without_a_row_have_no_objects_and_are_counted(samples, parquet, caplog):
    caplog.set_level(logging.INFO, "clipaudit")

    assert labels(samples, parquet(key=["c"], labels=[[4]])) == [[], [], [4]]
    assert "2 of 3 images have no row in the given files" in caplog.text


def test_identical_rows_count_once(samples, parquet):
    assert labels(samples, parquet(key=["a", "a"], labels=[[4], [4]])) == [[4], [], []]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"of": ["a"], "labels": [[1]]}, "no column 'key', but of, labels. Name the column"),
        ({"key": ["a"], "objects": [[1]]}, "no column 'labels', but key, objects"),
        ({"key": ["q"], "labels": [[1]]}, "key has the key of 0 of 3 samples, first 'a'. Name"),
        (
            {"key": ["a", "a"], "labels": [[1], [1, 2]]},
            "'a' gives 2 objects, but one in .* gives 1 different ones. Remove",
        ),
        ({"key": ["a"], "labels": [[1]], "scores": [[]]}, "'a' has 1 labels, 0 scores. Give"),
        ({"key": ["a"], "labels": [["kite"]]}, "labels is list<.*>, not lists of whole numbers"),
        ({"key": ["a"], "labels": [[-1]]}, "shard 0, row 0: category_id is"),
        (
            {"key": ["a"], "labels": [[1]], "scores": [["high"]]},
            r"scores \(list<.*string>\): .*'high'.*Give names as lists",
        ),
    ],
)
def test_a_file_that_does_not_match_gives_one_error(samples, parquet, columns, message):
    with pytest.raises(InputError, match=message):
        taken(samples, parquet(**columns))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": [{"id": 6}]}, "no column 'file_name', but id"),
        ({"images": []}, "the image_id 6, but no image has this id. Add"),
        ({"annotations": {}}, r"annotations is \{\}, not a list of objects"),
        (
            {"annotations": [{"image_id": 6, "category_id": "kite"}]},
            r"coco\.json: annotations: .*'kite'.* A category_id is a whole number",
        ),
    ],
)
def test_a_coco_json_that_does_not_match_gives_one_error(samples, coco, changes, message):
    with pytest.raises(InputError, match=message):
        taken(samples, coco(**changes), column="file_name")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": [{"file_name": "a.jpg"}]}, r'images: id is null in \{"file_name": "a.jpg"\}'),
        ({"images": [{"id": [6], "file_name": "a.jpg"}]}, r"images: id is \[6\] in .*Give"),
        ({"annotations": [{"category_id": 3}]}, "annotations: image_id is null in"),
        ({"annotations": [{"image_id": 6, "category_id": [3]}]}, r"category_id is \[3\] in"),
        ({"categories": [{"id": {}, "name": "cat"}]}, r"categories: id is \{\} in"),
    ],
)
def test_an_id_that_is_no_number_or_text_gives_one_error(samples, coco, changes, message):
    with pytest.raises(InputError, match=rf"coco\.json: .*{message}"):
        taken(samples, coco(**changes), column="file_name")


@pytest.mark.parametrize(("kind", "field"), [("images", "file_name"), ("categories", "name")])
def test_an_id_that_two_have_is_refused_with_both_names(samples, coco, kind, field):
    two = [{"id": 6, field: "a.jpg"}, {"id": 6, field: "b.jpg"}]

    message = rf'coco\.json: {kind} has the id 6 twice, with {field} "a.jpg" and "b.jpg"\. Give'
    with pytest.raises(InputError, match=message):
        taken(samples, coco(**{kind: two}), column="file_name")


def test_a_damaged_json_gives_one_error(samples, tmp_path):
    (tmp_path / "cut.json").write_text('{"images": [')

    with pytest.raises(InputError, match=r"cut\.json: cannot be read as JSON"):
        taken(samples, tmp_path / "cut.json")


def test_a_label_beyond_the_listed_names_is_refused_with_its_place(samples, parquet):
    given = parquet(key=["a", "b"], labels=[[3], [9]])

    with pytest.raises(InputError, match="shard 0, row 2: category_id 9 has no name among the 4"):
        taken(samples, given, names=["cat", "dog", "bus", "kite"])
