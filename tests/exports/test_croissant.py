import hashlib
import json
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest
from exportedrun import two_parts

from clipaudit.exports.formats import export


@pytest.fixture
def run(tmp_path):
    return two_parts(tmp_path)


def described(run, manifest, **options):
    output = run.folder / "out"
    export(run.results, run.store, manifest, "croissant", output, **options)
    return json.loads((output / "croissant.json").read_text()), output


def test_a_data_set_states_its_file_by_sha256(run):
    found, output = described(run, "large/pruned")

    (file,) = found["distribution"]
    data = (output / file["contentUrl"]).read_bytes()
    assert file["sha256"] == hashlib.sha256(data).hexdigest()
    assert file["contentSize"] == f"{len(data)} B"
    assert found["conformsTo"] == "http://mlcommons.org/croissant/1.1"


def test_each_column_is_a_field_with_its_type_and_meaning(run):
    run.embeddings("own", "large", "00000", {(0, 0): (0.5, 0.25)})

    found, output = described(run, "large/pruned", vectors=True)

    fields = {each["name"]: each for each in found["recordSet"][0]["field"]}
    assert list(fields) == pq.read_schema(output / "data.parquet").names
    assert fields["shard"]["dataType"] == "sc:Integer"
    vector = fields["vector_own"]
    assert (vector["dataType"], vector["arrayShape"]) == ("cr:Float32", "2")
    assert vector["description"] == "embedding of the image by encoder own, of unit length"


def test_the_columns_of_all_rows_say_what_they_mean(run):
    found, output = described(run, "large/pruned", all_rows=True)

    fields = {each["name"]: each.get("description") for each in found["recordSet"][0]["field"]}
    assert fields["reason"] == "why it was removed; null: kept"
    assert [name for name, said in fields.items() if not said] == []
    schema = pq.read_schema(output / "data.parquet")
    assert all((column.metadata or {}).get(b"meaning") for column in schema)


def test_provenance_leads_to_the_manifest_the_code_and_the_shards(run):
    digest = run.seal("both", "large/all/00001", "large/pruned/00000")

    found, _ = described(run, digest)

    shards = {each["prov:label"] for each in found["prov:wasDerivedFrom"]}
    assert shards == {f"tars/large/{number}.tar" for number in range(3)}
    made = found["prov:wasGeneratedBy"]
    assert [each["prov:label"] for each in made["prov:used"]] == [
        "manifest of large, part 00001",
        "manifest of large, part 00000",
    ]
    steps = {each["@id"] for each in made["prov:wasInformedBy"]}
    assert steps == {f"urn:clipaudit:{step}:{'c0de' * 16}" for step in ("index", "prune", "seal")}


def nodes(found):
    yield found
    for name, value in found.items():
        for each in value if isinstance(value, list) else [value]:
            if name.startswith("prov:") and isinstance(each, dict) and "@value" not in each:
                yield from nodes(each)


def test_provenance_is_readable_for_tools_of_prov(run):
    """The package prov refuses times without a type, and nodes without a name."""
    found, _ = described(run, "large/pruned")

    assert [each for each in nodes(found) if ":" not in each.get("@id", "")] == []
    (index, *_) = found["prov:wasGeneratedBy"]["prov:wasInformedBy"]
    ended = index["prov:endedAtTime"]
    assert datetime.fromisoformat(ended["@value"]) > datetime(2026, 1, 1, tzinfo=UTC)
    prefix, _, kind = ended["@type"].partition(":")
    assert found["@context"][prefix] + kind == "http://www.w3.org/2001/XMLSchema#dateTime"


def test_settings_shared_by_a_step_are_stated(run):
    found, _ = described(run, "large/pruned")

    (index,) = [
        step
        for step in found["prov:wasGeneratedBy"]["prov:wasInformedBy"]
        if step["prov:label"] == "index, 2 times"
    ]
    settings = json.loads(index["prov:used"][1]["prov:value"])
    assert list(settings) == ["captioning"]  # each part has its own shards


@pytest.mark.parametrize("terms", [None, "https://creativecommons.org/publicdomain/zero/1.0/"])
def test_the_licence_is_the_one_that_was_given(run, terms):
    found, _ = described(run, "large/all", terms=terms)

    assert found["license"] == (terms or "Not stated: ask whoever made this data set.")
