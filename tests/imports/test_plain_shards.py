import json

import numpy as np
import pytest
from tinyclip import picture, write_shard

from clipaudit.errors import InputError
from clipaudit.imports import plain_shards as module
from clipaudit.imports.plain_shards import find_shards, import_shards

PICTURE = picture(np.random.default_rng(0))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "web").mkdir()
    return tmp_path / "web"


def put(folder, *samples, name="0.tar"):
    return write_shard(folder / name, [{"jpg": PICTURE, **members} for members in samples])


def block_of(folder, **options):
    return import_shards([str(folder)], "web", **options).blocks["corpora"]["web"]


def test_tars_of_a_folder_become_a_corpus_in_numerical_order(folder):
    for number in (10, 9, 8):
        put(folder, {"txt": b"a cat"}, {"txt": b"a dog"}, name=f"{number}.tar")

    imported = import_shards([str(folder)], "web")

    shards = [f"{folder}/{{8..9}}.tar", f"{folder}/10.tar"]
    block = {"shards": shards, "shards_per_part": 3, "captions": "text"}
    assert imported.blocks == {"corpora": {"web": block}}
    assert imported.notes[0] == "3 shards, 6 samples; of 6 tried, 6 have an image, 6 have a caption"


@pytest.mark.parametrize(
    ("members", "captions"),
    [
        ({"json": b'{"caption": "a cat"}'}, "text"),
        ({"json": b'{"captions": ["a cat", "a pet"]}'}, "texts"),
        ({"json": b'{"alt": "a cat"}'}, "none"),
        ({}, "none"),
    ],
)
def test_captions_are_found_in_the_members_that_have_them(folder, members, captions):
    put(folder, members)

    assert block_of(folder)["captions"] == captions


def test_texts_in_the_json_that_are_not_captions_are_named(folder):
    put(folder, {"json": json.dumps({"alt": "a cat", "size": 3}).encode()})

    notes = import_shards([str(folder)], "web").notes
    assert "texts in the JSON: alt; --caption FIELD takes one as caption" in notes


def test_labels_are_used_with_their_classes(folder):
    put(folder, {"cls": b"1"}, {"cls": b"0"})
    (folder / "pets.txt").write_text("cat\ndog\n")

    blocks = import_shards(
        [str(folder)], "web", classes=folder / "pets.txt", label_set="pets"
    ).blocks

    assert blocks["label_sets"] == {"pets": {"classes": f"{folder}/pets.txt"}}
    assert (blocks["corpora"]["web"]["labels"], blocks["corpora"]["web"]["captions"]) == (
        "pets",
        "class",
    )


def test_labels_without_classes_are_reported(folder):
    put(folder, {"cls": b"1"})

    notes = import_shards([str(folder)], "web").notes
    assert (
        "labels are not used: --classes FILE names them, one class per line in their order" in notes
    )


@pytest.mark.parametrize(("members", "fault"), [({"cls": b"2"}, "2 is outside 0 to 1"), ({}, "no")])
def test_a_label_that_is_not_a_class_is_refused(folder, members, fault):
    put(folder, {"cls": b"1"}, members)
    (folder / "pets.txt").write_text("cat\ndog\n")

    with pytest.raises(InputError, match=rf"0\.tar: row 1, 00001: .*{fault}.*omit --classes"):
        block_of(folder, classes=folder / "pets.txt")


def test_only_the_first_samples_of_a_tar_are_read_and_all_are_counted(folder, monkeypatch):
    monkeypatch.setattr(module, "TRIED_SAMPLES", 2)
    put(folder, *[{"txt": b"a cat"}] * 5)

    assert import_shards([str(folder)], "web").notes[0].startswith("1 shard, 5 samples; of 2 tried")


def test_unusable_samples_are_counted(folder):
    put(folder, {"txt": b"a cat"}, {"txt": b"\xff"})

    notes = import_shards([str(folder)], "web").notes
    assert notes[1].startswith(f"1 of these cannot be used, first {folder}/0.tar: row 1, 00001: ")


def test_tars_without_images_are_refused(folder):
    write_shard(folder / "0.tar", [{"mp3": b"sound", "txt": b"a cat"}])

    with pytest.raises(InputError, match=r"1 samples tried, none with an image .*found: mp3, txt"):
        block_of(folder)


def test_a_file_that_is_not_a_tar_is_refused(folder):
    (folder / "0.tar").write_bytes(b"<html>" * 200)

    with pytest.raises(InputError, match=r"0\.tar: not a readable tar"):
        block_of(folder)


@pytest.mark.parametrize("pattern", ["*.tar", "{0..0}.tar", "0.tar", ""])
def test_folders_files_and_patterns_name_tars(folder, pattern):
    put(folder, {})

    assert find_shards([f"{folder}/{pattern}"]) == [folder / "0.tar"]


def test_a_pattern_with_missing_tars_is_refused(folder):
    put(folder, {})

    with pytest.raises(InputError, match=r"2 of 3 shards are missing, first .*/1\.tar"):
        find_shards([f"{folder}/{{0..2}}.tar"])


@pytest.mark.parametrize("place", ["", "*.tar", "{0..2}.tar"])
def test_a_place_without_tars_is_refused(folder, place):
    with pytest.raises(InputError, match=r"no shards\. Name a folder with files that end in \.tar"):
        find_shards([f"{folder}/{place}"])


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("01.tar", r"01\.tar does not exist\. Did you mean .*/web/0\.tar\?"),
        ("../wbe/0.tar", r"0\.tar does not exist\. Did you mean .*/web\?"),
        ("labels", r"labels does not exist\. Correct the path\."),
    ],
)
def test_a_missing_path_is_answered_with_a_similar_one(folder, place, message):
    put(folder, {})

    with pytest.raises(InputError, match=message):
        find_shards([f"{folder}/{place}"])


def test_a_url_is_refused():
    with pytest.raises(InputError, match="a URL; imports read local files"):
        find_shards(["https://example.org/0.tar"])


def test_captions_are_found_in_a_field_with_a_known_name(folder):
    put(folder, {"json": b'{"id": "7", "text": "a cat"}'})

    block = block_of(folder)
    assert (block["captions"], block["caption_field"]) == ("text", "text")


def test_a_field_named_by_the_user_holds_the_captions(folder):
    put(folder, {"json": b'{"alt": "a cat", "text": "buy now"}'})

    assert block_of(folder, caption="alt")["caption_field"] == "alt"
    with pytest.raises(InputError, match=r"no text in 'tags' in 1 samples.* in: alt, text"):
        block_of(folder, caption="tags")


def test_parquet_beside_tars_is_not_a_shard(folder):
    put(folder, {"txt": b"a cat"})
    (folder / "0.parquet").write_bytes(b"img2dataset's")

    assert find_shards([str(folder)]) == [folder / "0.tar"]


def test_hidden_files_of_a_folder_are_not_shards(folder):
    put(folder, {})
    for name in ("._0.tar", ".old/1.tar"):  # a Mac writes the first one beside 0.tar
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(bytes(200))

    assert find_shards([str(folder)]) == [folder / "0.tar"]


def test_linked_folders_are_not_followed_which_is_said(folder):
    put(folder, {})
    (folder.parent / "more").mkdir()
    put(folder.parent / "more", {}, name="1.tar")
    (folder / "linked").symlink_to(folder.parent / "more")
    note = f"1 linked folder not followed, first {folder}/linked"

    imported = import_shards([str(folder)], "web")
    assert imported.blocks["corpora"]["web"]["shards"] == f"{folder}/0.tar"
    assert f"{note}; name the folders themselves" in imported.notes
    (folder / "0.tar").unlink()
    with pytest.raises(InputError, match=f"no shards; {note}"):
        find_shards([str(folder)])
