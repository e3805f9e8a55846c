"""Exports, read by their target programs in a separate environment."""

import io

import pytest
from exportedrun import ExportedRun, picture, two_parts, uid
from PIL import Image
from readersenvironment import asked, needs_readers

from clipaudit.exports.formats import export
from clipaudit.exports.shards import opened, write_shards
from clipaudit.similarity.nearest import SIMILARITIES

HOSTILE = "=1+1\x1b[31m\n\u202e<script>, NaN"

pytestmark = needs_readers

LOAD = """
import json, sys, datasets
found = datasets.load_dataset(sys.argv[1], data_dir=sys.argv[2], split="train")
rows = [{**row, "image": list(row["image"].size)} for row in found]
print(json.dumps({"features": str(found.features["image"]), "rows": rows}))
"""
SHARDS = """
import json, sys, datasets
found = datasets.load_dataset("webdataset", data_files=f"{sys.argv[1]}/*.tar", split="train")
print(json.dumps([[row["txt"], row["json"]["uid"], row["png"].size] for row in found]))
"""
RECORDS = """
import json, sys, mlcroissant
found = mlcroissant.Dataset(jsonld=sys.argv[1])
plain = lambda value: value.decode() if isinstance(value, bytes) else value
records = [{k: plain(v) for k, v in row.items()} for row in found.records("samples")]
issues = found.metadata.ctx.issues
about = {"errors": sorted(issues.errors), "warnings": sorted(issues.warnings)}
print(json.dumps({**about, "records": records}, default=float))
"""


@pytest.fixture
def run(tmp_path):
    return two_parts(tmp_path)


def loaded(run, manifest, form):
    output = run.folder / "out"
    export(run.results, run.store, manifest, form, output)
    loader = {"imagefolder": "imagefolder", "hf-parquet": "parquet"}[form]
    return asked(run.folder, LOAD, loader, output)


@pytest.mark.parametrize("form", ["imagefolder", "hf-parquet"])
def test_datasets_loads_images_captions_and_scores(run, form):
    row = {"shard": 2, "row": 1, "testset": "val", "test_shard": 0, "test_row": 0}
    path = "similarities/own/large/00001.json"
    run.rows(path, [row | {"similarity": 0.5}], SIMILARITIES, encoder="own")

    found = loaded(run, "large/pruned", form)

    assert found["features"].startswith("Image(")
    assert [row["image"] for row in found["rows"]] == [[8, 4]] * 3
    assert [row["text"] for row in found["rows"]] == ["caption 0", "caption 2", "caption 5"]
    assert [row["uid"] for row in found["rows"]] == [uid(9), uid(7), uid(4)]
    assert [row["similarity_own_val"] for row in found["rows"]] == [None, None, 0.5]


@pytest.mark.parametrize("form", ["imagefolder", "hf-parquet"])
def test_datasets_loads_unusual_images_and_hostile_captions(tmp_path, form):
    run = ExportedRun(tmp_path)
    kinds = [("GIF", "P"), ("BMP", "1"), ("WEBP", "RGBA"), ("JPEG", "CMYK"), ("PNG", "I;16")]
    images = [io.BytesIO() for _ in kinds]
    for (kind, mode), file in zip(kinds, images, strict=True):
        Image.new(mode, (6, 5)).save(file, kind)
    samples = [(uid(n), HOSTILE, file.getvalue()) for n, file in enumerate(images)]
    run.index("odd", "00000", [samples])
    run.manifest("odd", "all", "00000", [(0, row, None) for row in range(len(samples))])

    found = loaded(run, "odd/all", form)

    assert [row["image"] for row in found["rows"]] == [[6, 5]] * len(kinds)
    assert {row["text"] for row in found["rows"]} == {HOSTILE}


@pytest.mark.parametrize("form", ["imagefolder", "hf-parquet"])
def test_datasets_loads_a_row_for_each_sample_with_the_same_uid(tmp_path, form):
    run = ExportedRun(tmp_path)
    shades = [1, 2, 1]
    run.index("same", "00000", [[(uid(3), str(shade), picture(shade)) for shade in shades]])
    run.manifest("same", "all", "00000", [(0, row, None) for row in range(3)])

    found = loaded(run, "same/all", form)

    assert [row["text"] for row in found["rows"]] == ["1", "2", "1"]


def test_datasets_loads_new_shards(run):
    folder = run.folder / "kept"
    with opened(run.results, run.store, "large/pruned") as sealed:
        write_shards(sealed, run.store.root, folder, samples=2)

    found = asked(run.folder, SHARDS, folder)

    assert found == [[f"caption {n}", uid(9 - n), [8, 4]] for n in (0, 2, 5)]


def test_mlcroissant_validates_and_reads_the_records(run):
    run.embeddings("own", "large", "00000", {(0, 0): (0.5, 0.25)})
    run.seal("both", "large/all/00001", "large/pruned/00000")
    output = run.folder / "out"
    export(run.results, run.store, "both", "croissant", output, all_rows=True, vectors=True)

    found = asked(run.folder, RECORDS, output / "croissant.json")

    assert found["errors"] == []
    assert [each for each in found["warnings"] if "citeAs" not in each] == []
    assert [row["samples/shard"] for row in found["records"]] == [2, 2, 0, 0, 1, 1]
    assert [row["samples/kept"] for row in found["records"]][2:] == [True, False, True, False]
    assert found["records"][2]["samples/vector_own"] == [0.5, 0.25]
    assert found["records"][3]["samples/reason"] == "too near"


def test_mlcroissant_reads_no_record_from_an_empty_manifest(run):
    run.manifest("large", "none", "00000", [(0, 0, "gone")])
    run.manifest("large", "none", "00001", [(2, 0, "gone")])
    output = run.folder / "out"
    export(run.results, run.store, "large/none", "croissant", output)

    assert asked(run.folder, RECORDS, output / "croissant.json")["records"] == []
