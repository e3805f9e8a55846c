import hashlib
import json
import os

import pytest
from exportedrun import two_parts
from rocrate.rocrate import ROCrate

from clipaudit.errors import StoreError
from clipaudit.provenance.crate import PROFILE, write_crate
from clipaudit.provenance.recorded import recorded

REQUIRED = {"name", "instrument", "object", "result", "startTime", "endTime"}


@pytest.fixture
def run(tmp_path):
    run = two_parts(tmp_path)
    run.report("tables", "similarity_table1", "large/pruned/00000", "large/pruned/00001")
    run.report("figures", "parrot_fig1", "large/all/00000")
    return run


def crate(run, *names, **options):
    """Write a crate and read it back with the library, which refuses an invalid one."""
    path = run.folder / "crate"
    write_crate(recorded(run.results, run.store, names), run.store, path, **options)
    return ROCrate(path)


def actions(found):
    return [each for each in found.contextual_entities if each.type == "CreateAction"]


def test_the_crate_holds_the_files_of_tables_and_figures(run):
    found = crate(run)

    assert sorted(each.id for each in found.data_entities) == [
        "figures/parrot_fig1.csv",
        "figures/parrot_fig1.parquet",
        "tables/similarity_table1.csv",
        "tables/similarity_table1.parquet",
    ]
    for each in found.data_entities:
        content = (run.folder / "crate" / each.id).read_bytes()
        assert hashlib.sha256(content).hexdigest() == each["sha256"]


@pytest.mark.parametrize("options", [{}, {"summary": True}, {"files": False}])
def test_the_crate_has_everything_that_its_profile_requires(run, options):
    found = crate(run, **options)

    root = found.root_dataset
    assert root["conformsTo"].id == PROFILE
    assert {"name", "description", "datePublished", "license"} <= set(root)
    assert {each.id for each in root["mentions"]} == {each.id for each in actions(found)}
    for action in actions(found):
        assert set(action) >= REQUIRED
        assert action["instrument"].type == "SoftwareApplication"
        assert action["instrument"]["version"] == "c0de" * 16


@pytest.mark.parametrize("options", [{}, {"summary": True}])
def test_the_profile_and_the_tools_have_what_ro_crate_1_3_requires_of_them(run, options):
    """Since 1.2, software needs a name, a URL and a version, and `conformsTo` names profiles."""
    found = crate(run, **options)

    assert "Profile" in found.root_dataset["conformsTo"].type
    tools = [each for each in found.contextual_entities if each.type == "SoftwareApplication"]
    assert tools
    for tool in tools:
        assert {"name", "url", "version"} <= set(tool)


@pytest.mark.parametrize("summary", [False, True])
def test_every_reference_leads_to_an_entity(run, summary):
    crate(run, summary=summary)

    graph = json.loads((run.folder / "crate/ro-crate-metadata.json").read_text())["@graph"]
    known = {entity["@id"] for entity in graph} | {"https://w3id.org/ro/crate/1.3"}
    for entity in graph:
        for value in entity.values():
            for each in value if isinstance(value, list) else [value]:
                assert not isinstance(each, dict) or each["@id"] in known


def test_a_table_leads_through_actions_down_to_shards(run):
    found = crate(run, "similarity_table1")

    (report,) = [each for each in actions(found) if each["name"].startswith("report_table")]
    assert "tables/similarity_table1.parquet" in [each.id for each in report["result"]]
    manifest = next(each for each in report["object"] if each.type == "File")
    prune = next(each for each in actions(found) if manifest in each["result"])
    samples = next(each for each in prune["object"] if each.type == "File")
    index = next(each for each in actions(found) if samples in each["result"])
    shard = next(each for each in index["object"] if each.type == "File")
    assert shard["name"] == "tars/large/0.tar"
    assert hashlib.sha256((run.folder / shard["name"]).read_bytes()).hexdigest() == shard["sha256"]


def test_settings_are_property_values_that_actions_share(run):
    found = crate(run)

    values = [each for each in found.contextual_entities if each.type == "PropertyValue"]
    told = {(each["name"], each["value"]) for each in values}
    assert ("pruning", "pruned") in told
    assert ("captioning.source", "text") in told
    assert len(told) == len(values)


def test_choosing_one_table_leaves_the_others_out(run):
    found = crate(run, "parrot_fig1")

    assert len(actions(found)) == 3
    assert len(found.data_entities) == 2


def test_a_summary_has_one_action_for_each_step(run):
    found = crate(run, summary=True)

    assert [each["name"] for each in actions(found)] == [
        "index, 2 times",
        "prune, 3 times",
        "report_table, 1 times",
        "report_figure, 1 times",
    ]
    index, prune, *_ = actions(found)
    assert next(each for each in index["object"] if each.type == "Collection")["description"] == (
        "3 files, tars/large/0.tar the first"
    )
    samples = next(each for each in prune["object"] if each.type == "Collection")
    assert samples in index["result"]
    values = {each["name"]: each["value"] for each in prune["object"] if "value" in each}
    assert values["pruning"] == "2 different values"


def test_a_summary_does_not_grow_with_the_number_of_parts(run):
    before = len(crate(run, summary=True).contextual_entities)
    for number in range(2, 6):
        rows = [(number + 1, 0, None)]
        run.index("large", f"{number:05d}", [[(f"{number:032x}", "c", None)]], first=number + 1)
        run.manifest("large", "pruned", f"{number:05d}", rows)
    parts = [f"large/pruned/{number:05d}" for number in range(6)]
    run.report("tables", "similarity_table1", *parts)

    assert len(crate(run, summary=True).contextual_entities) == before


def test_a_crate_without_files_needs_no_objects(run):
    for path in (run.store.root / "objects").rglob("*"):
        if path.is_file():
            path.unlink()

    found = crate(run, files=False)

    assert found.data_entities == []
    assert os.listdir(run.folder / "crate") == ["ro-crate-metadata.json"]


def test_a_lost_table_is_named(run):
    target = recorded(run.results, run.store, ["similarity_table1"]).targets[0]
    run.store.path(target.pointer.digest).unlink()

    with pytest.raises(StoreError, match="the object is missing"):
        crate(run)


def test_a_crate_can_be_a_zip_file(run):
    path = run.folder / "crate.zip"
    write_crate(recorded(run.results, run.store), run.store, path, zipped=True)

    assert len(ROCrate(path).data_entities) == 4


def test_the_licence_is_the_one_that_was_given(run):
    assert crate(run, terms="CC-BY-4.0").license == "CC-BY-4.0"


def test_equal_records_give_equal_crates(run):
    crate(run)
    first = (run.folder / "crate/ro-crate-metadata.json").read_bytes()

    crate(run)

    assert (run.folder / "crate/ro-crate-metadata.json").read_bytes() == first
