import json

import numpy as np
import pytest
from tinyclip import picture

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.samples import index_shards
from clipaudit.errors import InputError
from clipaudit.imports.picture_folder import import_folder

PLACES = ("dogs/b.v2.png", "cats/a.png", "cats/old/c.PNG")


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for place in PLACES:
        path = tmp_path / "photos" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(rng))
    return tmp_path / "photos"


def indexed(shards, captioning=None):
    tars = list(enumerate(sorted(shards.glob("*.tar"))))
    captioning = captioning or Captioning("none")
    samples, drops = index_shards(tars, captioning, needs_caption=False, needs_label=False)
    assert len(drops) == 0
    return samples


def test_pictures_are_samples_in_the_order_of_their_paths(folder, tmp_path):
    imported = import_folder(folder, "photos", tmp_path / "tars", per_shard=2)

    samples = indexed(tmp_path / "tars")
    paths = [json.loads(text)["path"] for text in samples["metadata"].to_pylist()]
    assert paths == ["cats/a.png", "cats/old/c.PNG", "dogs/b.v2.png"]
    assert samples["shard"].to_pylist() == [0, 0, 1]
    shards = f"{tmp_path}/tars/{{00000..00001}}.tar"
    block = {"shards": shards, "shards_per_part": 2, "captions": "none"}
    assert imported.blocks == {"corpora": {"photos": block}}


def test_the_same_pictures_give_the_same_bytes(folder, tmp_path):
    for name in ("first", "second"):
        import_folder(folder, "photos", tmp_path / name)

    first, second = ((tmp_path / name / "00000.tar").read_bytes() for name in ("first", "second"))
    assert first == second


def test_uppermost_folders_become_classes(folder, tmp_path):
    imported = import_folder(folder, "photos", tmp_path / "tars", classes=True)

    assert (tmp_path / "tars/classes.txt").read_text() == "cats\ndogs\n"
    assert indexed(tmp_path / "tars")["label"].to_pylist() == [0, 0, 1]
    assert imported.blocks["label_sets"] == {"photos": {"classes": f"{tmp_path}/tars/classes.txt"}}
    assert imported.blocks["corpora"]["photos"]["captions"] == "class"
    assert imported.notes[0] == "3 pictures in 1 tars, 0 with a caption, 2 classes"


def test_texts_beside_pictures_are_captions(folder, tmp_path):
    (folder / "cats/a.txt").write_text("a cat")

    imported = import_folder(folder, "photos", tmp_path / "tars")

    captions = indexed(tmp_path / "tars", Captioning("text"))["caption"].to_pylist()
    assert captions == ["a cat", None, None]
    assert imported.blocks["corpora"]["photos"]["captions"] == "text"


def test_json_beside_a_picture_is_kept(folder, tmp_path):
    (folder / "cats/a.json").write_text('{"author": "me"}')

    import_folder(folder, "photos", tmp_path / "tars")

    first = json.loads(indexed(tmp_path / "tars")["metadata"][0].as_py())
    assert first == {"author": "me", "path": "cats/a.png"}


def test_a_failed_import_leaves_nothing(folder, tmp_path):
    (folder / "dogs/b.v2.json").write_text("[1]")

    with pytest.raises(InputError, match=r"b\.v2\.json: bad json: a list .*Correct it"):
        import_folder(folder, "photos", tmp_path / "tars")
    assert [path.name for path in tmp_path.iterdir()] == ["photos"]


def test_only_a_folder_of_ours_is_replaced(folder, tmp_path):
    import_folder(folder, "photos", tmp_path / "tars")
    import_folder(folder, "photos", tmp_path / "tars", force=True)

    with pytest.raises(InputError, match=r"holds no imported\.json: --force would lose"):
        import_folder(folder, "photos", folder / "cats", force=True)


def test_a_picture_outside_of_all_classes_is_refused(folder, tmp_path):
    (folder / "cats/a.png").rename(folder / "a.png")

    with pytest.raises(InputError, match=r"1 of 3 pictures lie in no folder.* first 'a\.png'"):
        import_folder(folder, "photos", tmp_path / "tars", classes=True)


def test_a_folder_without_pictures_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no pictures below it that end in \.jpeg, \.jpg, \.png"):
        import_folder(tmp_path, "photos", tmp_path / "tars")
