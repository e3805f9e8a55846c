"""What a shell is offered: the names that the run in the current folder has."""

import json

import pytest
from catalogcases import make_catalog, sample
from click.shell_completion import ShellComplete
from handmaderun import HandmadeRun

from clipaudit.cli.commands import commands
from clipaudit.store.store import Store, replace_text


def complete(*typed):
    *before, incomplete = typed
    shell = ShellComplete(commands, {}, "clipaudit", "_CLIPAUDIT_COMPLETE")
    return [each.value for each in shell.get_completions(list(before), incomplete)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a table, a figure, two manifests, a sealed one, a corpus and a pin."""
    monkeypatch.chdir(tmp_path)
    run = HandmadeRun(tmp_path, monkeypatch)
    run.act("report_table", {"tables/means.json": ({}, [{"mean": 1.0, "corpus": "a"}])}, {})
    for path in (
        "results/figures/misses.svg.json",
        "results/manifests/large/all/00000.json",
        "results/manifests/large/cut/00000.json",
        "results/sealed/large-cut.json",
        "results/samples/large/00000.json",
        "store/pins/before.json",
        "my.yaml",
    ):
        replace_text(tmp_path / path, json.dumps({}))
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["why", "m"], ["means", "misses"]),
        (["why", "means", "--column", "c"], ["corpus"]),
        (["prov", "--table", "me"], ["means"]),
        (["diff", "--table", "me"], ["means"]),
        (["export", "large"], ["large-cut", "large/all", "large/cut"]),
        (["stream", "large/c"], ["large/cut"]),
        (["sample", "l"], ["large"]),
        (["diff", ""], ["before"]),
        (["pin", "--remove", "b"], ["before"]),
        (["init", "laion400"], ["laion400m"]),
        (["plan", "all_t"], ["all_tables"]),
        (["run", "my"], ["my.yaml"]),
    ],
    ids=lambda each: " ".join(each),
)
def test_names_of_the_run_are_offered(folder, typed, offered):
    assert complete(*typed) == offered


def test_uids_of_the_corpus_are_offered_after_two_digits(tmp_path, monkeypatch):
    first = sample(0, 0)
    rows = ("samples", {"corpus": "large"}, [first, sample(0, 1)])
    monkeypatch.chdir(make_catalog(tmp_path, rows).parent)

    assert first["uid"] in complete("sample", "large", first["uid"][:2])
    assert complete("sample", "large", first["uid"][:1]) == []
    assert complete("sample", "other", first["uid"][:2]) == []


@pytest.mark.parametrize(
    "typed",
    [
        ("why", ""),
        ("why", "x", "--column", ""),
        ("sample", ""),
        ("sample", "a", "ab"),
        ("diff", ""),
    ],
)
def test_nothing_is_offered_without_a_run(tmp_path, monkeypatch, typed):
    monkeypatch.chdir(tmp_path)

    assert complete(*typed) == []


def test_results_elsewhere_are_read_if_they_are_named(folder, monkeypatch, tmp_path_factory):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))

    assert complete("why", "--results", str(folder / "results"), "mea") == ["means"]
    assert complete("diff", "--store", str(Store(folder / "store").root), "") == ["before"]
