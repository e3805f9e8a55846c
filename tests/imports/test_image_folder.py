import hashlib
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from tinyclip import picture
from torchvision.datasets import ImageFolder

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.samples import index_shards
from clipaudit.errors import InputError
from clipaudit.imports.image_folder import import_folder


def indexed(lists, captioning=None):
    shards = list(enumerate(sorted(lists.glob("*.images"))))
    captioning = captioning or Captioning("none")
    samples, drops = index_shards(shards, captioning, needs_caption=False, needs_label=False)
    assert len(drops) == 0
    return samples


def dropped(lists, captioning=None):
    shards = list(enumerate(sorted(lists.glob("*.images"))))
    needs = captioning is not None
    captioning = captioning or Captioning("none")
    _, drops = index_shards(shards, captioning, needs_caption=needs, needs_label=False)
    return dict(zip(drops["key"].to_pylist(), drops["reason"].to_pylist(), strict=True))


def test_images_are_samples_whose_keys_are_their_paths(folder, tmp_path):
    imported = import_folder(folder, "photos", tmp_path / "lists", per_list=2)

    samples = indexed(tmp_path / "lists")
    paths = [json.loads(text)["path"] for text in samples["metadata"].to_pylist()]
    assert sorted(paths) == ["cats/a.png", "cats/old/c.PNG", "dogs/b.v2.png"]
    assert samples["key"].to_pylist() == paths
    assert samples["shard"].to_pylist() == [0, 0, 1]
    shards = f"{tmp_path}/lists/{{00000..00001}}.images"
    block = {"shards": shards, "shards_per_part": 2, "captions": "none"}
    assert imported.blocks == {"corpora": {"photos": block}}


def test_classes_are_mixed(tmp_path):
    for number in range(40):
        path = tmp_path / "photos" / ("cats" if number < 20 else "dogs") / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(np.random.default_rng(number), side=8))

    import_folder(tmp_path / "photos", "photos", tmp_path / "lists", classes=True)

    labels = indexed(tmp_path / "lists")["label"].to_pylist()
    assert sorted(labels) == [0] * 20 + [1] * 20
    assert 5 <= sum(labels[:20]) <= 15


def test_the_code_in_the_docs_writes_a_test_set_of_torchvision(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs/imports.md").read_text()
    loop = page[page.index("for number, (image") :].partition("\n```")[0]

    exec(loop, {"Path": Path, "test_set": ImageFolder(folder)})
    import_folder(tmp_path / "cifar10", "cifar10", tmp_path / "lists", classes=True)

    samples = indexed(tmp_path / "lists")
    labels = dict(zip(samples["key"].to_pylist(), samples["label"].to_pylist(), strict=True))
    assert labels == {"cats/00000.png": 0, "cats/00001.png": 0, "dogs/00002.png": 1}


def test_the_same_images_give_the_same_bytes(folder, tmp_path):
    for name in ("first", "second"):
        import_folder(folder, "photos", tmp_path / name)

    first, second = (
        (tmp_path / name / "00000.images").read_bytes() for name in ("first", "second")
    )
    assert first == second


def test_top_level_folders_become_classes(folder, tmp_path):
    imported = import_folder(folder, "photos", tmp_path / "lists", classes=True)

    assert (tmp_path / "lists/classes.txt").read_text() == "cats\ndogs\n"
    samples = indexed(tmp_path / "lists")
    labels = dict(zip(samples["key"].to_pylist(), samples["label"].to_pylist(), strict=True))
    assert labels == {"cats/a.png": 0, "cats/old/c.PNG": 0, "dogs/b.v2.png": 1}
    assert imported.blocks["label_sets"] == {"photos": {"classes": f"{tmp_path}/lists/classes.txt"}}
    assert imported.blocks["corpora"]["photos"]["captions"] == "class"
    assert imported.notes[0] == "3 images in 1 list, 0 with a caption, 2 classes"


def test_texts_beside_images_are_captions(folder, tmp_path):
    (folder / "cats/a.txt").write_text("a cat")

    imported = import_folder(folder, "photos", tmp_path / "lists")

    captions = indexed(tmp_path / "lists", Captioning("text"))["caption"].to_pylist()
    assert captions == ["a cat", None, None]
    assert imported.blocks["corpora"]["photos"]["captions"] == "text"


def test_json_beside_an_image_is_kept(folder, tmp_path):
    (folder / "cats/a.json").write_text('{"author": "me"}')

    import_folder(folder, "photos", tmp_path / "lists")

    first = json.loads(indexed(tmp_path / "lists")["metadata"][0].as_py())
    assert first == {"author": "me", "path": "cats/a.png"}


def test_a_field_of_a_table_replaces_the_same_field_of_json(folder, tmp_path):
    (folder / "cats/a.json").write_text('{"author": "me", "year": 1999}')
    (folder / "metadata.csv").write_text("file_name,author\ncats/a.png,you\n")

    import_folder(folder, "photos", tmp_path / "lists")

    first = json.loads(indexed(tmp_path / "lists")["metadata"][0].as_py())
    assert first == {"author": "you", "path": "cats/a.png", "year": 1999}


@pytest.mark.parametrize("text", [b"[1]", b"{", b"\xff", b""])
def test_an_image_with_bad_json_is_dropped_as_in_a_tar(folder, tmp_path, text):
    (folder / "dogs/b.v2.json").write_bytes(text)

    for _ in range(2):  # read, then remembered
        notes = import_folder(folder, "photos", tmp_path / "lists").notes
        assert notes[1].startswith("1 image with a .json that holds no object, first dogs/b.v2.png")
    needed = dropped(tmp_path / "lists", Captioning("text"))
    assert needed["dogs/b.v2.png"] == "bad json"
    assert indexed(tmp_path / "lists").num_rows == 3  # captions are not needed


def test_a_failed_import_leaves_nothing(folder, tmp_path):
    (folder / "metadata.jsonl").write_text("[1]")

    with pytest.raises(InputError, match=r"line 1 is a list, expected an object"):
        import_folder(folder, "photos", tmp_path / "lists")
    assert [path.name for path in tmp_path.iterdir()] == ["photos"]


def test_lists_of_another_folder_are_kept(folder, tmp_path):
    import_folder(folder, "photos", tmp_path / "lists")

    with pytest.raises(InputError, match=r"contains lists of .*photos, not of .*cats.* by --lists"):
        import_folder(folder / "cats", "cats", tmp_path / "lists")


def test_an_image_outside_all_classes_is_refused(folder, tmp_path):
    (folder / "cats/a.png").rename(folder / "a.png")

    with pytest.raises(InputError, match=r"1 of 3 images are not in the folder.* first 'a\.png'"):
        import_folder(folder, "photos", tmp_path / "lists", classes=True)


def test_a_folder_without_images_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no images below it that end in \.jpeg, \.jpg, \.png"):
        import_folder(tmp_path, "photos", tmp_path / "lists")


def test_a_new_image_comes_last_and_a_deleted_one_is_removed(folder, tmp_path):
    import_folder(folder, "photos", tmp_path / "lists", per_list=2)
    (folder / "cats/b.png").write_bytes(picture(np.random.default_rng(1)))
    (folder / "cats/a.png").unlink()
    import_folder(folder, "photos", tmp_path / "lists", per_list=2)

    samples = indexed(tmp_path / "lists")
    assert samples["key"].to_pylist() == ["dogs/b.v2.png", "cats/old/c.PNG", "cats/b.png"]
    assert samples["shard"].to_pylist() == [0, 1, 1]


def test_unchanged_files_are_read_once(folder, tmp_path, monkeypatch):
    for path in folder.rglob("*.*"):
        os.utime(path, (0, 0))
    import_folder(folder, "photos", tmp_path / "lists")
    monkeypatch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("an image was read again"))
    import_folder(folder, "photos", tmp_path / "lists")

    (folder / "cats/a.txt").write_text("a cat")  # the image is read again too
    with pytest.raises(pytest.fail.Exception):
        import_folder(folder, "photos", tmp_path / "lists")


def test_an_image_is_read_again_after_it_could_not_be_used(folder, tmp_path):
    outside = tmp_path / "outside.png"
    outside.write_bytes(picture(np.random.default_rng(2)))
    os.utime(outside, (0, 0))
    (folder / "cats/z.png").symlink_to(outside)
    import_folder(folder, "photos", tmp_path / "lists")
    assert list(dropped(tmp_path / "lists").values()) == ["link to outside the folder"]

    (folder / "cats/z.png").unlink()
    (folder / "cats/z.png").hardlink_to(outside)
    import_folder(folder, "photos", tmp_path / "lists")

    assert len(indexed(tmp_path / "lists")) == 4


def test_an_image_that_changed_since_is_refused(folder, tmp_path):
    import_folder(folder, "photos", tmp_path / "lists")
    (folder / "cats/a.png").write_bytes(picture(np.random.default_rng(9)))

    with pytest.raises(InputError, match=r"a\.png: .* lists it with SHA-256 \w{12}, but its"):
        indexed(tmp_path / "lists")


def test_links_out_of_the_folder_and_circular_links_are_drops(folder, tmp_path):
    (tmp_path / "secret.png").write_bytes(picture(np.random.default_rng(2)))
    (folder / "cats/out.png").symlink_to(tmp_path / "secret.png")
    (folder / "cats/loop.png").symlink_to("loop.png")
    (folder / "again").symlink_to(folder)
    notes = import_folder(folder, "photos", tmp_path / "lists").notes

    drops = dropped(tmp_path / "lists")
    assert drops == {
        "cats/out.png": "link to outside the folder",
        "cats/loop.png": "unreadable file",
    }
    assert any("1 linked folder not followed" in note for note in notes)
    assert (
        "1 of them cannot be used (link to outside the folder); they are listed in `drops`" in notes
    )


@pytest.mark.parametrize("name", ["cats/a.txt", "cats/a.json"])
def test_texts_that_are_links_out_of_the_folder_are_not_read(folder, tmp_path, name):
    (tmp_path / "secret").write_text('{"caption": "a secret"}')
    (folder / name).symlink_to(tmp_path / "secret")
    import_folder(folder, "photos", tmp_path / "lists")

    assert "secret" not in (tmp_path / "lists/00000.images").read_text()


def test_a_table_that_is_a_link_out_of_the_folder_is_refused(folder, tmp_path):
    (tmp_path / "secret.csv").write_text("file_name,text\na.png,a secret\n")
    (folder / "metadata.csv").symlink_to(tmp_path / "secret.csv")

    with pytest.raises(InputError, match=r"metadata\.csv: a link out of .*photos\. Put the table"):
        import_folder(folder, "photos", tmp_path / "lists")


def test_a_text_that_is_too_long_is_read_only_up_to_the_limit(folder, tmp_path):
    (folder / "cats/a.txt").write_bytes(b"x" * 3_000_000)
    import_folder(folder, "photos", tmp_path / "lists")

    assert (tmp_path / "lists/00000.images").stat().st_size < 1_100_000
    assert dropped(tmp_path / "lists") == {"cats/a.png": "text too long"}


def test_a_text_that_is_not_utf8_is_a_bad_caption(folder, tmp_path):
    (folder / "cats/a.txt").write_bytes(b"caf\xe9")
    import_folder(folder, "photos", tmp_path / "lists")

    assert dropped(tmp_path / "lists", Captioning("text"))["cats/a.png"] == "bad caption"


def test_a_link_within_the_folder_is_an_image(folder, tmp_path):
    (folder / "cats/same.png").symlink_to("a.png")
    import_folder(folder, "photos", tmp_path / "lists")

    assert "cats/same.png" in indexed(tmp_path / "lists")["key"].to_pylist()


@pytest.mark.parametrize("name", ["new\nline.png", "bell\a.png", "bytes\udcff.png", "ß日.png"])
def test_odd_names_are_read_and_escaped(folder, tmp_path, name):
    (folder / name).write_bytes(picture(np.random.default_rng(3)))
    import_folder(folder, "photos", tmp_path / "lists")

    samples = indexed(tmp_path / "lists")
    assert len(samples) == 4
    assert all(key.isprintable() for key in samples["key"].to_pylist())


def test_a_pipe_is_a_drop_and_does_not_block(folder, tmp_path):
    os.mkfifo(folder / "pipe.png")
    import_folder(folder, "photos", tmp_path / "lists")

    assert dropped(tmp_path / "lists") == {"pipe.png": "member is not a plain file"}


def test_other_files_are_counted(folder, tmp_path):
    (folder / "scan.tiff").write_bytes(b"")
    notes = import_folder(folder, "photos", tmp_path / "lists").notes

    assert "other files were left out: 1 .tiff" in notes


def test_tables_of_image_folders_give_captions_and_fields(folder, tmp_path):
    (folder / "metadata.csv").write_text("file_name,text,n\ncats/a.png,a cat,1\n")
    (folder / "dogs/metadata.jsonl").write_text('{"file_name": "b.v2.png", "text": "a dog"}\n')
    imported = import_folder(folder, "photos", tmp_path / "lists")

    corpus = imported.blocks["corpora"]["photos"]
    assert (corpus["captions"], corpus["caption_field"]) == ("text", "text")
    samples = indexed(tmp_path / "lists", Captioning("text", field="text"))
    captions = dict(zip(samples["key"].to_pylist(), samples["caption"].to_pylist(), strict=True))
    assert captions == {"cats/a.png": "a cat", "cats/old/c.PNG": None, "dogs/b.v2.png": "a dog"}
    fields = [json.loads(each) for each in samples["metadata"].to_pylist()]
    assert [each.get("n") for each in fields if each["path"] == "cats/a.png"] == ["1"]


def test_a_snapshot_of_the_hubs_cache_is_read_through_its_links(folder, tmp_path):
    cache = tmp_path / "hub/datasets--me--photos"
    snapshot = cache / "snapshots/1234567"
    for link, file in (("cats/1.png", folder / "cats/a.png"), ("cats/2.png", tmp_path / "secret")):
        (snapshot / link).parent.mkdir(parents=True, exist_ok=True)
        (cache / "blobs").mkdir(exist_ok=True)
        (snapshot / link).symlink_to(cache / "blobs" / file.name)
    shutil.copyfile(folder / "cats/a.png", cache / "blobs/a.png")
    (cache / "blobs/secret").symlink_to(folder / "cats/a.png")  # leads out of the repository

    for number, named in enumerate((snapshot, snapshot / "cats")):
        import_folder(named, "photos", tmp_path / f"lists{number}")
        ((name, reason),) = dropped(tmp_path / f"lists{number}").items()
        assert (name[-5:], reason) == ("2.png", "link to outside the folder")
