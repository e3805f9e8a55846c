import json
import uuid

import pytest
from exportedrun import two_parts
from openlineage.client import event_v2, facet_v2
from openlineage.client.serde import Serde

from clipaudit.provenance.events import run_events, write_events
from clipaudit.provenance.recorded import recorded
from clipaudit.store.code_records import CodeRecord, write_code

FACETS = {
    "executionParameters": facet_v2.execution_parameters_run.ExecutionParametersRunFacet,
    "jobType": facet_v2.job_type_job.JobTypeJobFacet,
    "nominalTime": facet_v2.nominal_time_run.NominalTimeRunFacet,
    "outputStatistics": (
        facet_v2.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet
    ),
    "parent": facet_v2.parent_run.ParentRunFacet,
    "processing_engine": facet_v2.processing_engine_run.ProcessingEngineRunFacet,
    "schema": facet_v2.schema_dataset.SchemaDatasetFacet,
    "sourceCodeLocation": facet_v2.source_code_location_job.SourceCodeLocationJobFacet,
    "sql": facet_v2.sql_job.SQLJobFacet,
    "version": facet_v2.dataset_version_dataset.DatasetVersionDatasetFacet,
}


@pytest.fixture
def run(tmp_path):
    run = two_parts(tmp_path)
    run.report("tables", "similarity_table1", "large/pruned/00000", "large/pruned/00001")
    return run


def events(run):
    path = run.folder / "events.jsonl"
    write_events(recorded(run.results, run.store), run.store, path)
    return [json.loads(line) for line in path.read_text().splitlines()]


def read_facets(fields):
    """Read facets with the library's own classes, which refuse unknown fields."""
    read = {}
    for name, facet in (fields or {}).items():
        known = {key: value for key, value in facet.items() if not key.startswith("_")}
        read[name] = FACETS[name](**known)
        assert facet["_schemaURL"] == read[name]._schemaURL
        assert facet["_producer"].startswith("urn:clipaudit:")
    return read


def read_event(fields):
    """Read an event with the library's own classes."""

    def dataset(kind, each, extra):
        more = {extra: read_facets(each.get(extra))}
        return kind(each["namespace"], each["name"], facets=read_facets(each["facets"]), **more)

    run, job = fields["run"], fields["job"]
    return event_v2.RunEvent(
        eventType=event_v2.RunState(fields["eventType"]),
        eventTime=fields["eventTime"],
        producer=fields["producer"],
        run=event_v2.Run(run["runId"], read_facets(run["facets"])),
        job=event_v2.Job(job["namespace"], job["name"], read_facets(job["facets"])),
        inputs=[dataset(event_v2.InputDataset, each, "inputFacets") for each in fields["inputs"]],
        outputs=[
            dataset(event_v2.OutputDataset, each, "outputFacets") for each in fields["outputs"]
        ],
    )


def test_each_action_is_one_complete_event_in_order_of_start(run):
    found = events(run)

    assert [each["job"]["name"] for each in found] == [
        "index corpus=large part=00000",
        "index corpus=large part=00001",
        "prune corpus=large part=00000",
        "prune corpus=large part=00001",
        "report_table table=similarity_table1",
    ]
    assert {each["eventType"] for each in found} == {"COMPLETE"}


def test_events_survive_a_round_trip_through_the_librarys_classes(run):
    for fields in events(run):
        again = json.loads(Serde.to_json(read_event(fields)))

        assert again == fields


def test_run_ids_are_stable_uuids(run):
    first, again = events(run), events(run)

    ids = [each["run"]["runId"] for each in first]
    assert ids == [each["run"]["runId"] for each in again]
    assert len({uuid.UUID(each) for each in ids}) == 5


def test_an_output_and_the_input_that_reads_it_have_the_same_name_and_version(run):
    *_, prune, report = events(run)

    (given,), (_, taken) = prune["outputs"], report["inputs"]
    assert given["name"] == taken["name"] == "manifests/large/pruned/00001.parquet"
    assert given["facets"]["version"] == taken["facets"]["version"]


def test_user_files_have_another_namespace(run):
    index, *_ = events(run)

    tar, _ = index["inputs"]
    assert (tar["namespace"], tar["name"]) == ("file", "tars/large/0.tar")
    assert len(tar["facets"]["version"]["datasetVersion"]) == 64


def test_a_file_that_a_step_reads_in_two_roles_is_one_input(run):
    """In OpenLineage, the inputs of an event are a set."""
    run.report("tables", "similarity_table2", *["large/pruned/00000"] * 2, "large/pruned/00001")

    inputs = [each["name"] for each in events(run)[-1]["inputs"]]

    assert inputs == [f"manifests/large/pruned/0000{part}.parquet" for part in range(2)]


def test_outputs_have_columns_rows_and_bytes(run):
    *_, report = events(run)

    csv, table = report["outputs"]
    assert [each["name"] for each in table["facets"]["schema"]["fields"]] == ["dataset", "kept"]
    assert table["outputFacets"]["outputStatistics"]["rowCount"] == 1
    assert "schema" not in csv["facets"]
    assert csv["outputFacets"]["outputStatistics"]["size"] > 0


def test_settings_code_and_sql_are_facets(run):
    texts = {"similarity_table1.sql": "select 1"}
    write_code(run.store, "c0de" * 16, CodeRecord({}, texts))

    *_, report = events(run)

    asked = report["run"]["facets"]["executionParameters"]["parameters"]
    assert {"key": "sql", "name": "sql", "value": "similarity_table1"} in asked
    assert report["job"]["facets"]["sourceCodeLocation"]["version"] == "c0de" * 16
    assert report["job"]["facets"]["sql"]["query"] == "select 1"


def test_events_need_no_objects(run):
    whole = events(run)
    for path in (run.store.root / "objects").rglob("*"):
        if path.is_file():
            path.unlink()

    bare = events(run)

    assert [each["job"] for each in bare] == [each["job"] for each in whole]
    assert "schema" not in bare[0]["outputs"][0]["facets"]


def test_events_are_generated_one_by_one(run):
    first = next(run_events(recorded(run.results, run.store), run.store))

    assert first.job.name == "index corpus=large part=00000"
