"""What reruns after which change: only computations that the change can affect."""

import json
import os
import re
import shutil

import pytest

TABLE = "results_micro/tables/similarity_table1.json"  # of every model of the grid


def test_a_second_run_has_nothing_to_do(project):
    assert "Nothing to be done" in project.run()


def test_comments_and_docstrings_plan_nothing(project):
    for path in (project.folder / "clipaudit").rglob("*.py"):
        text = re.sub(r'\A"""', '"""Reworded. ', path.read_text(), count=1)
        path.write_text(text + "\n# a comment\n")
    for path in (project.folder / "clipaudit").rglob("*.sql"):
        if not path.is_symlink():
            path.write_text("-- a comment\n" + path.read_text())

    assert "Nothing to be done" in project.run("--dry-run")


def test_touching_inputs_computes_nothing(project):
    before, digests = project.computed(), project.digests()
    for path in [*(project.folder / "data").rglob("*.tar"), *project.folder.glob("data/*/*.*")]:
        os.utime(path)

    project.run()

    assert project.computed() == before
    assert project.digests() == digests


@pytest.mark.long
def test_removed_results_are_restored_from_the_store(project):
    before, digests = project.computed(), project.digests()
    shutil.rmtree(project.results)

    project.run(target=TABLE)

    assert project.computed() == before
    assert project.digests().items() <= digests.items()
    assert (project.folder / TABLE).exists()


@pytest.mark.long
def test_changed_gap_code_with_the_same_result_recomputes_only_the_gap(project):
    before, digests = project.computed(), project.digests()
    project.edit(
        "clipaudit/similarity/gap.py",
        "reasons = pa.repeat(reason, len(crossings))",
        "reasons = pa.array([reason] * len(crossings), pa.string())",
    )

    project.run()

    assert project.computed_steps(before) == ["gap"] * 6  # three prunings of two parts
    assert project.digests() == digests


@pytest.mark.long
def test_changed_gap_code_trains_only_the_set_that_it_changes(project):
    """The rule now drops one more sample of each part, only for the sketches."""
    before = project.computed()
    project.edit(
        "clipaudit/similarity/gap.py",
        "    crossings = _largest_crossing(similarities, test_sets, margin)\n",
        "    crossings = _largest_crossing(similarities, test_sets, margin)\n"
        '    if list(test_sets) == ["sketch"]:\n'
        '        crossings = base.filter(base["kept"]).slice(0, 1).select(["shard", "row"])\n',
    )

    project.run(target=TABLE)

    steps = project.computed_steps(before)
    assert [step for step in steps if step in {"train", "evaluate"}] == ["evaluate", "train"]
    assert not {"embed", "nearest", "merge_neighbors", "index"} & set(steps)


@pytest.mark.parametrize(
    ("file", "old", "new", "drawn"),
    [
        (
            "clipaudit/similarity/reports/layouts.py",
            'corner="Threshold"',
            'corner="The threshold"',
            {"draw_table tables/similarity_deduplication"},
        ),
        (
            "clipaudit/reports/forms/histograms.py",
            "@style()\n",
            "@style()\n@(lambda drawn: drawn)\n",
            {
                "draw_figure figures/similarity_fig4",
                "draw_figure figures/similarity_fig11_frame",
                "draw_figure figures/similarity_fig14",
            },
        ),
    ],
)
def test_an_edited_layout_only_redraws_what_uses_it(project, file, old, new, drawn):
    before, digests = project.computed(), project.digests()
    project.edit(file, old, new)

    project.run()

    records = [json.loads(path.read_text()) for path in project.computed() - before]
    assert {f"{each['ingredients']['step']} {place_of(each)}" for each in records} == drawn
    tables = {path for path in digests if path.count(".") == 1}
    assert {path: project.digests()[path] for path in tables} == {
        path: digests[path] for path in tables
    }


def place_of(record):
    (table,) = record["ingredients"]["inputs"]["table"]
    return table["path"].removeprefix("results_micro/").removesuffix(".json")


def test_a_new_shard_embeds_only_its_own_part(project):
    before = project.computed()
    project.edit("config/micro.yaml", "{00000..00003}", "{00000..00004}")

    project.run(target="results_micro/neighbors/own/large.json")

    steps = project.computed_steps(before)
    assert steps.count("index") == 1
    assert steps.count("embed") == 1
    assert steps.count("nearest") == 1


def test_a_new_test_set_is_the_only_one_searched_in_each_part(project):
    before = project.computed()
    project.edit(
        "config/micro.yaml", "test_sets: [val, sketch]", "test_sets: [val, framed, sketch]"
    )

    project.run(target="results_micro/neighbors/own/large.json")

    assert project.computed_steps(before).count("nearest") == 3  # two parts, and the small set
    logs = [path.read_text() for path in (project.folder / "logs/nearest").rglob("*.log")]
    told = "2 of 3 test sets are taken from earlier searches of this part; searched now: framed"
    assert [told in log for log in logs] == [True] * 3
    verified = project.clipaudit("verify", "--results", "results_micro", "--store", "store_micro")
    assert "all as they were written" in verified


@pytest.mark.long
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("test_sets: [val, sketch]", "test_sets: [val, sketch]\n  near_gap: 0.5", {"report_table"}),
        pytest.param(
            "learning_rate: 1.0e-3",
            "learning_rate: 2.0e-3",
            {"train", "evaluate", "embed"},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_settings_that_are_switched_back_come_from_the_store(project, old, new, expected):
    digests, before = project.digests(), project.computed()
    project.edit("config/micro.yaml", old, new)
    project.run()
    assert expected <= set(project.computed_steps(before))

    changed = project.computed()
    project.edit("config/micro.yaml", new, old)
    project.run()

    assert project.computed() == changed
    assert project.digests() == digests


def test_a_missing_object_is_computed_again(project):
    digests, before = project.digests(), project.computed()
    pointer = "manifests/large/deduplicated.sketch-pruned/00000.json"
    digest = digests[pointer]
    (project.store / "objects" / digest[:2] / digest[2:]).unlink()
    (project.results / pointer).unlink()

    project.run(target=f"results_micro/{pointer}")

    assert project.computed_steps(before) == ["gap"]
    assert project.digests() == digests


@pytest.mark.long
def test_a_shorter_training_run_leaves_no_epoch_of_a_longer_one(project):
    model = "results_micro/models/brief/small.json"
    asked = "".join(f"  early{n}: {{model: brief/small, epoch: {n}}}\n" for n in (1, 2))
    project.edit("config/micro.yaml", "epochs: 1", "epochs: 3")
    project.edit("config/micro.yaml", "\nencoders:\n", f"\nencoders:\n{asked}")
    project.run(target=model)
    epochs = project.results / "models/brief/small.epochs"
    assert sorted(path.name for path in epochs.glob("*.json")) == ["0000.json", "0001.json"]

    project.edit("config/micro.yaml", "epochs: 3", "epochs: 2")
    project.run(target=model)

    assert [path.name for path in epochs.glob("*.json")] == ["0000.json"]

    project.edit("config/micro.yaml", asked, "")
    project.run(target=model)

    assert list(epochs.glob("*.json")) == []


@pytest.mark.long
def test_two_manifests_with_the_same_content_are_trained_once(project):
    """One removes half of the samples, one keeps half; both jobs are ready at the same time."""
    before = project.computed()
    names = [f"large-deduplicated.sketch-far-{size}" for size in ("50pct", "core")]

    project.run(target=" ".join(f"results_micro/models/brief/{name}.json" for name in names))

    assert project.computed_steps(before).count("train") == 1
    models = project.digests()
    assert models[f"models/brief/{names[0]}.json"] == models[f"models/brief/{names[1]}.json"]


def test_a_run_removes_the_pointers_of_parts_that_a_corpus_no_longer_has(fresh):
    parts = [f"results_micro/samples/large/{number:05d}.json" for number in range(2)]
    fresh.run(target=" ".join(parts))
    fresh.edit("config/micro.yaml", "shards_per_part: 2", "shards_per_part: 4")

    output = fresh.run(target=parts[0])

    assert "Removed from results_micro: 3 pointers of parts that corpora had before" in output
    left = sorted(path.name for path in (fresh.results / "samples/large").iterdir())
    assert left == ["00000.json", "00000.parquet"]
