import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tinyclip import picture

from clipaudit.corpora import image_tables
from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.samples import index_shards
from clipaudit.corpora.shards import raw_samples, sample_groups
from clipaudit.errors import InputError

PICTURES = [picture(np.random.default_rng(seed)) for seed in range(5)]
IMAGES = pa.array(
    [{"bytes": data, "path": f"{number}.png"} for number, data in enumerate(PICTURES)],
    pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
)
FEATURES = json.dumps({"info": {"features": {"scan": {"_type": "Image"}}}})
LIST = [{"dtype": "string", "_type": "Value"}]  # a list's type, as `datasets` 3 writes it
WITH_A_LIST = json.dumps({"info": {"features": {"tags": LIST, "scan": {"_type": "Image"}}}})


def write(path, group_rows=2, metadata=None, **columns):
    table = pa.table(columns).replace_schema_metadata(metadata)
    pq.write_table(table, path, row_group_size=group_rows, use_dictionary=False)
    return path


def indexed(path, captioning=None):
    return index_shards(
        [(0, path)], captioning or Captioning("none"), needs_caption=False, needs_label=False
    )


def test_rows_are_samples_with_texts_and_labels(tmp_path):
    texts, labels = ["a cat", None, "a dog", " ", "an owl"], [0, 1, 2, 1, 0]
    path = write(tmp_path / "0.parquet", image=IMAGES, text=texts, label=labels)

    samples, drops = indexed(path, Captioning("text", field="text"))

    assert len(drops) == 0
    assert samples["caption"].to_pylist() == ["a cat", None, "a dog", None, "an owl"]
    assert samples["label"].to_pylist() == labels
    assert json.loads(samples["metadata"][0].as_py())["path"] == "0.png"
    assert [raw.members["png"] for raw in raw_samples(path)] == PICTURES


def test_lists_of_a_fixed_length_are_captions(tmp_path):
    texts = pa.array([[f"number {n}", "a square"] for n in range(5)], pa.list_(pa.string(), 2))
    path = write(tmp_path / "0.parquet", image=IMAGES, captions=texts)

    samples, _ = indexed(path, Captioning("texts"))

    assert samples["caption"].to_pylist() == [f"number {n}" for n in range(5)]


def test_columns_of_views_are_read(tmp_path):
    texts = pa.array([f"number {n}" for n in range(5)], pa.string_view())
    path = write(tmp_path / "0.parquet", image=pa.array(PICTURES, pa.binary_view()), text=texts)

    samples, drops = indexed(path, Captioning("text", field="text"))

    assert len(drops) == 0
    assert samples["caption"].to_pylist() == texts.to_pylist()


@pytest.mark.parametrize("group_rows", [1, 2, 5])
@pytest.mark.parametrize("wanted", [{0}, {1, 4}, {2, 3}, set()])
def test_only_wanted_rows_are_yielded_but_all_are_checked(tmp_path, wanted, group_rows):
    path = write(tmp_path / "0.parquet", group_rows, image=IMAGES)
    asked = []

    found = [raw.row for raw in raw_samples(path, lambda row: asked.append(row) or row in wanted)]

    assert found == sorted(wanted)
    assert asked == [*range(5)]


@pytest.mark.parametrize(
    ("columns", "metadata", "image"),
    [
        ({"image": IMAGES, "mask": IMAGES}, None, "image"),
        ({"scan": PICTURES, "image": PICTURES}, {"huggingface": FEATURES}, "scan"),
        ({"scan": PICTURES, "image": PICTURES}, {"huggingface": WITH_A_LIST}, "scan"),
        ({"jpg": PICTURES, "blob": PICTURES}, None, "jpg"),
        ({"blob": pa.array(PICTURES, pa.large_binary())}, None, "blob"),
    ],
)
def test_the_column_of_images_is_found(tmp_path, columns, metadata, image):
    path = write(tmp_path / "0.parquet", metadata=metadata, **columns)

    assert image_tables.image_column(pq.read_schema(path), path) == image


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"text": ["a"] * 5},
            r"no column of images .* among text \(string\)\. Images are read from the fi",
        ),
        (
            {"a": PICTURES, "b": PICTURES},
            r"2 columns of images .* among a \(binary\), b \(binary\)\. Name one of",
        ),
        ({"image": [1] * 5}, r"no column of images .* among image \(int64\)"),
        ({"image": [[each] for each in IMAGES.to_pylist()]}, r"lists of images: write a row for"),
        ({"url": ["a"] * 5, "text": ["b"] * 5}, r"It lists URLs: name the tars or folder"),
    ],
)
def test_a_file_without_one_column_of_images_is_refused(tmp_path, columns, message):
    path = write(tmp_path / "0.parquet", **columns)

    with pytest.raises(InputError, match=message):
        list(raw_samples(path))


def test_a_file_with_only_paths_is_refused_and_one_with_an_image_is_read(tmp_path):
    paths = [{"bytes": None, "path": f"{number}.png"} for number in range(5)]
    links = pa.array(paths, IMAGES.type)
    mixed = pa.concat_arrays([links[:4], IMAGES[4:]])

    with pytest.raises(InputError, match=r"0\.parquet: no image is stored in column image, only"):
        indexed(write(tmp_path / "0.parquet", image=links))
    samples, drops = indexed(write(tmp_path / "1.parquet", image=mixed))

    assert samples["row"].to_pylist() == [4]
    assert drops["reason"].to_pylist() == ["no image"] * 4


def test_rows_without_an_image_and_corrupt_ones_are_drops(tmp_path):
    images = pa.array([PICTURES[0], None, b"", b"no image"], pa.binary())
    samples, drops = indexed(write(tmp_path / "0.parquet", image=images))

    assert samples["row"].to_pylist() == [0]
    assert drops["reason"].to_pylist() == ["no image", "no image", "corrupt image"]
    assert drops["detail"][0].as_py() == "column image holds null"


def test_a_truncated_file_is_refused(tmp_path):
    path = write(tmp_path / "0.parquet", image=IMAGES)
    path.write_bytes(path.read_bytes()[:-20])

    with pytest.raises(InputError, match=r"cannot be read as Parquet: .* Fetch it again"):
        list(raw_samples(path))


def test_a_damaged_row_group_gives_drops_and_the_others_are_read(tmp_path):
    path = write(tmp_path / "0.parquet", image=IMAGES)
    data = bytearray(path.read_bytes())
    part = pq.read_metadata(path).row_group(0).column(0)
    data[part.data_page_offset : part.data_page_offset + part.total_compressed_size] = bytes(
        part.total_compressed_size
    )
    path.write_bytes(data)

    samples, drops = indexed(path)
    assert samples["row"].to_pylist() == [2, 3, 4]
    assert drops["reason"].to_pylist() == ["damaged row group"] * 2


def test_an_image_above_the_limit_is_a_drop(tmp_path, monkeypatch):
    path = write(tmp_path / "0.parquet", image=[PICTURES[0], bytes(10_000)])
    monkeypatch.setattr(image_tables, "MAX_SAMPLE_BYTES", 9_999)

    _, drops = indexed(path)
    assert drops["detail"].to_pylist() == ["10000 bytes, the limit is 9999"]


def test_a_row_group_that_decompresses_beyond_the_limit_is_not_read(tmp_path, monkeypatch):
    path = write(tmp_path / "0.parquet", 5, image=[bytes(1 << 20)] * 5)
    monkeypatch.setattr(image_tables, "MAX_GROUP_BYTES", 1 << 22)

    found = list(raw_samples(path, {1, 3}.__contains__))
    assert [(raw.row, raw.fault) for raw in found] == [(row, "sample too large") for row in (1, 3)]
    assert all("bytes of images, the limit is 4194304" in raw.detail for raw in found)


def test_numbers_that_json_lacks_become_null(tmp_path):
    path = write(tmp_path / "0.parquet", image=IMAGES, score=[1.0, float("nan"), 0.5, None, 2.0])

    fields = [json.loads(raw.members["json"]) for raw in raw_samples(path)]
    assert [each.get("score") for each in fields] == [1.0, None, 0.5, None, 2.0]


def test_samples_are_copied_as_members_of_a_tar(tmp_path):
    path = write(tmp_path / "0.parquet", image=IMAGES, text=["a"] * 5)
    members = [member for group in sample_groups(path) for member in group.members]

    out = tmp_path / "copied.tar"
    out.write_bytes(b"".join(m.blocks + m.data for m in members) + bytes(1024))
    assert [raw.members["png"] for raw in raw_samples(out)] == PICTURES
