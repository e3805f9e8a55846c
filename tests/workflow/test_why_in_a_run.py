"""`why` over a finished run: from a table cell to shards, also in a copy without objects."""

import json
import shutil

import pytest

FLAGS = ("--results", "results_micro", "--store", "store_micro", "--seconds", "20")
CELL = "dataset = 'sketch-pruned' and testset = 'val'"


def why(project, *arguments, **options):
    return project.clipaudit("why", *arguments, *FLAGS, **options)


def answered(project, *arguments):
    return json.loads(why(project, *arguments, "--format", "json"))


def paths(answer, name):
    """Return what the table's action read from one input, as far as it contributed."""
    root = answer["table"]["action"]
    edges = [edge for edge in answer["edges"] if (edge["to"], edge["input"]) == (root, name)]
    return [edge["path"].removeprefix(f"results_micro/{name}/") for edge in edges]


def test_why_leads_from_a_row_to_shards_settings_and_code(finished):
    output = why(finished, "similarity_table1", "--where", CELL, "--all")

    assert "dataset=sketch-pruned" in output.splitlines()[0]
    for step in ("report_table", "evaluate", "train", "seal", "gap", "nearest", "embed", "index"):
        assert f"| {step}  action " in output
    assert "data/micro/large/00003.tar" in output
    assert "recipe.learning_rate = 0.001" in output
    assert output.count("code ") > 8


def test_why_shows_the_recorded_sql(finished):
    answer = answered(finished, "similarity_table1", "--where", CELL)

    assert answer["sql"]["origin"] == "recorded when it ran"
    assert answer["sql"]["text"].startswith("-- Zero-shot accuracy")


def test_an_accuracy_comes_from_one_file_of_predictions(finished):
    answer = answered(finished, "similarity_table1", "--where", CELL, "--column", "accuracy")

    assert answer["verified"]
    assert paths(answer, "predictions") == [
        "brief/large-deduplicated-and-small.sketch-pruned/val.json"
    ]


def test_a_relative_change_also_comes_from_the_baselines_predictions(finished):
    answer = answered(finished, "similarity_table1", "--where", CELL, "--column", "relative_change")

    assert answer["verified"]
    assert sorted(paths(answer, "predictions")) == [
        "brief/large-deduplicated-and-small.sketch-pruned/val.json",
        "brief/large-deduplicated-and-small/val.json",
    ]


def test_code_digests_are_resolved_into_modules_on_request(finished):
    output = why(finished, "similarity_table1", "--where", CELL, "--code", "--all")

    assert "| of module clipaudit.reports.tables " in output
    assert "| of script gap.py " in output


@pytest.mark.parametrize("form", ["text", "json", "mermaid"])
def test_a_copy_without_objects_has_the_tree(project, form):
    for name in ("objects", "actions", "files"):
        shutil.rmtree(project.store / name, ignore_errors=True)

    output = why(project, "similarity_table1", "--where", CELL, "--format", form, "--all")

    assert "data/micro/large/00000.tar" in output
    assert ("The objects are not here" in output) == (form != "mermaid")


def test_why_names_the_columns_if_no_row_matches(finished):
    output = why(finished, "similarity_table1", "--where", "dataset = 'x'", ok=False)

    assert "no row satisfies dataset = 'x'. Its columns: position, dataset" in output


def test_results_without_their_lineage_say_so(project):
    shutil.rmtree(project.store / "lineage")

    assert "no lineage record of action" in why(project, "similarity_table1", ok=False)
