"""`export` and `prov` over a finished run, each read back by its target tool."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from rocrate.rocrate import ROCrate

from clipaudit.cli.commands import stream
from clipaudit.cli.export import export
from clipaudit.cli.options import Group
from clipaudit.cli.prov import prov

SEALED = "large-deduplicated-and-small.sketch-pruned"
LARGE = "deduplicated.sketch-pruned"  # its manifest of the first corpus
group = Group(commands=[export, prov, stream])


@pytest.fixture
def ask(finished, monkeypatch):
    monkeypatch.chdir(finished.folder)

    def ask(*arguments):
        folders = ("--results", "results_micro", "--store", "store_micro")
        answer = CliRunner().invoke(group, [*map(str, arguments), *folders])
        assert answer.exit_code == 0, answer.output
        return answer

    return ask


def kept_uids(finished):
    """Return the uids that the sealed manifest keeps, read only from tables."""
    uids = []
    for corpus, name in (("large", "deduplicated.sketch-pruned"), ("small", "all")):
        for path in sorted((finished.results / "manifests" / corpus / name).glob("*.parquet")):
            manifest = pq.read_table(path)
            samples = pq.read_table(finished.results / "samples" / corpus / path.name)
            joined = samples.join(manifest, ["shard", "row"]).sort_by(
                [("shard", "ascending"), ("row", "ascending")]
            )
            uids += joined.filter(joined["kept"])["uid"].to_pylist()
    return uids


def test_a_sealed_manifest_keeps_the_same_samples_in_every_format(ask, finished, tmp_path):
    digest = finished.digests()[f"sealed/{SEALED}.json"]
    for form in ("uids", "datacomp", "parquet", "croissant", "fiftyone", "hf-parquet"):
        ask("export", digest, "--format", form, "--output", tmp_path / form)

    kept = kept_uids(finished)
    assert (tmp_path / "uids").read_text().split() == kept
    pairs = np.load(tmp_path / "datacomp").tolist()
    assert [f"{high:016x}{low:016x}" for high, low in pairs] == sorted(set(kept))
    assert pq.read_table(tmp_path / "parquet")["uid"].to_pylist() == kept
    for path in ("croissant/data.parquet", "hf-parquet/data"):
        assert pq.read_table(tmp_path / path)["uid"].to_pylist() == kept
    documents = json.loads((tmp_path / "fiftyone/samples.json").read_text())["samples"]
    assert [each["uid"] for each in documents] == kept
    assert all((tmp_path / "fiftyone" / each["filepath"]).is_file() for each in documents)


def test_a_manifest_streams_the_same_bytes_before_it_is_sealed(ask, finished):
    digest = finished.digests()[f"sealed/{SEALED}.json"]

    answers = [ask("stream", f"large/{LARGE}", shard).stdout_bytes for shard in range(4)]

    assert answers == [finished.stream(digest, shard) for shard in range(4)]


def test_all_rows_of_a_manifest_are_those_of_its_tars(ask, finished, tmp_path):
    output = tmp_path / "rows.parquet"

    ask("export", SEALED, "--format", "parquet", "--all-rows", "--output", output)

    table = pq.read_table(output)
    shards = [
        pq.read_table(path)
        for corpus in ("large", "small")
        for path in (finished.results / "shards" / corpus).glob("*.parquet")
    ]
    assert len(table) == sum(sum(each["rows"].to_pylist()) for each in shards)
    left = table.filter(table["kept"].to_numpy() == False)  # noqa: E712
    assert None not in left["reason"].to_pylist()


def test_similarities_in_an_export_match_the_run(ask, finished, tmp_path):
    output = tmp_path / "rows.parquet"

    ask("export", "large/deduplicated.sketch-pruned", "--format", "parquet", "--output", output)

    table = pq.read_table(output)
    (encoder,) = [path.name for path in (finished.results / "similarities").iterdir()]
    folder = finished.results / "similarities" / encoder / "large"
    highest = {}
    for path in folder.glob("*.parquet"):
        for row in pq.read_table(path).to_pylist():
            if row["testset"] == "sketch":
                highest[row["shard"], row["row"]] = row["similarity"]
    places = zip(table["shard"].to_pylist(), table["row"].to_pylist(), strict=True)
    column = table[f"similarity_{encoder.replace('-', '_')}_sketch"]
    assert column.to_pylist() == [highest[place] for place in places]


def test_vectors_in_an_export_match_the_embeddings_of_the_run(ask, finished, tmp_path):
    output = tmp_path / "rows.parquet"

    ask("export", SEALED, "--format", "parquet", "--vectors", "--output", output)

    table = pq.read_table(output)
    (encoder,) = [path.name for path in (finished.results / "embeddings").iterdir()]
    stored = {}
    for corpus in ("large", "small"):
        for path in (finished.results / "embeddings" / encoder / corpus).glob("*.parquet"):
            for row in pq.read_table(path).to_pylist():
                stored[corpus, row["shard"], row["row"]] = row["embedding"]
    places = zip(*(table[name].to_pylist() for name in ("corpus", "shard", "row")), strict=True)
    vectors = table[f"vector_{encoder.replace('-', '_')}"].to_pylist()
    assert [np.array(each, np.float16).tobytes() for each in vectors] == [
        stored[place] for place in places
    ]


def test_a_crate_of_a_run_leads_from_a_table_to_every_shard(ask, finished, tmp_path):
    ask("prov", "--format", "ro-crate", "--table", "similarity_table1", "--output", tmp_path / "c")

    crate = ROCrate(tmp_path / "c")
    made_by = {
        made.id: action
        for action in crate.contextual_entities
        if action.type == "CreateAction"
        for made in action["result"]
    }
    waiting, seen = ["tables/similarity_table1.parquet"], set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            given = made_by[name]["object"] if name in made_by else []
            waiting += [each.id for each in given if each.type == "File"]
    names = {crate.get(name)["name"] for name in seen}
    assert {f"data/micro/large/{number:05d}.tar" for number in range(4)} <= names


def test_events_name_each_file_as_its_reader_does(ask, finished, tmp_path):
    output = tmp_path / "events.jsonl"

    ask("prov", "--format", "openlineage", "--output", output)

    events = [json.loads(line) for line in output.read_text().splitlines()]
    made, read = (
        {
            (each["name"], each["facets"]["version"]["datasetVersion"])
            for event in events
            for each in event[side]
            if each["namespace"] == "clipaudit"
        }
        for side in ("outputs", "inputs")
    )
    assert read <= made
    assert any("sql" in event["job"]["facets"] for event in events)


def test_provenance_needs_only_results_and_lineage(ask, project, tmp_path, monkeypatch):
    monkeypatch.chdir(project.folder)
    for path in (project.store / "objects").rglob("*"):
        if path.is_file():
            path.unlink()

    ask("prov", "--format", "ro-crate", "--no-files", "--output", tmp_path / "crate")
    ask("prov", "--format", "openlineage", "--output", tmp_path / "events.jsonl")

    assert ROCrate(tmp_path / "crate").root_dataset["mentions"]
