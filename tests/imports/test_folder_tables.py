"""Tables in a folder of images give captions and fields, or are left out and counted."""

import json
import math
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clipaudit.errors import InputError
from clipaudit.imports.image_folder import import_folder


def test_texts_and_tables_that_describe_no_image_are_counted(folder, tmp_path):
    for name in ("cats/a.txt", "cats/a.json", "metadata.jsonl", "cats/b.txt", "coco.json"):
        (folder / name).write_text("{}" * name.endswith("n"))
    (folder / "train.csv").write_text("image,caption\ncats/a.png,a cat\n")
    notes = import_folder(folder, "photos", tmp_path / "lists").notes

    assert "other files were left out: 1 .csv, 1 .json, 1 .txt" in notes
    assert "a table with the images' captions is read if it is named captions.csv" in notes


def test_rows_of_tables_without_an_image_are_counted(folder, tmp_path):
    rows = ("cats/a.png,a cat", "b.png,b", "cats/A.png,c")
    (folder / "metadata.csv").write_text("\n".join(["image,caption", *rows]))
    notes = import_folder(folder, "photos", tmp_path / "lists").notes

    assert "2 rows of tables without an image, first b.png" in notes


@pytest.mark.parametrize("column", ["image", "image_file_name"])
def test_rows_that_name_no_image_are_left_out_and_counted(folder, tmp_path, column):
    rows = [{"id": 1, "text": "only text"}, {column: "cats/a.png", "text": "a cat"}, {}]
    (folder / "captions.json").write_text(json.dumps(rows))

    notes = import_folder(folder, "photos", tmp_path / "lists").notes

    assert f"2 rows of tables without an image, first {folder}/captions.json, row 1" in notes
    assert caption_of(folder, tmp_path / "lists", "cats/a.png") == ("text", {"text": "a cat"})


def caption_of(folder, lists, name):
    """The caption settings of a folder, and what an image's row holds of its fields."""
    corpus = import_folder(folder, "photos", lists).blocks["corpora"]["photos"]
    rows = map(json.loads, (lists / "00000.images").read_text().splitlines())
    (fields,) = [row.get("json", {}) for row in rows if row.get("file") == name]
    return corpus["captions"], fields


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("captions.txt", "image,caption\na.png,one\na.png,two\nb.v2.png,three\n"),
        ("captions.csv", "image_name;caption\na.png;one\na.png;two\nb.v2.png;three\n"),
        ("metadata.tsv", "filepath\tcaption\n/kaggle/a.png\tone\n/kaggle/a.png\ttwo\n"),
        ("results.token", "a.png#0\tone\na.png#1\ttwo\n\nb.v2.png#0\tthree\n"),
        ("Flickr8k.token.txt", "a.png#0\tone\na.png#1\ttwo\na.png#2\t\n"),
        ("captions.json", '[{"image": "a.png", "caption": ["one", "two"]}]'),
    ],
)
def test_rows_of_one_image_are_its_captions_in_their_order(folder, tmp_path, name, text):
    (folder / name).write_text(text)

    assert caption_of(folder, tmp_path / "lists", "cats/a.png") == (
        "texts",
        {"caption": ["one", "two"]},
    )


def test_hugging_faces_metadata_may_be_parquet(folder, tmp_path):
    table = {"file_name": ["cats/a.png", "dogs/b.v2.png"], "text": ["one", None]}
    table |= {"taken": pa.array([0, 1], pa.timestamp("s")), "score": [0.5, math.nan]}
    pq.write_table(pa.table(table), folder / "metadata.parquet")
    found = [
        caption_of(folder, tmp_path / "lists", name) for name in ("cats/a.png", "dogs/b.v2.png")
    ]

    assert found == [("text", {"text": "one", "score": 0.5}), ("text", {})]


def test_the_bars_of_kaggles_flickr30k_separate_cells_without_quotes(folder, tmp_path):
    rows = ("image_name| comment_number| comment", 'a.png| 0| "A", he said', "b.v2.png| 4  A dog")
    (folder / "captions.csv").write_text("\n".join(rows))

    assert caption_of(folder, tmp_path / "lists", "cats/a.png") == (
        "text",
        {"comment_number": "0", "comment": '"A", he said'},
    )


def test_the_comments_of_kaggles_flickr30k_are_captions(folder, tmp_path):
    rows = ("image_name| comment_number| comment", "a.png| 0| one", "a.png| 1| two")
    (folder / "captions.csv").write_text("\n".join(rows))

    corpus = import_folder(folder, "photos", tmp_path / "lists").blocks["corpora"]["photos"]

    assert (corpus["captions"], corpus["caption_field"]) == ("texts", "comment")


@pytest.mark.parametrize(("place", "beside"), [({}, "e.png"), ({"filepath": "cats"}, "a.png")])
def test_karpathys_splits_give_captions_and_splits(folder, tmp_path, place, beside):
    shutil.copyfile(folder / "cats/a.png", folder / "dogs" / beside)
    image = {**place, "filename": "a.png", "split": "val"}
    images = [{**image, "sentences": [{"raw": "one"}, {"raw": "two"}]}]
    (folder / "dataset_coco.json").write_text(json.dumps({"images": images}))

    assert caption_of(folder, tmp_path / "lists", "cats/a.png") == (
        "texts",
        {"caption": ["one", "two"], "split": "val"},
    )


def coco(*captions):
    """COCO's captions of dogs/b.v2.png, in the form of its `captions_train2017.json`."""
    annotations = [{"id": 1, "image_id": 7, "caption": each} for each in captions]
    return json.dumps({"images": [{"id": 7, "file_name": "b.v2.png"}], "annotations": annotations})


@pytest.mark.parametrize("named", ["photos", "photos/dogs"])
def test_cocos_captions_are_found_in_the_folder_and_beside_it(folder, tmp_path, named):
    (folder / "annotations").mkdir()
    (folder / "annotations/captions_dogs.json").write_text(coco("one", "two"))
    image = "dogs/b.v2.png" if named == "photos" else "b.v2.png"

    assert caption_of(tmp_path / named, tmp_path / "lists", image) == (
        "texts",
        {"caption": ["one", "two"]},
    )


def test_captions_of_an_image_that_coco_does_not_list_are_refused(folder, tmp_path):
    (folder / "captions_val.json").write_text(coco("one").replace('"id": 7', '"id": 8'))

    with pytest.raises(InputError, match=r"captions_val\.json: .* of image_id 7, which `images`"):
        import_folder(folder, "photos", tmp_path / "lists")


@pytest.mark.parametrize("hidden", ["._results.token", ".token"])
def test_hidden_files_are_no_tables(folder, tmp_path, hidden):
    (folder / "results.token").write_text("a.png#0\tone\n")
    (folder / hidden).write_bytes(b"\x00\x05\x16\x07Mac OS X\x9a")

    found = caption_of(folder, tmp_path / "lists", "cats/a.png")

    assert found == ("text", {"caption": "one"})


def test_a_name_that_several_images_have_names_none(folder, tmp_path):
    shutil.copyfile(folder / "cats/a.png", folder / "dogs/a.png")
    (folder / "captions.csv").write_text("image,caption\na.png,one\n")
    notes = import_folder(folder, "photos", tmp_path / "lists").notes

    assert "1 row of tables without an image, first a.png" in notes


@pytest.mark.parametrize("listed", ["cats", "birds"])
def test_a_name_that_a_table_has_in_several_folders_names_no_image_elsewhere(
    folder, tmp_path, listed
):
    (folder / "captions.csv").write_text(f"image,caption\n{listed}/a.png,one\nfish/a.png,two\n")

    found = caption_of(folder, tmp_path / "lists", "cats/a.png")

    assert found == (("text", {"caption": "one"}) if listed == "cats" else ("none", {}))


def test_texts_with_the_names_of_tables_are_no_tables(folder, tmp_path):
    shutil.copyfile(folder / "cats/a.png", folder / "dogs/captions.png")
    for name in ("dogs/captions.txt", "cats/captions.txt"):
        (folder / name).write_text("a dog\n")
    (folder / "captions_results.json").write_text('[{"image_id": 7, "caption": "a dog"}]')
    (folder / "hf.token").write_text("hf_secret\n")
    (folder / "captions_odd.json").write_text(coco("a dog").replace('_id": 7', '_id": [7]'))
    notes = import_folder(folder, "photos", tmp_path / "lists").notes

    assert "4 images in 1 list, 1 with a caption" in notes
    assert "other files were left out: 2 .json, 1 .token, 1 .txt" in notes


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "metadata.csv",
            "text\na cat\n",
            r": 1 row, none .*: the first has text, but no text in",
        ),
        ("metadata.csv", "id\n7\n", r"if the table is about something else, give it another name"),
        ("metadata.csv", "file_name,text\na.png,caf\udce9\n", r"byte 0xe9 is not UTF-8\. Save it"),
        ("metadata.parquet", "PAR1", r"metadata\.parquet: cannot be read: .*Correct it, or remove"),
        ("captions.jsonl", "[1]\n", r"line 1 is a list, expected an object"),
        ("captions.json", '[{"image": "a.png"}, 1]', r"entry 2 is a int, expected an object"),
        ("captions.jsonl", '{}\n{"id": 7}\n', r": 2 rows, none .*: the first has nothing, but"),
        ("a.token", "a.png#0\tone\na.png two\n", r"line 2: no tab between an image and its cap"),
        ("metadata.csv", "file_name,text\na.png,b,c\n", r"1 more cells than the header"),
        ("metadata.csv", f"file_name,text\na.png,{'x' * 1_100_000}\n", r"field larger than"),
        ("metadata.csv", "file_name,text\na.png,b\na.png,b,c\n", r": line 3: a row has 1 more"),
        ("metadata.jsonl", '{"image": "a.png"}\n\n{,}', r": line 3, character 2: Expecting"),
        ("metadata.jsonl", "{", r"metadata\.jsonl: cannot be read: .*Correct it"),
    ],
)
def test_invalid_tables_are_refused(folder, tmp_path, name, text, message):
    (folder / name).write_bytes(os.fsencode(text))

    with pytest.raises(InputError, match=message):
        import_folder(folder, "photos", tmp_path / "lists")
