"""List the jobs that Snakemake sees for some targets, and which of them it would start now.

Snakemake runs in this process; it prints nothing, takes no lock and writes nothing. It decides from
its own metadata which jobs to start: a changed setting or file starts a job and all jobs that
depend on it; an updated library starts none.
"""

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clipaudit.config.loading import read_settings
from clipaudit.config.usage import unused_corpora
from clipaudit.errors import ClipauditError, ConfigError, InputError
from clipaudit.steps.command import METADATA, unrecorded, workflow_arguments
from clipaudit.steps.inputs import is_pointer
from clipaudit.steps.params import named
from clipaudit.suggestions import did_you_mean
from clipaudit.uncollected import uncollected

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings

_OWN_CORES = "SLURM_CPUS_PER_TASK"
_INVENTORY_SECONDS = 20  # Snakemake's own default


@dataclass(frozen=True)
class Job:
    """One job of the workflow: its script's inputs, and whether Snakemake would start it.

    `script` is the name of its workflow script, from `params: script=` or the rule. `cause` says
    briefly why Snakemake starts the job; "" if it does not.
    """

    rule: str
    script: str
    wildcards: Mapping[str, str]
    params: Mapping[str, Any]
    inputs: Mapping[str, Sequence[str]]  # by name
    outputs: Mapping[str, Sequence[str]]  # by name
    threads: int
    resources: Mapping[str, int | str]
    cause: str

    @property
    def started(self) -> bool:
        """Return whether Snakemake would start this job."""
        return self.cause != ""


@dataclass(frozen=True)
class Workflow:
    """The jobs of some targets in dependency order, and the folders they use."""

    results: Path
    store: Path
    jobs: Sequence[Job]
    shared_store: Mapping[str, Any] | None = None  # the settings' section
    unused: Sequence[str] = ()  # corpora of the settings that no audit uses
    run: "Settings | None" = None  # the settings, if the workflow was read with its own rules

    def is_step(self, job: Job) -> bool:
        """Return whether a job writes pointers and is recorded; others write other files."""
        paths = (path for named in job.outputs.values() for path in named)
        return any(is_pointer(Path(path), self.results) for path in paths)


def read_workflow(targets: Sequence[str], arguments: Sequence[str] = ()) -> Workflow:
    """Return the jobs of `targets`, or of the default target, in the current folder.

    `arguments` are options of `snakemake`: --profile, --configfile, --config. Rules without a
    script, such as `all_tables`, only name targets and are skipped. Raise ConfigError for invalid
    settings, and InputError for an unknown target or a missing file.
    """
    with _quiet(targets), uncollected():
        from snakemake.cli import parse_args

        _, settings = parse_args([*workflow_arguments(), *arguments, "--", *targets])
        for path in settings.configfile or ():
            read_settings(Path(path))  # first: Snakemake would run Python code in the file
        with tempfile.TemporaryDirectory() as name, _parsed(settings, Path(name)) as workflow:
            graph = _graph(workflow, METADATA if METADATA.is_dir() else Path(name))
            found = workflow_of(graph, workflow.globals["config"])
            # rules/common.smk's settings; a process has one set of globals for all its workflows
            run = workflow.globals.pop("RUN", None)
            return found if run is None else replace(found, unused=unused_corpora(run), run=run)


def workflow_of(graph: Any, config: Mapping[str, Any]) -> Workflow:  # noqa: ANN401
    """Return the jobs of a Snakemake graph, and the folders that its settings name."""
    jobs = [_job(job, graph) for job in _in_order(graph) if not job.rule.norun]
    jobs = _with_lists_spread(jobs)
    results, store = Path(config["results"]), Path(config["store"])
    return Workflow(results, store, jobs, config.get("shared_store"))


@contextlib.contextmanager
def _quiet(targets: Sequence[str]) -> Iterator[None]:
    """Capture what Snakemake and the rules print, and turn what they raise into our error."""
    from snakemake.exceptions import (
        InputFunctionException,
        MissingRuleException,
        RuleException,
        WorkflowError,
    )

    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
            yield
    except SystemExit as end:
        # the rules stop on wrong settings: see `clipaudit.steps.workflow.stop_with`
        cause = end.__context__
        if isinstance(cause, ClipauditError):
            raise cause from None
        said = [line for line in printed.getvalue().splitlines() if not line.startswith("Using ")]
        raise ConfigError("\n".join(said).removeprefix("Error: ")) from None
    except (InputFunctionException, MissingRuleException) as error:
        # the rules look names up in the settings: a missing name is a KeyError
        if isinstance(error, InputFunctionException) and not isinstance(
            error.__context__, KeyError
        ):
            raise InputError(_one_line(error)) from error
        named = " ".join(targets) or "the default target"
        raise InputError(f"{named}: no rule makes this.{_meant(targets)}") from error
    except (WorkflowError, RuleException, OSError) as error:
        raise InputError(_one_line(error)) from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _meant(targets: Sequence[str]) -> str:
    known = ["all_tables", "all_figures", "report"]
    known += [str(path) for path in Path().glob("results*/*/*.json")]
    return "".join(did_you_mean(target, known) for target in targets if target not in known)


@contextlib.contextmanager
def _parsed(settings: Any, spare: Path) -> Iterator[Any]:  # noqa: ANN401
    """Give Snakemake's workflow: every rule read, the settings checked, no job formed.

    `spare` is an empty folder for files that it would write to the home folder.
    """
    from snakemake.api import SnakemakeApi
    from snakemake.settings.enums import Quietness
    from snakemake.settings.types import (
        ConfigSettings,
        DAGSettings,
        ExecutionSettings,
        OutputSettings,
        ResourceSettings,
        SharedFSUsage,
        StorageSettings,
        WorkflowSettings,
    )

    is_local = settings.executor in (None, "local")
    jobs = (settings.jobs or 1) if is_local else None  # on a cluster the length of the queue
    output = OutputSettings(quiet={Quietness.ALL}, enable_file_logging=False)
    with SnakemakeApi(output) as api:
        parsed = api.workflow(
            snakefile=settings.snakefile,
            workdir=settings.directory,
            resource_settings=ResourceSettings(
                cores=settings.cores or jobs,
                max_threads=settings.max_threads,
                resources=settings.resources,
                overwrite_threads=settings.set_threads,
                overwrite_resources=settings.set_resources,
                default_resources=settings.default_resources,
            ),
            config_settings=ConfigSettings(
                config=_single_settings(settings.config),
                configfiles=settings.configfile,
                config_args=settings.config,
            ),
            storage_settings=StorageSettings(
                shared_fs_usage=SharedFSUsage.all() - {SharedFSUsage.SOURCE_CACHE}
            ),
            workflow_settings=WorkflowSettings(runtime_source_cache_path=spare),
        )._workflow
        parsed.execution_settings = ExecutionSettings()
        parsed.dag_settings = DAGSettings(
            targets=set(settings.targets),
            force_incomplete=True,
            rerun_triggers=settings.rerun_triggers,
            max_checksum_file_size=settings.max_checksum_file_size,
        )
        yield parsed


def _single_settings(pairs: Sequence[str] | None) -> dict[str, Any]:
    from snakemake.cli import parse_config

    try:
        return dict(parse_config(pairs))
    except ValueError as error:
        raise ConfigError(f"--config {' '.join(pairs or ())}: {error}") from error


def _graph(workflow: Any, metadata: Path) -> Any:  # noqa: ANN401
    """Return Snakemake's graph of jobs, marked with what it would start, as `DAG.init` forms it.

    `DAG.init` itself would write its inventory and look at conda environments.
    """
    from snakemake.dag import DAG
    from snakemake.io import IOCache
    from snakemake.persistence.file import FilePersistence

    asked = workflow.dag_settings.targets or [workflow.default_target]
    rules = {workflow.get_rule(name) for name in asked if workflow.is_rule(name)}
    files = {os.path.relpath(name) for name in asked if not workflow.is_rule(name)}
    workflow.iocache = IOCache(_INVENTORY_SECONDS)
    graph = workflow._dag = DAG(
        workflow,
        workflow.rules,
        targetfiles=files,
        targetrules=rules,
        forceall=unrecorded(Path(workflow.globals["config"]["results"])),  # as `clipaudit run`
    )
    workflow._persistence = FilePersistence(nolock=True, dag=graph, path=metadata.absolute())

    async def build() -> None:
        for rule in graph.targetrules:
            job = await graph.rule2job(rule)
            graph.targetjobs.add(await graph.update([job], create_inventory=True))
        for file in graph.targetfiles:
            jobs = await graph.file2jobs(file)
            graph.targetjobs.add(await graph.update(jobs, file=file, create_inventory=True))
        graph.cleanup()
        await graph.check_incomplete()
        await graph.update_needrun(create_inventory=True)

    workflow.async_run(build())
    return graph


def cores_of(workflow: Any) -> int:  # noqa: ANN401
    """Return the cores of this run, 1 if its jobs run elsewhere; in such a job, its own cores.

    Its Snakemake was started with all cores of the node, which SLURM may have given to others.
    """
    from snakemake.exceptions import WorkflowError

    try:
        cores = int(workflow.cores)
    except WorkflowError:  # no --cores
        return 1
    return min(cores, int(os.environ.get(_OWN_CORES, 1))) if workflow.remote_exec else cores


def _in_order(graph: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield the jobs in dependency order; the order never varies."""
    sorter = TopologicalSorter({job: list(graph.dependencies[job]) for job in graph.jobs})
    sorter.prepare()
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=lambda job: (job.rule.name, list(job.output)))
        yield from ready
        sorter.done(*ready)


def _job(job: Any, graph: Any) -> Job:  # noqa: ANN401
    params = dict(job.params.items())
    return Job(
        rule=job.rule.name,
        script=params.get("script", job.rule.name),
        wildcards=dict(job.wildcards.items()),
        params=params,
        inputs=named(job.input.items()),
        outputs=named(job.output.items()),
        threads=int(job.threads),
        resources={
            name: value
            for name, value in job.resources.items()
            if isinstance(value, int | str) and not name.startswith("_")
        },
        cause=_cause(graph.reason(job), bool(graph.forcerules)) if graph.needrun(job) else "",
    )


def _with_lists_spread(jobs: Sequence[Job]) -> list[Job]:
    """Return the jobs with each gathered list in their inputs replaced by its pointers.

    Steps do the same (clipaudit.store.gathered); the lists need not exist.
    """
    lists: dict[str, Sequence[str]] = {}
    spread = []
    for job in jobs:
        if job.script == "gather":
            lists |= {path: job.inputs["members"] for path in job.outputs["gathered"]}
        inputs = {
            name: paths if lists.keys().isdisjoint(paths) else _in_place_of(paths, lists)
            for name, paths in job.inputs.items()
        }
        spread.append(replace(job, inputs=inputs))
    return spread


def _in_place_of(paths: Sequence[str], lists: Mapping[str, Sequence[str]]) -> Sequence[str]:
    if len(paths) == 1:
        return lists[paths[0]]  # all jobs share one list
    return [member for path in paths for member in lists.get(path, (path,))]


def _cause(reason: Any, all_forced: bool) -> str:  # noqa: ANN401
    """Return why Snakemake starts a job: its own changes first, then its dependencies."""
    if reason.missing_output:
        return "its output is missing"
    if reason.forced and all_forced:
        return "Snakemake has no record of its output"
    if reason.forced:
        return "it was left unfinished"
    if reason.params_changed:
        return "its settings or its code changed"
    if reason.input_changed:
        return "its list of inputs changed"
    if reason.updated_input:
        return "an input changed"
    if reason.code_changed or reason.software_stack_changed:
        return "its script or environment changed"
    return "an input is made again"
