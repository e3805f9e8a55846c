"""From stored embeddings on, how a run is cut and computed leaves no trace in what it gives."""

import json
import shutil

import pytest

WEB = "large-deduplicated"


def forget(project, step):
    """Forget what the actions of a step gave, so that it is computed again."""
    for record in (project.store / "lineage").rglob("*.json"):
        content = json.loads(record.read_text())
        if content["ingredients"]["step"] == step:
            key = content["action"]
            (project.store / "actions" / key[:2] / f"{key[2:]}.json").unlink(missing_ok=True)


@pytest.mark.parametrize(
    "options",
    [
        ("--set-resources", "nearest:backend=numpy"),
        ("--set-resources", "nearest:backend=torch"),
        ("--set-resources", "nearest:block_rows=7"),
        ("--set-threads", "nearest=2"),
    ],
    ids=lambda options: options[1],
)
@pytest.mark.slow  # the searches themselves are compared in tests/neighbors
def test_backend_block_size_and_threads_leave_no_trace(project, options):
    before, digests = project.computed(), project.digests()
    forget(project, "nearest")
    shutil.rmtree(project.results)

    project.run(*options)

    assert project.computed_steps(before) == ["nearest"] * 3
    assert project.digests() == digests


@pytest.mark.parametrize("shards", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_the_size_of_parts_leaves_no_trace(project, shards):
    digests = project.digests()
    project.edit("config/micro.yaml", "shards_per_part: 2", f"shards_per_part: {shards}")

    project.run()

    whole = {path: digest for path, digest in project.digests().items() if "/large/" not in path}
    assert whole == {path: digest for path, digest in digests.items() if "/large/" not in path}
    assert {"neighbors/own/large.json", f"sealed/{WEB}-and-small.json"} <= set(whole)
