"""A test set with its own labels, and one with labels that are not among its classes."""

import pyarrow.parquet as pq
import pytest

SPLIT = (
    '  merged: {of: sketch, where: "true", label: label // 2, captions: none, labels: pairs, '
    'label_map: {to: symbols, classes: ["1; 0", 2; 3, 4; 5]}}\n'
)


def add_merged(project, names):
    """Add a test set in which each label stands for two classes, like ObjectNet."""
    (project.folder / "pairs.txt").write_text(names)
    project.edit("config/micro.yaml", "\narchitectures:", f"{SPLIT}\narchitectures:")
    project.edit(
        "config/micro.yaml", "label_sets:\n", "label_sets:\n  pairs: {classes: pairs.txt}\n"
    )
    project.edit(
        "config/micro.yaml", "test_sets: [val, sketch]", "test_sets: [val, sketch, merged]"
    )


def predictions(project, model, test_set):
    return pq.read_table(project.results / f"predictions/{model}/{test_set}.parquet")


@pytest.mark.long
def test_a_classifier_is_tested_on_the_classes_that_the_labels_stand_for(fresh):
    add_merged(fresh, "one\ntwo\nthree\n")
    model = "brief-resnet/small"

    fresh.run(target=f"results_micro/predictions/{model}/merged.json")

    mapped, whole = (predictions(fresh, model, each) for each in ("merged", "sketch"))
    ranked = [list(dict.fromkeys(each // 2 for each in top)) for top in whole["top"].to_pylist()]
    right = [label // 2 for label in whole["label"].to_pylist()]
    assert mapped["top"].to_pylist() == ranked
    assert mapped["label"].to_pylist() == right
    assert mapped["right_rank"].to_pylist() == list(map(list.index, ranked, right))


@pytest.mark.long
def test_an_invalid_label_is_one_error_before_any_training(fresh):
    shards = [f"data/micro/{name}/00000.tar" for name in ("small", "val", "sketch")]
    fresh.run(target=" ".join(shards))
    (fresh.folder / "two.txt").write_text("one\ntwo\n")
    fresh.edit("config/micro.yaml", "label_sets:\n", "label_sets:\n  two: {classes: two.txt}\n")
    fresh.edit("config/micro.yaml", "sketch/00000.tar, captions: none, labels: symbols",
               "sketch/00000.tar, captions: none, labels: two")  # fmt: skip

    output = fresh.run(ok=False)

    assert (
        "clipaudit: index: sketch: 16 samples have a label that is not one of its 2 classes"
        in output
    )
    assert "label_map" in output
    assert not (fresh.results / "models").exists()
