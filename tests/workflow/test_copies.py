"""The copies audit in real runs of its micro world, without model, labels or recipe."""

import json
import shutil

import pyarrow.parquet as pq
import pytest
from microproject import Project

SETTINGS = "config/micro_copies.yaml"
RESULTS = "--results", "results_micro"


def rows(project, table):
    return pq.read_table(project.results / f"{table}.parquet").to_pylist()


def test_exactly_the_planted_copies_are_found_and_named(copied):
    for row in rows(copied, "tables/copies_planted"):
        assert row["planted"] > 0
        assert row["candidates"] == row["verified"] == row["named"] == row["planted"]
        assert row["verified_besides"] == 0


def test_the_report_gives_the_answer_and_shows_pairs(copied):
    page = (copied.results / "report/index.html").read_text()
    (summary,) = rows(copied, "tables/copies_summary")

    assert f"{summary['with_copy']} of {summary['images']} images of val have a copy" in page
    assert rows(copied, "figures/copies_of_val")


def test_the_view_audit_names_the_test_image_and_the_manifests(copied):
    query = (
        "select count(*) as copies, count(*) filter (list_contains(pruned_from, "
        "'without-copies')) as pruned from audit where copy_kind is not null"
    )

    answer = json.loads(copied.clipaudit("sql", query, "--format", "json", *RESULTS))

    assert answer[0]["copies"] == answer[0]["pruned"] > 0


def test_a_samples_fate_names_its_copies(copied):
    (pair, *_) = rows(copied, "tables/copies_pairs")

    name = f"{pair['test_shard']}:{pair['test_row']}"

    told = copied.clipaudit("sample", "val", name, *RESULTS)

    assert "A test image that the training data has a copy of" in told


def test_a_samples_page_shows_its_copies(copied):
    (pair, *_) = rows(copied, "figures/copies_of_val")
    copy = f"web {pair['shard']}:{pair['row']} ({pair['kind']}"

    pages = (copied.results / "report/samples").glob("val-*.html")
    shown = [page.read_text() for page in pages if copy in page.read_text()]
    copied.clipaudit(
        "sample", "val", f"{pair['other_shard']}:{pair['other_row']}", *RESULTS,
        "--output", "sample.html",
    )  # fmt: skip

    assert any(page.count("<img src=") >= 2 for page in shown)
    assert (copied.folder / "sample.html").read_text().count('src="data:image/') >= 2


@pytest.mark.long
def test_parts_and_cores_do_not_change_any_table(copied, tmp_path):
    folder = tmp_path / "project"
    shutil.copytree(copied.folder, folder, symlinks=True)
    project = Project(folder)
    shutil.rmtree(project.store)
    shutil.rmtree(project.results)
    project.edit(SETTINGS, "shards_per_part: 2", "shards_per_part: 3")

    project.run("--cores", "1", config=SETTINGS, target="all_tables")

    for path, digest in project.digests().items():
        if path.startswith("tables/"):
            assert copied.digests()[path] == digest, path


def test_a_search_of_a_sample_of_training_images_is_reported_as_sampled(copied, tmp_path):
    project = Project(shutil.copytree(copied.folder, tmp_path / "project", symlinks=True))
    project.edit(SETTINGS, "train: web", "train: web\n  sample: 60")

    project.run(config=SETTINGS, target="results_micro/tables/copies_summary.json")

    (summary,), (whole,) = (rows(each, "tables/copies_summary") for each in (project, copied))
    assert summary["searched"] == 60
    assert 0 < summary["with_copy"] < whole["with_copy"]
    assert summary["is_sampled"]


def test_an_encoder_proposes_candidates_too(project):
    project.edit(
        "config/micro.yaml",
        "similarity:\n",
        "copies:\n  train: large\n  test_sets: [val]\n  distance: 0\n"
        "  encoders: [own]\n  similarity: {own: 0.999998}\nsimilarity:\n",
    )

    project.run(target="results_micro/copies/val/large/00000.json")

    pairs = rows(project, "copies/val/large/00000")
    assert {pair["encoder"] for pair in pairs if pair["distance"] is None} == {"own"}


def test_prunings_of_the_similarity_audit_can_start_without_repeats(project):
    project.edit(
        "config/micro.yaml",
        "similarity:\n",
        "copies: {train: large, calibration: {images: 6}}\nsimilarity:\n  base: without-repeats\n",
    )
    project.edit("config/micro.yaml", "large-deduplicated", "large-without-repeats")
    base, pruned = (
        f"manifests/large/{name}/00000"
        for name in ("without-repeats", "without-repeats.val-pruned")
    )

    project.run(target=f"results_micro/{base}.json results_micro/{pruned}.json")

    every = {(row["shard"], row["row"]) for row in rows(project, base)}
    unrepeated, unlike = (
        {(row["shard"], row["row"]) for row in rows(project, name) if row["kept"]}
        for name in (base, pruned)
    )
    assert unlike < unrepeated < every
