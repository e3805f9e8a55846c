import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from tinyclip import picture, write_shard

from clipaudit.errors import InputError
from clipaudit.imports.clip_benchmark import import_clip_benchmark
from clipaudit.imports.settings_file import add_blocks


def wds(folder, texts, **members):
    """Write a test set of two samples in two shards, with these texts beside it."""
    (folder / "test").mkdir(parents=True)
    for name, text in {"test/nshards.txt": "2", **texts}.items():
        (folder / name).write_text(text)
    image = picture(np.random.default_rng(0))
    for number in range(2):
        own = {extension: values[number] for extension, values in members.items()}
        write_shard(folder / f"test/{number}.tar", [{"png": image, **own}])
    return folder


def classified(
    folder,
    templates="a photo of a {c}.\na {c}",
    labels=(b"0", b"2"),
    names=("cat", "dog", "fish"),
):
    texts = {"classnames.txt": "\n".join(names), "zeroshot_classification_templates.txt": templates}
    return wds(folder, texts, cls=labels)


def test_a_classification_set_becomes_a_corpus_and_its_label_set(tmp_path):
    folder = classified(tmp_path / "pets")

    imported = import_clip_benchmark(folder, "pets")

    assert imported.blocks == {
        "label_sets": {
            "pets": {
                "classes": f"{folder}/classnames.txt",
                "templates": ["a photo of a {}.", "a {}"],
            }
        },
        "corpora": {
            "pets": {
                "shards": f"{folder}/test/{{0..1}}.tar",
                "shards_per_part": 2,
                "captions": "none",
                "labels": "pets",
            }
        },
    }
    assert imported.notes[0] == "2 shards, 2 samples, 2 of 3 classes occur, 2 prompts"


def test_sets_with_the_same_classes_can_share_a_label_set(tmp_path):
    blocks = import_clip_benchmark(classified(tmp_path / "v2"), "v2", label_set="imagenet").blocks

    assert list(blocks["label_sets"]) == ["imagenet"]
    assert blocks["corpora"]["v2"]["labels"] == "imagenet"


def test_a_set_of_some_classes_is_written_with_the_map_to_all(tmp_path):
    """ImageNet-A and -R after ImageNet: labels 0 to 2 are three of six classes."""
    names = ["crane", "cat", "dog", "crane", "cow", "fish"]
    imagenet = classified(tmp_path / "imagenet", names=names)
    some = classified(tmp_path / "a", names=["dog", "crane", "fish"])
    path = tmp_path / "my.yaml"

    for folder, name in ((imagenet, "val"), (some, "a")):
        add_blocks(path, import_clip_benchmark(folder, name).blocks, force=False)

    written = yaml.safe_load(path.read_text())["corpora"]["a"]
    assert (written["labels"], written["label_map"]) == ("a", {"to": "val", "classes": [2, 3, 5]})
    assert "classes: [2, 3, 5]" in path.read_text()


def test_the_code_in_the_docs_writes_objectnets_map(tmp_path):
    """Labels follow the folder names: alarm (two ImageNet classes), then bench."""
    mappings, made = tmp_path / "data/objectnet-1.0/mappings", tmp_path / "data/objectnet"
    for folder in (mappings, made):
        folder.mkdir(parents=True)
    for name, content in {
        "folder_to_objectnet_label": {"bench": "Bench", "alarm": "Alarm clock", "pen": "Pen"},
        "objectnet_to_imagenet_1k": {"Bench": "park bench", "Alarm clock": "digital; analog"},
        "pytorch_to_imagenet_2012_id": {"409": 0, "530": 1, "703": 2},
    }.items():
        (mappings / f"{name}.json").write_text(json.dumps(content))
    (mappings / "imagenet_to_label_2012_v2").write_text("analog\ndigital\npark bench\n")
    text = (Path(__file__).parents[2] / "docs/imports.md").read_text()
    lines = text[text.index("from pathlib import Path") :].partition("\n\n  Images")[0]

    subprocess.run([sys.executable, "-c", re.sub("\n +", "\n", lines)], cwd=tmp_path, check=True)

    assert (made / "imagenet_classes.txt").read_text() == "530; 409\n703"


def test_a_retrieval_set_has_captions_and_no_classes(tmp_path):
    texts = {"dataset_type.txt": "retrieval\n"}
    folder = wds(tmp_path / "coco", texts, txt=(b"a cat\na red cat", b"a dog"))

    imported = import_clip_benchmark(folder, "coco")

    shards = {"shards": f"{folder}/test/{{0..1}}.tar", "shards_per_part": 2}
    assert imported.blocks == {"corpora": {"coco": {**shards, "captions": "texts"}}}
    assert imported.notes[0] == "2 shards, 2 samples, 3 captions"


def test_a_label_outside_the_classes_is_refused(tmp_path):
    folder = classified(tmp_path / "pets", labels=(b"0", b"3"))

    with pytest.raises(
        InputError, match=r"1\.tar: row 0, 00000: unknown class: 3 is outside 0 to 2"
    ):
        import_clip_benchmark(folder, "pets")


def test_a_prompt_that_names_the_class_twice_is_refused(tmp_path):
    folder = classified(tmp_path / "pets", templates="a {c}\na {c} or a {c}")

    with pytest.raises(InputError, match=r"line 2 is 'a \{c\} or a \{c\}'; a prompt has"):
        import_clip_benchmark(folder, "pets")


def test_a_kind_that_no_audit_reads_is_refused(tmp_path):
    folder = wds(tmp_path / "other", {"dataset_type.txt": "captioning"})

    with pytest.raises(InputError, match=r"dataset_type\.txt: says 'captioning'; classification"):
        import_clip_benchmark(folder, "other")
