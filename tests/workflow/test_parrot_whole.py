"""The parrot audit of a micro world with all its tables and figures."""

import itertools
import shutil

import numpy as np
import polars as pl
import pytest
from microproject import Project, read
from parrotworld import ADDRESS, SETTINGS, members, pictures

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.parrot.reports.curated import curated_tables
from clipaudit.parrot.reports.galleries import parrot_galleries
from clipaudit.parrot.reports.inspected_figures import inspected_figures
from clipaudit.parrot.reports.probe_figures import probe_figures
from clipaudit.parrot.reports.profile import profile_tables

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]


def test_every_table_and_figure_is_made(parroted_whole):
    run = parse_settings(read_settings(parroted_whole.folder / SETTINGS))
    tables = [*profile_tables(run), *curated_tables(run)]
    figures = [*inspected_figures(run), *probe_figures(run), *parrot_galleries(run)]

    assert {f"parrot_table{number}" for number in (1, 2, 3, 8, 9, 14)} < set(tables)
    for folder, names, kinds in (
        ("tables", tables, ("parquet", "csv", "md", "tex")),
        ("figures", figures, ("parquet", "csv", "md", "svg", "png")),
    ):
        for name, kind in itertools.product(names, kinds):
            assert (parroted_whole.results / folder / f"{name}.{kind}").stat().st_size > 0
    assert "Nothing to be done" in parroted_whole.run(config=SETTINGS)


def test_table_2_has_sizes_mean_scores_and_model_accuracies(parroted_whole):
    scores = read(parroted_whole, "caption_scores/own/posters/*").select(*ADDRESS, "raw")
    raw = {(shard, row): score for shard, row, score in scores.iter_rows()}
    rows = read(parroted_whole, "tables/parrot_table2").filter("in_grid")

    assert set(rows["curated"]) >= {"random-8", "without-text-8", "with-text-10"}
    for row in rows.iter_rows(named=True):
        kept = members(parroted_whole, row["curated"])
        results = read(parroted_whole, f"task_results/{row['encoder']}")
        imagenet, retrieval = (results.filter(task=name)["value"] for name in ("val", "album"))
        ranks = read(parroted_whole, f"pair_ranks/{row['encoder']}/album")
        recalls = ranks.group_by("direction").agg((pl.col("rank") == 0).mean())["rank"]

        assert row["samples"] == len(kept) == int(row["curated"].rpartition("-")[2])
        assert row["avg_score"] == pytest.approx(np.mean([raw[at] for at in kept]), abs=1e-12)
        assert row["imagenet"] == imagenet.item()
        assert row["retrieval"] == retrieval.item() == pytest.approx(recalls.mean(), abs=1e-15)
        assert row["average"] == pytest.approx(results["value"].mean(), abs=1e-12)


def test_table_14_lists_the_parroting_captions_with_the_highest_scores(parroted_whole):
    found = []
    for corpus in ("posters", "notices"):
        scores = read(parroted_whole, f"caption_scores/own/{corpus}/*")
        rows = pictures(parroted_whole, corpus).join(scores, on=ADDRESS, maintain_order="left")
        found.append(rows.filter(pl.col("words_co").list.len() > 0))
    best = pl.concat(found).sort("raw", descending=True, nulls_last=True, maintain_order=True)

    table = read(parroted_whole, "tables/parrot_table14")

    assert len(table) > 5
    assert table["caption"].to_list() == best["caption"].head(len(table)).to_list()
    for words, listed in zip(best["words_co"], table["co_words"], strict=False):
        assert set(words) == set(listed.split())


def test_other_parts_give_the_same_sets_and_tables(parroted_whole, tmp_path):
    project = Project(tmp_path / "project")
    shutil.copytree(parroted_whole.folder, project.folder, symlinks=True)
    folders = ("curation_cuts", "vocabularies", "tables")
    before = {path: it for path, it in project.digests().items() if path.startswith(folders)}
    matches = read(project, "matches/posters/*")
    project.edit(SETTINGS, "shards_per_part: 2", "shards_per_part: 1")

    project.run(config=SETTINGS, target="all_tables")

    after = project.digests()
    assert {path: after[path] for path in before} == before
    assert len(list(project.results.glob("matches/posters/*.parquet"))) == 3
    assert read(project, "matches/posters/*").equals(matches)
