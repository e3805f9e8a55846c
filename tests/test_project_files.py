"""The files at the top of the project agree with the code."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

TOP = Path(__file__).parent.parent
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]


def test_the_citation_states_this_version_and_license():
    citation = yaml.safe_load((TOP / "CITATION.cff").read_text())

    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert {each["url"] for each in citation["references"]} <= set(
        re.findall(r"https://arxiv.org/abs/[\d.]+\d", (TOP / "README.md").read_text())
    )


def test_pre_commit_hooks_run_the_programs_of_make_check():
    parts = re.findall(r"^check-.*\n((?:\t.*\n)+)", (TOP / "Makefile").read_text(), re.MULTILINE)
    asked = {line.replace("$(BIN)/", "").strip() for part in parts for line in part.splitlines()}
    (hooks,) = yaml.safe_load((TOP / ".pre-commit-config.yaml").read_text())["repos"]

    entries = {hook["entry"].removeprefix(".venv/bin/") for hook in hooks["hooks"]}

    files = re.compile(r"( \.| Snakefile rules| \*\.md Snakefile .*)$")
    assert entries == {files.sub("", each) for each in asked}


@pytest.mark.parametrize("form", sorted((TOP / ".github/ISSUE_TEMPLATE").glob("[bq]*.yml")))
def test_forms_ask_labelled_questions(form):
    asked = yaml.safe_load(form.read_text())

    assert {"name", "description", "body"} <= asked.keys()
    assert all(each["attributes"]["label"].endswith("?") for each in asked["body"])


@pytest.mark.parametrize("workflow", sorted((TOP / ".github/workflows").glob("*.yml")))
def test_hosted_jobs_call_existing_commands(workflow):
    jobs = yaml.safe_load(workflow.read_text())["jobs"]
    called = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]

    targets = re.findall(r"^([\w-]+):", (TOP / "Makefile").read_text(), re.MULTILINE)
    assert called
    for command in called:
        target = re.fullmatch(r"make (\w+)", command)
        assert (
            target[1] in targets if target else ".ci/run" in command and (TOP / ".ci/run").exists()
        )


def test_the_settings_page_names_every_example():
    text = (TOP / "config/README.md").read_text()

    for path in (TOP / "config").glob("*.yaml"):
        name = "micro*.yaml" if path.stem.startswith("micro") else path.name
        assert f"`{name}`" in text, f"config/README.md does not name {name}"
