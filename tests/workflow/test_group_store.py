"""A store shared by a group: others take what one has computed, and change nothing in it."""

import json
import shutil

import pytest
from microproject import copy_project

TABLE = "results_micro/tables/similarity_gap_check.json"
SAMPLES = "results_micro/samples/large/00000.json"


def use_group_store(project, group, **settings):
    section = json.dumps({"path": str(group), **settings})
    project.edit(
        "config/micro.yaml", "store: store_micro", f"store: store_micro\nshared_store: {section}"
    )


def executions(store):
    """Return when the recorded executions of a store started."""
    files = (store / "lineage").glob("??/*/*.json")
    return {json.loads(path.read_text())["execution"]["started"] for path in files}


@pytest.fixture
def newcomer(project, tmp_path):
    """Return a project without results, and the store of a group that has computed all of them."""
    group = tmp_path / "group"
    project.store.rename(group)
    shutil.rmtree(project.results)
    use_group_store(project, group)
    return project, group


@pytest.mark.long
def test_a_newcomer_takes_everything_and_computes_nothing(newcomer, finished):
    project, group = newcomer
    before = {path: path.lstat().st_mtime_ns for path in group.rglob("*")}

    plan = project.clipaudit("plan", TABLE, "--configfile", "config/micro.yaml")
    project.run(target=TABLE)

    assert "stored result" in plan
    assert "certain" not in plan
    assert executions(project.store) <= executions(group)
    assert project.digests().items() <= finished.digests().items()
    assert {path: path.lstat().st_mtime_ns for path in group.rglob("*")} == before


def test_nothing_is_taken_from_an_untrusted_writer(newcomer):
    project, group = newcomer
    project.edit("config/micro.yaml", '"path": ', '"trusted_writers": ["nobody-else"], "path": ')

    project.run(target=SAMPLES)

    assert not executions(project.store) & executions(group)


def test_a_computed_result_is_given_to_the_group_with_its_owner(fresh, tmp_path):
    group = tmp_path / "group"
    group.mkdir()
    use_group_store(fresh, group, write=True)

    fresh.run(target=SAMPLES)

    assert executions(group) == executions(fresh.store) != set()
    other = copy_project(tmp_path / "other")
    shutil.copytree(fresh.folder / "data", other.folder / "data")
    use_group_store(other, group)
    other.run(target=SAMPLES)
    assert executions(other.store) <= executions(group)
