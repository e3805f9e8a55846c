"""Parquet files written by Hugging Face's datasets, read by the index."""

import csv
import hashlib
import io
import json

import numpy as np
import pytest
from PIL import Image
from readersenvironment import WRITE, asked, needs_readers

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.samples import index_shards
from clipaudit.corpora.shards import first_image, raw_samples
from clipaudit.errors import InputError
from clipaudit.imports.asked_data import find_corpora

pytestmark = needs_readers
KINDS = [("PNG", "RGB"), ("JPEG", "RGB"), ("WEBP", "RGBA"), ("GIF", "P"), ("PNG", "L")]
TEXTS = ["a cat", "größe, 大きさ", '"quoted", and\nbroken', "=1+1 <b>", "a cat"]


def write_csv(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def image_folder(folder, column, metadata):
    """Write a folder of images with metadata; return each image's pixel digest and its text."""
    folder.mkdir()
    rng, rows, truth = np.random.default_rng(0), [], []
    for number, ((kind, mode), text) in enumerate(zip(KINDS, TEXTS, strict=True)):
        path = folder / f"{number}.{kind.lower()}"
        pixels = rng.integers(0, 256, (9, 7 + number, 3), dtype=np.uint8)
        Image.fromarray(pixels).convert(mode).save(path, kind)
        rows.append({"file_name": path.name, column: text})
        truth.append((pixels_digest(path.read_bytes()), text))
    write = write_csv if metadata == "csv" else write_jsonl
    write(folder / f"metadata.{metadata}", rows)
    return truth


def pixels_digest(data):
    image = Image.open(io.BytesIO(data)).convert("RGBA")
    return image.size, hashlib.sha256(image.tobytes()).hexdigest()


@pytest.mark.parametrize("column", ["text", "legend"])
@pytest.mark.parametrize(
    ("way", "metadata"),
    [
        ("folder", "csv"),
        ("folder", "jsonl"),
        ("paths", "csv"),
        ("pixels", "csv"),
        ("shards", "csv"),
    ],
)
def test_images_and_captions_written_by_datasets_are_read_exactly(tmp_path, way, metadata, column):
    truth = image_folder(tmp_path / "source", column, metadata)
    asked(tmp_path, WRITE, way, tmp_path / "source", tmp_path / "hub")
    files = sorted((tmp_path / "hub").rglob("*.parquet"))

    samples, drops = index_shards(
        [*enumerate(files)], Captioning("text", field=column), needs_caption=True, needs_label=False
    )
    images = [
        pixels_digest(first_image(raw.members)) for file in files for raw in raw_samples(file)
    ]

    assert len(files) == (3 if way == "shards" else 1)
    assert len(drops) == 0
    assert list(zip(images, samples["caption"].to_pylist(), strict=True)) == truth


def test_the_caption_column_is_found_or_named(tmp_path):
    for column in ("text", "legend"):
        image_folder(tmp_path / f"of-{column}", column, "jsonl")
        asked(tmp_path, WRITE, "shards", tmp_path / f"of-{column}", tmp_path / column)

    (found,) = find_corpora([str(tmp_path / "text")], [], tmp_path / "to").values()
    (named,) = find_corpora(
        [str(tmp_path / "legend")], [], tmp_path / "to", caption="legend"
    ).values()

    assert (found["captions"], found["caption_field"]) == ("text", "text")
    assert (named["captions"], named["caption_field"]) == ("text", "legend")


def test_a_file_with_paths_instead_of_images_says_how_to_embed_them(tmp_path):
    image_folder(tmp_path / "source", "text", "csv")
    asked(tmp_path, WRITE, "links", tmp_path / "source", tmp_path / "hub")

    with pytest.raises(
        InputError, match=r"no image is stored in column image, only paths of .*map"
    ):
        find_corpora([str(tmp_path / "hub")], [], tmp_path / "to")
