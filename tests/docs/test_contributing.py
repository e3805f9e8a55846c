"""The diffs of CONTRIBUTING.md apply, pass the checks, and do what the page says."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from microproject import Project, copy_project
from pagecommands import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
DIFFS = re.findall(r"^```diff (\w+)\.diff$", PAGE, re.MULTILINE)
(APPLY,) = re.findall(r"^ +(sed .* \| git apply)$", PAGE, re.MULTILINE)
(SETTINGS,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
TARGETS = sorted(set(re.findall(r"clipaudit run \S+ (results_micro/[\w/.]+\.json)", PAGE)))
NEW_MODULES = re.findall(r"^\+\+\+ b/(clipaudit/\S+)\.py", PAGE, re.MULTILINE)
NEW_TESTS = re.findall(r"^\+\+\+ b/(tests/\S+)", PAGE, re.MULTILINE)
BESIDE = ["tests", "docs", "benchmarks", "snakemake_logger_plugin_clipaudit"]
CHECKS = [
    "ruff check .",
    "ruff format --check .",
    pytest.param("mypy", marks=pytest.mark.slow),
    "lint-imports --no-cache",
    "snakefmt --check Snakefile rules",
    "snakemake --lint",
]
PAGES = ["tests/test_architecture.py", "tests/test_rooms.py", "tests/docs/test_drawings.py"]


def clone(folder):
    """A copy of the project with its tests and pages."""
    project = copy_project(folder)
    for name in BESIDE:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("CONTRIBUTING.md", "pyproject.toml"):
        shutil.copyfile(ROOT / name, folder / name)
    return project


def apply(project, name, *options):
    """The page's own command, with the name of a diff."""
    command = " ".join([APPLY.replace("table.diff", f"{name}.diff"), *options])
    subprocess.run(command, shell=True, cwd=project.folder, check=True)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A clone without a change; for reading only."""
    return clone(tmp_path_factory.mktemp("contributing") / "fresh")


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A clone with all diffs, and with what the page asks for beside them."""
    project = clone(tmp_path_factory.mktemp("contributing") / "changed")
    for name in DIFFS:
        apply(project, name)
    asked = ["-q", "--noconftest", "tests/test_architecture.py"]  # which needs no torch
    said = project.python("-m", "pytest", *asked, ok=False)
    with (project.folder / "docs/architecture.md").open("a") as page:
        page.writelines(f"{line}\n" for line in re.findall(r"^E +(- `clipaudit/.*)", said, re.M))
    project.python("-m", "clipaudit.cli.pages")
    return project


@pytest.fixture(scope="module")
def made(changed):
    """The results of the page's targets, and of a corpus that the new importer wrote."""
    folder = changed.folder
    (folder / "cc3m").mkdir()
    (folder / "cc3m/train.tsv").write_text("a red dog\thttp://a.org/1\na cat\thttp://a.org/2\n")
    changed.clipaudit("import", "conceptual", "cc3m", "--name", "cc", "--output", "settings.yaml")
    block = (folder / "settings.yaml").read_text()
    (folder / "lengths.yaml").write_text(block + SETTINGS.replace("[web]", "[web, cc]"))
    changed.clipaudit("run", "lengths.yaml", *TARGETS)
    (folder / "alone.yaml").write_text("extends: lengths.yaml\ncopies:\n")
    changed.clipaudit("run", "alone.yaml", "results_micro/audit.duckdb")
    return changed


def rows(project, path):
    return pq.read_table(project.results / f"{path}.parquet").to_pylist()


@pytest.mark.parametrize("name", ["table", "figure", "importer", "audit"])
def test_each_diff_alone_applies_to_a_fresh_clone(fresh, name):
    assert name in DIFFS
    apply(fresh, name, "--check")


@pytest.mark.parametrize("check", CHECKS)
def test_all_diffs_together_pass_the_checks(changed, check):
    program, *arguments = check.split()

    done = subprocess.run(
        [Path(sys.executable).with_name(program), *arguments],
        cwd=changed.folder,
        env=changed.environment(),
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_each_module_of_the_diffs_imports_what_exists(changed):
    imported = ", ".join(NEW_MODULES).replace("/", ".")

    assert changed.python("-c", f"import {imported}; print('imported')") == "imported\n"


def test_the_tests_of_the_diffs_pass_with_those_of_pages_and_rooms(changed, tmp_path):
    own = f"--basetemp={tmp_path}/t"  # else pytest deletes what its former runs left in /tmp first
    said = changed.python("-m", "pytest", "-q", own, *NEW_TESTS, *PAGES)

    assert len(NEW_TESTS) == len(DIFFS)
    assert "passed" in said


def test_the_generated_pages_have_the_new_setting_and_the_new_command(changed):
    assert "## lengths" in (changed.folder / "docs/settings.md").read_text()
    assert "import conceptual" in (changed.folder / "docs/commands/import.md").read_text()


def test_the_new_table_has_the_sides_of_the_drawn_images(made):
    found = rows(made, "tables/copies_sizes")

    sides = ["smallest", "middle", "largest"]
    assert [(row["corpus_title"], row["images"]) for row in found] == [("web", 192), ("val", 24)]
    assert {row[side] for row in found for side in sides} == {64}
    assert "| web    |    192 |" in (made.results / "tables/copies_sizes.md").read_text()


def test_the_new_figure_is_drawn_from_its_medians(made):
    assert [(row["row_title"], row["value"]) for row in rows(made, "figures/copies_sides")] == [
        ("web", 64.0),
        ("val", 64.0),
    ]
    assert "<svg" in (made.results / "figures/copies_sides.svg").read_text()


def test_the_new_audit_counts_the_captions_that_the_new_importer_wrote(made):
    web, cc = rows(made, "tables/lengths_summary")

    counted = [
        row for part in ("00000", "00001") for row in rows(made, f"caption_words/web/{part}")
    ]
    assert web["captions"] == len(counted) == 192
    assert web["mean"] == pytest.approx(sum(row["words"] for row in counted) / 192)
    assert (cc["captions"], cc["mean"], cc["longest"]) == (2, 2.5, 3)


def test_the_new_audit_answers_in_the_terminal_and_knows_a_sample(made):
    assert "Captions of web have" in made.clipaudit("answers", "alone.yaml")
    told = made.clipaudit("sample", "cc", "0:1", "--results", "results_micro")
    assert "Its caption has 2 words." in told


def test_the_new_audit_refuses_a_corpus_without_captions(made):
    settings = (made.folder / "alone.yaml").read_text()
    (made.folder / "none.yaml").write_text(f"{settings}corpora: {{cc: {{captions: none}}}}\n")

    said = made.clipaudit("plan", "--configfile", "none.yaml", ok=False)

    assert "lengths.corpora: cc has `captions: none`; name another corpus" in said
    assert "Traceback" not in said


def test_a_changed_query_runs_only_the_jobs_that_depend_on_it(made, tmp_path):
    project = Project(shutil.copytree(made.folder, tmp_path / "edited", symlinks=True))
    before = project.computed()
    project.edit("clipaudit/copies/reports/sql/copies_sizes.sql", "count(*)", "2 * count(*)")

    project.clipaudit("run", "lengths.yaml", *TARGETS)

    assert project.computed_steps(before) == ["draw_table", "report_table"]
