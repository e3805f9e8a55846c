"""`clipaudit answers` after a real run."""

import json
import shutil

import pyarrow.parquet as pq
import pytest
from microproject import Project

SETTINGS = "config/micro_copies.yaml"


def summary(project):
    (row,) = pq.read_table(project.results / "tables/copies_summary.parquet").to_pylist()
    return row


def test_the_answer_of_a_run_has_the_number_of_its_table(copied):
    said = copied.clipaudit("answers", SETTINGS)

    assert said.startswith("web: ")
    assert f"Copies      Yes: {summary(copied)['with_copy']} of 24 images of val" in said


def test_the_answer_as_json_has_the_rows_of_the_cited_tables(copied):
    told = json.loads(copied.clipaudit("answers", SETTINGS, "--format", "json"))

    page = (copied.results / "report/index.html").read_text()
    assert told["tables"]["copies_summary"][0]["with_copy"] == summary(copied)["with_copy"]
    assert told["audits"]["copies"]["question"] in page


def test_in_the_folder_of_an_audit_its_settings_are_the_default(copied, tmp_path):
    for path in copied.folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    shutil.copyfile(copied.folder / SETTINGS, tmp_path / "settings.yaml")

    assert Project(tmp_path).clipaudit("answers") == copied.clipaudit("answers", SETTINGS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"extends: {SETTINGS}\nresults: gone\n", "gone/tables: no table of the copies audit. `cl"),
        (None, "mine.yaml: cannot be read (No such file or directory). Name a YAML file."),
    ],
)
def test_an_unfinished_run_and_missing_settings_are_one_message(copied, tmp_path, content, message):
    if content:
        (tmp_path / "mine.yaml").write_text(content)

    said = copied.clipaudit("answers", str(tmp_path / "mine.yaml"), ok=False)

    assert message in said
    assert len(said.splitlines()) == 1


def test_tables_that_only_earlier_settings_asked_for_are_not_answered(copied, tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text(f"extends: {SETTINGS}\ncopies: {{test_sets: []}}\n")

    said = copied.clipaudit("answers", str(mine))

    assert "Copies      No test set is named, so only repeats were searched for." in said


def test_images_and_shards_are_counted_as_the_last_run_read_them(copied, tmp_path):
    mine = tmp_path / "mine.yaml"
    shards = "data/micro_copies/web/{00000..00001}.tar"
    mine.write_text(f"extends: {SETTINGS}\ncorpora: {{web: {{shards: '{shards}'}}}}\n")

    assert copied.clipaudit("answers", str(mine)) == copied.clipaudit("answers", SETTINGS)


def test_results_of_corpora_that_the_settings_lack_are_refused(copied, tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "results: results_micro\nstore: store_micro\ncopies: {train: web, test_sets: []}\n"
        "corpora: {web: {shards: data/micro_copies/web/00000.tar, captions: text}}\n"
    )

    said = copied.clipaudit("answers", str(mine), ok=False)

    assert "results_micro: the last run read val, and these settings have only web." in said
    assert len(said.splitlines()) == 1


def test_a_table_that_the_store_lacks_is_one_message(copied, tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text(f"extends: {SETTINGS}\nstore: moved\n")

    said = copied.clipaudit("answers", str(mine), ok=False)

    assert "the object is missing. `clipaudit verify --repair --configfile SETTINGS` comp" in said
    assert len(said.splitlines()) == 1
