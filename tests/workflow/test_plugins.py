"""The package that docs/plugins.md shows, in runs of the micro world."""

import os
import shutil

import pyarrow.parquet as pq
import pytest
from examplepackage import install
from microproject import Project

COLOURS = "config/micro_colours.yaml"
ONE_AUDIT = "extends: config/micro_copies.yaml\ncopies:\ncolours: {corpora: [web, val]}\n"
NEIGHBORS = "results_micro/neighbors/colours/small.json"
SHADES = "parrot:\n  spotting: {spotter: shades, options: {word: bright}}\n"
LIGHTS = "annotator: lights"


class WithPackage(Project):
    """A project that finds the example package in its folder `site`."""

    def environment(self):
        path = os.pathsep.join([str(self.folder), str(self.folder / "site")])
        return {**super().environment(), "PYTHONPATH": path}


@pytest.fixture(scope="session")
def finished(made_once):
    """Return a project with neighbours by the package's encoder; for reading only."""

    def prepare(project):
        install(project.folder / "site")
        colours = "  colours: {plugin: colours, options: {bins: 4}}\n"
        project.edit("config/micro.yaml", "encoders:\n", f"encoders:\n{colours}")
        project.edit("config/micro.yaml", "  encoder: own\n", "  encoder: colours\n")

    return made_once("plugged", kind=WithPackage, prepare=prepare, target=NEIGHBORS)


@pytest.fixture(scope="session")
def audited(made_once):
    """Return a project with the report of the package's audit; for reading only."""

    def prepare(project):
        install(project.folder / "site")
        (project.folder / COLOURS).write_text(ONE_AUDIT)

    target = "all_tables all_figures report"
    return made_once("audited", kind=WithPackage, prepare=prepare, config=COLOURS, target=target)


@pytest.fixture
def audit(audited, tmp_path):
    """Return a copy of it for a test to change."""
    shutil.copytree(audited.folder, tmp_path / "audit", symlinks=True)
    return WithPackage(tmp_path / "audit")


@pytest.fixture
def project(finished, tmp_path):
    """Return a copy of it for a test to change."""
    shutil.copytree(finished.folder, tmp_path / "project", symlinks=True)
    return WithPackage(tmp_path / "project")


def steps_of_another_version(project, **asked):
    """Return the steps that run again with another version of the package."""
    before = project.computed()
    install(project.folder / "site", version="1.1")
    project.run(**asked)
    return project.computed_steps(before)


def test_an_encoder_of_another_package_finds_neighbours(finished):
    embedded = pq.read_table(finished.results / "embeddings/colours/small/00000.parquet")
    assert embedded.schema.metadata[b"dimension"] == b"64"
    assert pq.read_table(finished.results / "neighbors/colours/small.parquet").num_rows > 0


@pytest.mark.long
def test_another_version_of_the_package_embeds_again_and_nothing_else(project):
    assert set(steps_of_another_version(project, target=NEIGHBORS)) == {"embed"}


@pytest.mark.long
def test_edited_code_of_the_package_embeds_again(project):
    before = project.computed()
    project.edit("site/colourtools/encoder.py", "self.bins // 256", "self.bins // 257")

    project.run(target=NEIGHBORS)

    assert "embed" in project.computed_steps(before)


@pytest.mark.long
def test_a_broken_plugin_is_one_message_without_a_traceback(project):
    install(project.folder / "site", encoder="import nowhere")

    output = project.run(target=NEIGHBORS, ok=False)

    assert "colourtools.encoder:Colours of colourtools 1.0) failed while importing it" in output
    assert "Traceback" not in output


def test_a_plugin_that_is_not_installed_stops_before_the_first_job(project):
    shutil.rmtree(project.folder / "site")

    output = project.run(target=NEIGHBORS, ok=False)

    assert "encoders.colours.plugin: 'colours' is not a plug-in of clipaudit.encoders" in output
    assert "rule" not in output


@pytest.mark.long
def test_candidates_for_copies_come_from_the_encoder(project):
    colours = "\nencoders: {colours: {plugin: colours}}\n\ncopies:\n  encoders: [colours]\n"
    project.edit("config/micro_copies.yaml", "\ncopies:\n", colours)
    thresholds = "calibration/colours/thresholds"

    project.run(config="config/micro_copies.yaml", target=f"results_micro/{thresholds}.json")

    assert pq.read_table(project.results / f"{thresholds}.parquet").num_rows > 0


@pytest.mark.long
def test_a_spotter_of_the_package_reads_images_and_a_new_version_reads_them_again(project):
    spans = "spans/posters/00000"
    asked = {"config": "config/micro_parrot.yaml", "target": f"results_micro/{spans}.json"}
    project.edit(asked["config"], "parrot:\n", SHADES)

    project.run(**asked)

    found = pq.read_table(project.results / f"{spans}.parquet")["spans"].to_pylist()
    assert {span["text"] for row in found for span in row} == {"bright"}
    assert steps_of_another_version(project, **asked) == ["spot"]


@pytest.mark.long
def test_an_annotator_of_the_package_finds_objects_and_a_new_version_finds_them_again(project):
    objects = "objects/scenes/00000"
    asked = {"config": "config/micro_memorization.yaml", "target": f"results_micro/{objects}.json"}
    project.edit(asked["config"], "annotator: dataset", LIGHTS)

    project.run(**asked)

    found = pq.read_table(project.results / f"{objects}.parquet")
    assert all(len(labels) == 1 for labels in found["labels"].to_pylist())
    assert steps_of_another_version(project, **asked) == ["detect"]


def test_an_audit_of_another_package_has_its_table_with_intervals(audited):
    rows = pq.read_table(audited.results / "tables/colours_summary.parquet").to_pylist()

    assert [(row["corpus_title"], row["images"]) for row in rows] == [("web", 192), ("val", 24)]
    assert all(0 < row["mean_low"] < row["mean"] < row["mean_high"] < 1 for row in rows)


def test_a_plugins_figure_has_a_table_of_the_same_means_and_is_drawn(audited):
    means = pq.read_table(audited.results / "figures/colours_means.parquet").to_pylist()
    rows = pq.read_table(audited.results / "tables/colours_summary.parquet").to_pylist()

    assert [row["row_title"] for row in means] == ["web", "val"]
    for name in ("low", "value", "high"):
        stated = [row["mean" if name == "value" else f"mean_{name}"] for row in rows]
        assert [row[name] for row in means] == pytest.approx(stated)
    assert "<svg" in (audited.results / "figures/colours_means.svg").read_text()


def test_a_plugins_gallery_shows_the_lightest_images(audited):
    shown = pq.read_table(audited.results / "figures/colours_lightest.parquet").to_pylist()
    for corpus in ("web", "val"):
        parts = sorted((audited.results / f"colours_brightness/{corpus}").glob("*.parquet"))
        measured = [each for part in parts for each in pq.read_table(part).to_pylist()]
        measured.sort(key=lambda row: (-row["brightness"], row["shard"], row["row"]))

        expected = [{"corpus": corpus, **row} for row in measured[:4]]
        assert [row for row in shown if row["corpus"] == corpus] == expected
    drawn = (audited.results / "figures/colours_lightest.svg").read_text()
    assert drawn.count("<image") == len(shown) == 8


def test_the_report_has_a_plugins_figure_gallery_and_sample_pages(audited):
    report = audited.results / "report"
    pages = [path.read_text() for path in (report / "samples").glob("*.html")]

    assert "colours_means" in (report / "figures.html").read_text()
    assert "colours_lightest" in (report / "galleries.html").read_text()
    assert [("<h2>Colours</h2>" in page, "brightness" in page) for page in pages] == [
        (True,) * 2
    ] * 8


def test_a_plugins_gallery_shows_uids_where_images_may_not_be_shown(audit):
    audit.edit(COLOURS, "copies:\n", "copies:\nreport: {pictures: false}\n")

    audit.run(config=COLOURS, target="results_micro/figures/colours_lightest.json")

    assert "<image" not in (audit.results / "figures/colours_lightest.svg").read_text()
    assert "Images are not shown" in (audit.results / "figures/colours_lightest.md").read_text()


def test_a_plugins_answer_is_on_the_first_page_and_in_the_terminal(audited):
    for shown in (
        audited.clipaudit("answers", COLOURS),
        (audited.results / "report/index.html").read_text(),
    ):
        assert "web: mean brightness" in shown
    assert "colours" in shown


def test_a_second_run_of_a_plugins_audit_has_nothing_to_do(audited):
    assert "Nothing to be done" in audited.run(config=COLOURS, target="all_tables report")
    planned = audited.clipaudit("plan", "--configfile", COLOURS, "all_tables")
    assert planned == "up to date: 14 jobs\n"


def test_an_edited_script_of_a_plugin_reruns_only_its_jobs(audit):
    before = audit.computed()
    script = "site/colourtools/colours/workflow_scripts/colours_brightness.py"
    audit.edit(script, "strict=True", "strict=False")

    audit.run(config=COLOURS, target="all_tables")

    assert audit.computed_steps(before) == ["colours_brightness"] * 3


def test_another_version_of_a_plugin_reruns_all_its_jobs_and_no_other(audit):
    before = audit.computed()
    install(audit.folder / "site", version="1.1")

    audit.run(config=COLOURS, target="all_tables")

    again = ["colours_brightness"] * 3 + ["draw_table", "report_table"]
    assert audit.computed_steps(before) == again


def test_why_leads_from_a_plugins_table_to_the_shards(audited):
    folders = ("--results", "results_micro", "--store", "store_micro")
    asked = ("--where", "corpus_title = 'val'", "--depth", "9", *folders)
    told = audited.clipaudit("why", "colours_summary", *asked)

    assert "colours_brightness" in told
    assert "data/micro_copies/val/00000.tar" in told
    assert "data/micro_copies/web" not in told


def test_a_samples_fate_includes_a_plugins_findings(audited):
    told = audited.clipaudit("sample", "val", "0:0", "--results", "results_micro")

    assert "Its brightness is 0." in told


def test_a_section_without_its_package_is_one_message(audit):
    shutil.rmtree(audit.folder / "site")

    output = audit.run(config=COLOURS, target="all_tables", ok=False)

    assert "colours is not a setting. If it is an audit's section, install" in output
    assert "Traceback" not in output
