"""From stored embeddings on, the division and the hardware of a run do not change its results."""

import json
import shutil

import pytest

WEB = "large-deduplicated"


def forget(project, step):
    """Remove the stored actions of a step so that it is computed again."""
    for record in (project.store / "lineage").glob("??/*/*.json"):
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
@pytest.mark.slow  # tests/neighbors compares the searches themselves
def test_backend_block_size_and_threads_do_not_change_results(project, options):
    before, digests = project.computed(), project.digests()
    forget(project, "nearest")
    shutil.rmtree(project.results)

    project.run(*options)

    assert project.computed_steps(before) == ["nearest"] * 3
    assert project.digests() == digests


def without_parts(project):
    return {path: digest for path, digest in project.digests().items() if "/large/" not in path}


@pytest.mark.long
def test_larger_parts_do_not_change_results(finished, project):
    merged = ["neighbors/own/large.json", f"sealed/{WEB}-and-small.json"]
    project.edit("config/micro.yaml", "shards_per_part: 2", "shards_per_part: 4")

    project.run(target=" ".join(f"results_micro/{path}" for path in merged))

    whole = without_parts(project)
    assert whole == without_parts(finished)
    assert set(merged) <= set(whole)


@pytest.mark.slow
def test_pointers_of_smaller_parts_remain_but_enter_no_catalog(finished, project):
    count = (
        "select count(*) as n, count(distinct part) as parts from samples where corpus = 'large'"
    )
    project.edit("config/micro.yaml", "shards_per_part: 2", "shards_per_part: 4")

    project.run()

    assert without_parts(project) == without_parts(finished)
    assert (project.results / "samples/large/00001.json").exists()
    output = project.clipaudit("sql", "--results", "results_micro", "--format", "csv", count)
    assert output.splitlines() == ["n,parts", "128,1"]


@pytest.mark.slow
def test_smaller_parts_do_not_change_results(finished, project):
    project.edit("config/micro.yaml", "shards_per_part: 2", "shards_per_part: 1")

    project.run()

    assert without_parts(project) == without_parts(finished)
