"""The micro world's similarity audit without images: only samples and embeddings exist."""

import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from microproject import copy_project

CORPORA = ("large", "small", "val", "sketch")
SETTINGS = "config/listed.yaml"
SAME = (
    "embeddings",
    "similarities",
    "neighbors",
    "kept_neighbors",
    "manifests",
    "clustered",
    "duplicates",
    "tables/similarity_deduplication",
    "tables/similarity_gap_check",
    "tables/similarity_table2",
    "tables/similarity_table6",
    "tables/similarity_table7",
    "figures/similarity_fig4",
    "figures/similarity_fig14",
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def unrounded(stored):
    """Return float32 unit vectors that round to these float16 ones, which are not quite unit."""
    rows = stored.astype(np.float64)
    moves = 0.49 * np.spacing(np.abs(stored)).astype(np.float64) * np.sign(rows)
    a, b, c = (moves**2).sum(1), (rows * moves).sum(1), (rows**2).sum(1) - 1
    found = rows + ((np.sqrt(b**2 - a * c) - b) / a)[:, None] * moves
    assert (found.astype(np.float16) == stored).all()
    return found.astype(np.float32)


def give(source, folder, corpus):
    """Write a corpus of a finished project as clip-retrieval does, with a file for each shard."""
    results = source.results
    rows = pq.ParquetDataset(sorted((results / "samples" / corpus).glob("*.parquet"))).read()
    paths = sorted((results / "embeddings/own" / corpus).glob("*.parquet"))
    vectors = np.stack(
        [
            np.frombuffer(each, np.float16)
            for each in pq.ParquetDataset(paths).read()["embedding"].to_pylist()
        ]
    )
    for name in ("img_emb", "metadata"):
        (folder / corpus / name).mkdir(parents=True)
    for shard in sorted(set(rows["shard"].to_pylist())):
        here = np.flatnonzero(np.asarray(rows["shard"]) == shard)
        np.save(folder / f"{corpus}/img_emb/img_emb_{shard}.npy", unrounded(vectors[here]))
        held = rows.take(here)
        framed = [json.loads(text).get("framed") for text in held["metadata"].to_pylist()]
        columns = {"image_path": held["key"], "uid": held["uid"], "caption": held["caption"]}
        columns |= {"label": held["label"], "framed": pa.array(framed, pa.bool_())}
        pq.write_table(pa.table(columns), folder / f"{corpus}/metadata/metadata_{shard}.parquet")


def listed(corpus, shards):
    return {
        "files": f"given/{corpus}/metadata/metadata_{{0..{shards - 1}}}.parquet",
        "key": "image_path",
        "uid": "uid",
        "caption": "caption",
        "label": "label",
        "fields": ["framed"],
    }


def settings_without_pictures(settings, *, of=CORPORA):
    """Return the micro world's settings without the tars of some corpora and its encoder."""
    for name in of:
        corpus = settings["corpora"][name]
        corpus["metadata"] = listed(name, 4 if name == "large" else 1)
        del corpus["shards"], corpus["world"]
    settings["encoders"]["own"] = {"architecture": "atom", "pretrained": "gone.pt"}
    settings["embeddings"] = {
        f"{name}-own": {
            "corpus": name,
            "encoder": "own",
            "arrays": files.replace("metadata/metadata", "img_emb/img_emb")[:-8] + ".npy",
            "metadata": files,
            "column": "image_path",
            "join_on": "row" if name in of else "key",
        }
        for name in CORPORA
        for files in [listed(name, 4 if name == "large" else 1)["files"]]
    }
    return settings


@pytest.fixture(scope="module")
def unseen(finished, tmp_path_factory):
    """Return a project without tars, and the output of its run."""
    project = copy_project(tmp_path_factory.mktemp("unseen") / "project")
    for name in CORPORA:
        give(finished, project.folder / "given", name)
    settings = yaml.safe_load((project.folder / "config/micro.yaml").read_text())
    text = yaml.safe_dump(settings_without_pictures(settings), sort_keys=False)
    (project.folder / SETTINGS).write_text(text)
    said = project.run(config=SETTINGS, target="all_tables all_figures report")
    return project, said


def test_other_models_are_requested_without_images_of_the_large_set(unseen):
    project, _ = unseen
    settings = yaml.safe_load((project.folder / "config/micro.yaml").read_text())
    settings = settings_without_pictures(settings, of=["large"])
    (project.folder / "config/partly.yaml").write_text(yaml.safe_dump(settings))

    plan = project.run("-n", config="config/partly.yaml")

    jobs = dict(line.split() for line in plan.splitlines() if re.fullmatch(r"\w+ +\d+", line))
    assert {"train_supervised": "1", "classify": "1"}.items() <= jobs.items()
    assert not {"train", "evaluate", "embed"} & jobs.keys()


def test_results_that_need_no_images_are_the_same_without_them(unseen, finished):
    project, _ = unseen
    own, whole = project.digests(), finished.digests()

    same = [path for path in whole if path.startswith(SAME)]

    assert {path: own.get(path) for path in same} == {path: whole[path] for path in same}
    assert {path.split("/")[0] for path in same} == {name.split("/")[0] for name in SAME}
    assert not list(project.folder.rglob("*.tar"))


def test_no_model_is_trained_or_evaluated_without_images(unseen):
    project, _ = unseen

    steps = set(project.computed_steps(set()))

    assert {"list_samples", "take_embeddings", "split", "prune_at_cut", "gap"} <= steps
    assert not steps & {"index", "embed", "train", "train_supervised", "seal", "evaluate"}


def test_tables_the_log_the_status_and_the_report_name_what_is_left_out(unseen):
    project, said = unseen
    large = "large, small have no images: no model is trained on them, so none is in this grid."
    val = "val, sketch, framed have no images: no model is evaluated on them."

    status = project.clipaudit("status")
    places = ["tables/similarity_table1.md", "tables/similarity_robustness.tex"]
    places += ["report/index.html", "report/tables/similarity_table1.html"]

    assert f"Left out: {large}" in said
    assert f"Left out: {val}" in status
    assert (
        "Left out: The check that own computed the embeddings of large, which has no images" in said
    )
    texts = {place: (project.results / place).read_text() for place in places}
    assert [place for place, text in texts.items() if large not in text or val not in text] == []
    assert "Left out" not in (project.results / "tables/similarity_table7.md").read_text()


def test_galleries_show_uids_without_images(unseen):
    project, _ = unseen

    caption = (project.results / "figures/similarity_fig15_val.md").read_text()

    assert "val, large, small have no images; the uids of samples" in caption
    page = next(project.results.glob("report/samples/large-*.html")).read_text()
    assert "large has no images" in page


@pytest.mark.parametrize("target", ["models/brief/large.json", "sealed/large.json"])
def test_a_target_that_needs_images_is_refused_by_one_message(unseen, target):
    project, _ = unseen

    output = project.run("-n", config=SETTINGS, target=f"results_micro/{target}", ok=False)

    assert "has no images: it is listed by corpora." in output
    assert "Traceback" not in output


def test_the_page_of_a_sample_without_an_image_has_a_placeholder(unseen):
    project, _ = unseen

    told = project.clipaudit("sample", "large", "0:0", "--results", "results_micro")
    page = project.clipaudit(
        "sample", "large", "0:0", "--format", "html", "--results", "results_micro"
    )

    assert "given/large/metadata/metadata_0.parquet" in told
    assert "No image: large has no images" in page
    assert "image not found" in page


def test_kept_samples_are_exported_except_to_formats_with_images(unseen):
    project, _ = unseen
    asked = ("export", "large/deduplicated", "--results", "results_micro")
    asked += ("--store", "store_micro", "--format")

    project.clipaudit(*asked, "uids", "--output", "kept.txt")
    refused = project.clipaudit(*asked, "fiftyone", "--output", "kept", ok=False)

    assert len((project.folder / "kept.txt").read_text().splitlines()) > 50
    assert "large has no images, which this format needs" in refused
    shutil.rmtree(project.folder / "kept", ignore_errors=True)
