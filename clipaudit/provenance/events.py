"""Write a run's actions as OpenLineage events: one COMPLETE event each, for tools like Marquez."""

import uuid
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from clipaudit.provenance.recorded import Recorded, ended, needs_extra, parameters, title
from clipaudit.store.actions import ActionInput, ActionOutput
from clipaudit.store.code_records import read_code
from clipaudit.store.records import Record
from clipaudit.store.store import Store

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent
    from openlineage.client.facet_v2 import DatasetFacet, JobFacet, RunFacet
    from openlineage.client.generated.schema_dataset import SchemaDatasetFacetFields

NAMESPACE = "clipaudit"  # of jobs and their outputs
USER_FILES = "file"  # of users' files
RUN_IDS = uuid.uuid5(uuid.NAMESPACE_URL, "urn:clipaudit:executions")


def write_events(run: Recorded, store: Store, path: Path) -> None:
    """Write the events as JSON, one per line, in order of start.

    Raise ConfigError if openlineage-python is not installed.
    """
    try:
        from openlineage.client.serde import Serde
    except ImportError as error:
        raise needs_extra("openlineage-python", error) from error
    with path.open("w") as file:
        file.writelines(f"{Serde.to_json(event)}\n" for event in run_events(run, store))


def run_events(run: Recorded, store: Store) -> "Iterator[RunEvent]":
    """Yield one COMPLETE event for each action, in order of start.

    A job is named after its step and wildcards, a data set after its path below the results. A data
    set's version is the SHA-256 of its content; its columns are given if the store has the object.
    The same records give the same events.
    """
    from openlineage.client.event_v2 import RunEvent, RunState, set_producer

    producer = f"urn:clipaudit:{version('clipaudit')}"
    set_producer(producer)
    of = _Facets(run, store)
    for key, record in run.records.items():
        yield RunEvent(
            eventType=RunState.COMPLETE,
            eventTime=ended(record),
            producer=producer,
            run=of.run(key, record),
            job=of.job(record),
            outputs=[of.output(place, each, record) for place, _, each in run.outputs(record)],
            inputs=of.inputs(record),
        )


class _Facets:
    """The events' descriptions of runs, jobs and data sets."""

    def __init__(self, run: Recorded, store: Store) -> None:
        self._recorded = run
        self._store = store
        # one for all actions, from those that made the requested targets
        made = " ".join(sorted({target.action for target in run.targets}))
        self._whole = str(uuid.uuid5(RUN_IDS, made))
        self._texts = cache(self._read_texts)
        # columns by step, code, output and table: each such output has one schema
        self._columns: dict[tuple[str, ...], list[SchemaDatasetFacetFields]] = {}

    def run(self, key: str, record: Record) -> "Run":
        from openlineage.client.event_v2 import Run
        from openlineage.client.facet_v2 import execution_parameters_run as execution
        from openlineage.client.facet_v2 import nominal_time_run, parent_run
        from openlineage.client.facet_v2 import processing_engine_run as engine

        asked = [
            execution.ExecutionParameter(key=name, name=name, value=value)
            for name, value in parameters(record).items()
        ]
        facets: dict[str, RunFacet] = {
            "nominalTime": nominal_time_run.NominalTimeRunFacet(
                record.execution.started, ended(record)
            ),
            "parent": parent_run.ParentRunFacet(
                run=parent_run.Run(self._whole), job=parent_run.Job(NAMESPACE, "audit")
            ),
            "executionParameters": execution.ExecutionParametersRunFacet(parameters=asked),
        }
        python = record.execution.versions.get("python")
        if python:
            facets["processing_engine"] = engine.ProcessingEngineRunFacet(python, name="python")
        return Run(str(uuid.uuid5(RUN_IDS, f"{key} {record.execution.started}")), facets)

    def job(self, record: Record) -> "Job":
        from openlineage.client.event_v2 import Job
        from openlineage.client.facet_v2 import job_type_job as kind
        from openlineage.client.facet_v2 import source_code_location_job as source
        from openlineage.client.facet_v2 import sql_job

        code = record.ingredients.code
        facets: dict[str, JobFacet] = {
            "jobType": kind.JobTypeJobFacet("BATCH", "CLIPAUDIT", jobType="ACTION"),
            "sourceCodeLocation": source.SourceCodeLocationJobFacet(
                type="clipaudit", url=f"urn:clipaudit:code:{code}", version=code
            ),
        }
        sql = self._texts(code).get(f"{record.ingredients.settings.get('sql')}.sql")
        if sql is not None:
            facets["sql"] = sql_job.SQLJobFacet(sql, dialect="duckdb")
        return Job(NAMESPACE, title(record), facets)

    def inputs(self, record: Record) -> "list[InputDataset]":
        """Return the files that an action read, each once: a step may read one in two roles."""
        files = [file for _, each in sorted(record.ingredients.inputs.items()) for file in each]
        named = {(file.digest, self._recorded.input_name(file)): file for file in files}
        return [self.input(file) for file in named.values()]

    def input(self, file: ActionInput) -> "InputDataset":
        from openlineage.client.event_v2 import InputDataset

        ours = file.digest in self._recorded.names or file.action is not None
        # the event that wrote them has the columns
        return InputDataset(
            NAMESPACE if ours else USER_FILES,
            self._recorded.input_name(file),
            facets=_dataset_facets(file.digest, None),
        )

    def output(self, name: str, given: ActionOutput, record: Record) -> "OutputDataset":
        from openlineage.client.event_v2 import OutputDataset
        from openlineage.client.facet_v2 import output_statistics_output_dataset as statistics

        pointer = given.pointer
        columns = self._columns_of(given, record)
        counted = statistics.OutputStatisticsOutputDatasetFacet(
            rowCount=pointer.rows if given.extension == ".parquet" else None,
            size=pointer.bytes,
            fileCount=1,
        )
        return OutputDataset(
            NAMESPACE,
            name,
            facets=_dataset_facets(pointer.digest, columns),
            outputFacets={"outputStatistics": counted},
        )

    def _columns_of(
        self, given: ActionOutput, record: Record
    ) -> "list[SchemaDatasetFacetFields] | None":
        """Return an output's columns, from the object or from another that the same code wrote."""
        if given.extension != ".parquet":
            return None
        made_of = record.ingredients
        table = str(made_of.settings.get("table"))
        kind = (made_of.step, made_of.code, given.pointer.schema, table)
        if kind not in self._columns and self._store.has(given.pointer.digest):
            self._columns[kind] = _columns(self._store.path(given.pointer.digest))
        return self._columns.get(kind)

    def _read_texts(self, code: str) -> Mapping[str, str]:
        found = read_code(self._store, code)
        return found.texts if found else {}


def _columns(path: Path) -> "list[SchemaDatasetFacetFields]":
    import pyarrow.parquet as pq
    from openlineage.client.facet_v2 import schema_dataset

    return [
        schema_dataset.SchemaDatasetFacetFields(field.name, str(field.type), ordinal_position=place)
        for place, field in enumerate(pq.read_schema(path), start=1)
    ]


def _dataset_facets(
    digest: str, columns: "list[SchemaDatasetFacetFields] | None"
) -> "dict[str, DatasetFacet]":
    from openlineage.client.facet_v2 import dataset_version_dataset, schema_dataset

    facets: dict[str, DatasetFacet] = {
        "version": dataset_version_dataset.DatasetVersionDatasetFacet(digest)
    }
    if columns:
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields=columns)
    return facets
