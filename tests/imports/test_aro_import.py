import json

import numpy as np
import pytest
from PIL import Image
from tinyclip import picture

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.samples import index_shards
from clipaudit.corpora.shards import first_image, raw_samples
from clipaudit.errors import InputError
from clipaudit.imports.aro import import_aro

BOX = {"bbox_x": 3, "bbox_y": 5, "bbox_w": 20, "bbox_h": 10}


@pytest.fixture
def images(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "1.png").write_bytes(picture(np.random.default_rng(0)))
    return tmp_path / "images"


def case(image="1.png", **changes):
    captions = {"true_caption": "the cat on the mat", "false_caption": "the mat on the cat"}
    return {"image_path": image, **BOX, **captions, "relation_name": "on", **changes}


def pair(*attributes):
    fields = case(attributes=list(attributes))
    del fields["relation_name"]
    return fields


def imported(images, cases, name="aro"):
    path = images.parent / "cases.json"
    path.write_text(json.dumps(cases))
    return import_aro(images, name, annotations=path, shards=images.parent / "tars")


def stated(images):
    """Return the JSON of the first shard's samples, as the index keeps it."""
    shards = [(0, images.parent / "tars" / "00000.tar")]
    samples, drops = index_shards(
        shards, Captioning("none"), needs_caption=False, needs_label=False
    )
    assert len(drops) == 0
    return [json.loads(text) for text in samples["metadata"].to_pylist()]


def test_relations_become_two_captions_and_a_kind_without_symmetric_ones(images):
    cases = [case(), case(relation_name="next to"), case(relation_name="riding")]

    notes = imported(images, cases).notes

    captions = ["the mat on the cat", "the cat on the mat"]
    assert stated(images) == [
        {"captions": captions, "right": 1, "kind": "on"},
        {"captions": captions, "right": 1, "kind": "riding"},
    ]
    assert notes[0].startswith("2 of 3 cases in 1 shard, 2 kinds; 1 of symmetric")


def test_pairs_of_attributes_with_fewer_than_25_cases_are_left_out(images):
    imported(images, [pair("red", "old")] * 25 + [pair("wet", "new")] * 24)

    assert {each["kind"] for each in stated(images)} == {"red_old"}


def test_images_are_cropped_to_the_box_without_loss(images):
    imported(images, [case()])

    (raw,) = raw_samples(images.parent / "tars" / "00000.tar")
    found = open_picture(first_image(raw.members)).rgb
    with Image.open(images / "1.png") as whole:
        wanted = whole.convert("RGB").crop((3, 5, 23, 15))
    assert np.array_equal(found, wanted)


def test_order_cases_keep_their_image_and_their_first_caption_is_right(images):
    cases = [{"image": "1.png", "caption_options": ["a cat sits", "sits cat a", "cat a sits"]}]

    imported(images, cases)

    assert stated(images) == [{"captions": cases[0]["caption_options"], "right": 0, "kind": None}]
    (raw,) = raw_samples(images.parent / "tars" / "00000.tar")
    assert bytes(first_image(raw.members)) == (images / "1.png").read_bytes()


def test_shuffles_that_equal_the_caption_are_no_wrong_captions(images):
    options = [["a cat sits", "a cat sits", "cat a sits", "a cat sits"], ["a cat", "a cat"]]

    notes = imported(
        images, [{"image": "1.png", "caption_options": each} for each in options]
    ).notes

    assert [each["captions"] for each in stated(images)] == [["a cat sits", "cat a sits"]]
    assert notes[0].endswith("; 1 of captions that equal all their shuffles are left out")


def test_a_photo_with_a_preview_in_one_file_is_a_jpeg(images):
    with Image.open(images / "1.png") as whole:
        whole.convert("RGB").save(images / "2.jpg", "MPO", save_all=True, append_images=[whole])

    imported(images, [{"image": "2.jpg", "caption_options": ["a cat sits", "sits cat a"]}])

    assert len(stated(images)) == 1


def test_the_block_names_the_tars_and_needs_no_captions(images):
    block = imported(images, [case()] * 1001, name="relation").blocks["corpora"]["relation"]

    assert block["shards"] == f"{images.parent}/tars/{{00000..00001}}.tar"
    assert block["captions"] == "none"


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ({}, "no list of cases with relation_name, attributes or caption_options. Give"),
        ([{"text": "a"}], "no list of cases"),
        ([case(), case(true_caption=3)], "case 1: true_caption is 3, not a text"),
        ([case(bbox_w=None)], "case 0: bbox_w is null, not a whole number"),
        ([case(bbox_h=0)], "case 0: a box of 20 x 0 pixels"),
        ([pair("red")], "case 0: attributes is .*, not a list of two texts"),
        ([case(relation_name="near")], "0 of 1 cases are left"),
        ([case("2.png")], "no image 2.png, which the cases name. Give the folder"),
        ([case("../cases.json")], "no image ../cases.json"),
    ],
)
def test_unusable_cases_are_one_error(images, cases, message):
    with pytest.raises(InputError, match=message):
        imported(images, cases)


def test_a_damaged_image_is_one_error(images):
    (images / "1.png").write_bytes(b"broken")

    with pytest.raises(InputError, match=r"1\.png: corrupt image"):
        imported(images, [case()])
