import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from exportedrun import ExportedRun, picture, two_parts, uid

from clipaudit.errors import InputError
from clipaudit.exports.formats import export
from clipaudit.exports.huggingface import write_hf_parquet
from clipaudit.exports.rows import Rows, find_manifest

NAMED_BY_UID = re.compile(
    r"(data/[0-9a-f]{2}/)?[0-9a-f]{32}(-[0-9a-f]{32})?\.(png|jpg|gif|bmp|webp)"
)


@pytest.fixture
def run(tmp_path):
    return two_parts(tmp_path)


def write(run, manifest, form, **options):
    output = run.folder / "out"
    return export(run.results, run.store, manifest, form, output, **options), output


def lines(folder):
    return [json.loads(line) for line in (folder / "metadata.jsonl").read_text().splitlines()]


def read(folder):
    return pq.read_table(folder / "data")


def hostile(folder):
    """Return a run whose names, uids and captions look like paths, lines or markup."""
    run = ExportedRun(folder)
    samples = [("../../../evil", "../../evil\n\x1b[2J\u202e", picture(n)) for n in range(2)]
    run.index("odd", "00000", [samples], key="a..%2f\u202e/<script>\\{:04d}")
    run.manifest("odd", "all", "00000", [(0, 0, None), (0, 1, None)])
    return run


def test_an_imagefolder_names_each_image_beside_its_text(run):
    tally, output = write(run, "large/pruned", "imagefolder")

    assert tally.rows == 3
    assert [line["file_name"] for line in lines(output)] == [
        f"data/{uid(n)[:2]}/{uid(n)}.png" for n in (9, 7, 4)
    ]
    assert [line["text"] for line in lines(output)] == ["caption 0", "caption 2", "caption 5"]
    assert (output / lines(output)[2]["file_name"]).read_bytes() == picture(5)


def test_hf_parquet_holds_images_and_the_features_that_datasets_reads(run):
    _, output = write(run, "large/pruned", "hf-parquet")

    assert [path.name for path in (output / "data").iterdir()] == ["train-00000-of-00001.parquet"]
    first = read(output).to_pylist()[0]
    assert first["image"] == {"bytes": picture(0), "path": f"{uid(9)}.png"}
    assert (first["text"], first["uid"]) == ("caption 0", uid(9))
    features = json.loads(read(output).schema.metadata[b"huggingface"])["info"]["features"]
    assert list(features) == read(output).column_names
    assert features["image"] == {"_type": "Image"}


def test_hf_parquet_starts_a_new_file_at_its_size_limit(run):
    rows = Rows(run.results, run.store, find_manifest(run.results, run.store, "large/all"))
    output = run.folder / "cut"
    output.mkdir()

    write_hf_parquet(rows, output, file_bytes=100, group_rows=1)

    files = sorted(path.name for path in (output / "data").iterdir())
    assert files == [f"train-0000{n}-of-00003.parquet" for n in range(3)]
    assert read(output)["uid"].to_pylist() == [uid(n) for n in (9, 8, 7, 5, 4)]


@pytest.mark.parametrize("form", ["imagefolder", "fiftyone"])
def test_no_file_name_comes_from_a_shard(tmp_path, form):
    _, output = write(hostile(tmp_path), "odd/all", form)

    files = {str(path.relative_to(output)) for path in output.rglob("*") if path.is_file()}
    named = files - {"metadata.jsonl", "metadata.json", "samples.json", ".clipaudit"}
    assert len(named) == 2
    assert all(NAMED_BY_UID.fullmatch(name) for name in named)
    assert not list(tmp_path.parent.rglob("evil*"))


def test_no_path_in_parquet_comes_from_a_shard(tmp_path):
    _, output = write(hostile(tmp_path), "odd/all", "hf-parquet")

    rows = read(output).to_pylist()
    assert all(NAMED_BY_UID.fullmatch(row["image"]["path"]) for row in rows)
    assert rows[0]["text"] == "../../evil\n\x1b[2J\u202e"


@pytest.mark.parametrize("form", ["imagefolder", "hf-parquet"])
def test_an_empty_manifest_has_no_rows_and_reports_it(run, form):
    run.manifest("large", "none", "00000", [(0, 0, "gone")])
    run.manifest("large", "none", "00001", [(2, 0, "gone")])

    tally, output = write(run, "large/none", form)

    assert tally.rows == 0
    assert "no sample is kept" in tally.notes[0]
    assert (lines(output) if form == "imagefolder" else read(output).to_pylist()) == []


@pytest.mark.parametrize("form", ["imagefolder", "hf-parquet"])
def test_a_changed_shard_leaves_nothing(run, form):
    tar = run.folder / "tars/large/2.tar"
    tar.write_bytes(tar.read_bytes() + bytes(512))

    with pytest.raises(InputError, match=r"2\.tar: its SHA-256 is now"):
        write(run, "large/all", form)
    assert not (run.folder / "out").exists()


@pytest.mark.parametrize("form", ["imagefolder", "hf-parquet", "croissant"])
def test_force_replaces_an_export_and_no_folder_of_another_kind(run, form):
    _, output = write(run, "large/all", form)
    write(run, "large/pruned", form, force=True)
    shutil.rmtree(output)
    output.mkdir()
    (output / "metadata.jsonl").write_text("mine")

    with pytest.raises(InputError, match=r"a folder that has no \.clipaudit"):
        write(run, "large/all", form, force=True)


@pytest.mark.parametrize("form", ["imagefolder", "hf-parquet", "croissant"])
def test_the_same_samples_give_the_same_bytes(run, form):
    def content(output: Path):
        export(run.results, run.store, "large/all", form, output)
        return [path.read_bytes() for path in sorted(output.rglob("*")) if path.is_file()]

    assert content(run.folder / "one") == content(run.folder / "two")
