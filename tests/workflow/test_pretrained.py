"""Checkpoints that were not trained here, as rows of the tables."""

import shutil

import pyarrow.parquet as pq
import pytest


@pytest.mark.long
def test_a_checkpoint_from_a_file_is_a_row_of_the_table(project):
    """The file is a model of the workflow, so its accuracies are known."""
    model = project.results / "models/brief/large-deduplicated-and-small.safetensors"
    shutil.copy(model, project.folder / "other.safetensors")
    project.edit(
        "config/micro.yaml",
        "  own: {model: brief/small}\n",
        "  own: {model: brief/small}\n"
        "  other: {architecture: atom, pretrained: other.safetensors, title: a file}\n",
    )
    recipe = "  recipe: brief\n"
    project.edit("config/micro.yaml", recipe, f"{recipe}  pretrained: [other]\n")

    project.run()

    rows = pq.read_table(project.results / "tables/similarity_table1.parquet").to_pylist()
    base = "large, deduplicated + small"
    correct = {(row["dataset"], row["testset"]): row["correct"] for row in rows}
    assert correct["a file", "val"] == correct[base, "val"]
    assert correct["a file", "sketch"] == correct[base, "sketch"]
    assert rows[0]["dataset"] == "a file"
    assert rows[0]["size"] is None
