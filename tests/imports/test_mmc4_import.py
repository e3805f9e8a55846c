import json
import zipfile

import pyarrow.parquet as pq
import pytest

from clipaudit.errors import InputError
from clipaudit.imports import mmc4
from clipaudit.imports.mmc4 import IMAGES, list_images


def document(texts, *images):
    """Return a document of MMC4 v1.1: an image is its URL and the number of its text."""
    infos = [
        {
            "face_detections": None,
            "image_name": f"{url}.jpg",
            "matched_sim": 0.25,
            "matched_text_index": at,
            "raw_url": f"http://a.org/{url}",
        }
        for url, at in images
    ]
    return json.dumps({"text_list": texts, "image_info": infos, "url": "http://a.org"})


DOG = document(["One.", "A dog\u2028barks.", "A cat."], ("dog", 1), ("cat", 2), ("dog2", 1))
NONE = document(["No image."])


def rows(path):
    table = pq.read_table(path)
    assert table.schema == IMAGES
    return table.to_pylist()


@pytest.fixture
def docs(tmp_path):
    (tmp_path / "docs").mkdir()
    return tmp_path / "docs"


def test_each_image_gets_its_matched_sentence(docs, tmp_path):
    (docs / "docs_shard_0_v3.jsonl").write_text(f"{NONE}\n{DOG}\n")

    lines = list_images(docs, tmp_path / "lists")

    found = rows(tmp_path / "lists/docs_shard_0_v3.parquet")
    assert [(row["url"], row["caption"]) for row in found] == [
        ("http://a.org/dog", "A dog\u2028barks."),
        ("http://a.org/cat", "A cat."),
        ("http://a.org/dog2", "A dog\u2028barks."),
    ]
    assert (found[0]["image_name"], found[0]["matched_sim"]) == ("dog.jpg", 0.25)
    assert lines[0] == "3 images of 2 documents, in 1 list"


def test_zipped_documents_give_the_same_lists(docs, tmp_path, monkeypatch):
    monkeypatch.setattr(mmc4, "_ROWS_AT_ONCE", 2)
    (docs / "a.jsonl").write_text(DOG)
    with zipfile.ZipFile(docs / "b.jsonl.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("b.jsonl", DOG)

    lines = list_images(docs, tmp_path / "lists")

    assert rows(tmp_path / "lists/a.parquet") == rows(tmp_path / "lists/b.parquet")
    assert lines[0] == "6 images of 2 documents, in 2 lists"


def test_a_line_that_is_too_long_is_refused(docs, tmp_path, monkeypatch):
    monkeypatch.setattr(mmc4, "_LONGEST_LINE", 1000)
    with zipfile.ZipFile(docs / "a.jsonl.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.jsonl", "x" * 100_000)

    with pytest.raises(InputError, match=r"a\.jsonl\.zip, line 1: 1000 characters or more"):
        list_images(docs, tmp_path / "lists")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"line 2: its JSON cannot be read"),
        ('{"text": 3}', r"line 2: text_list is null, expected a list. Give MMC4's"),
        ('{"text_list": [], "image_info": 3}', r"line 2: image_info is 3"),
        (document(["a"], ("x", 1)), r"line 2: image 0: matched_text_index is 1, not .* the 1 text"),
        (document(["a"], ("x", -1)), r"matched_text_index is -1"),
        (document([None], ("x", 0)), r"matched_text_index is 0, not the number of one"),
        ('{"text_list": ["a"], "image_info": [3]}', r"image 0: raw_url is null"),
    ],
)
def test_an_invalid_document_names_its_line_and_leaves_no_list(docs, tmp_path, line, message):
    (docs / "a.jsonl").write_text(f"{DOG}\n{line}\n")

    with pytest.raises(InputError, match=rf"a\.jsonl, {message}" if "line" in message else message):
        list_images(docs, tmp_path / "lists")
    assert not list((tmp_path / "lists").iterdir())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl.zip", b"PK", r"a\.jsonl\.zip: cannot be read"),
        ("a.jsonl", b"\xff", r"a\.jsonl: cannot be read"),
        ("a.jsonl", NONE.encode(), r"1 document without an image"),
        ("a.json", b"", r"no file ends in \.jsonl or \.jsonl\.zip"),
    ],
)
def test_a_folder_without_images_is_refused(docs, tmp_path, name, content, message):
    (docs / name).write_bytes(content)

    with pytest.raises(InputError, match=message):
        list_images(docs, tmp_path / "lists")
