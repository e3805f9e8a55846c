"""Estimate what jobs that never ran will take, from scaling laws and rates.

Jobs are processed in order; each reads the rows that earlier jobs are expected to give. The first
jobs read shards, whose number of samples must be stated. A job without a known rate counts as
unknown, and is never guessed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from clipaudit.errors import StoreError
from clipaudit.lineage.planning.costs import Cost
from clipaudit.lineage.planning.dimensions import UNKNOWN, dimension_of
from clipaudit.lineage.planning.observations import model_of, output_kind
from clipaudit.lineage.planning.rates import Rate, Rates
from clipaudit.lineage.planning.scaling import EMBEDDING_INPUTS, Law, Reading, law_of
from clipaudit.lineage.planning.shardsizes import ShardSizes
from clipaudit.steps.environment import device_of, gpus_of, nodes_of
from clipaudit.steps.jobs import Job, Workflow
from clipaudit.store.disks import free_bytes
from clipaudit.store.store import Pointer

_HOUR = 3600.0  # seconds


@dataclass(frozen=True)
class JobEstimate:
    """What one job will take; an unknown rate or size is None, and `unknown` says why.

    `device` is cpu or cuda, as the job will use.
    """

    job: Job
    unit: str
    work: float
    device: str
    rate: Rate | None
    bytes: float | None
    unknown: Sequence[str]

    @property
    def cost(self) -> Cost:
        """Return the cost of one job, which is unknown if a part of it is."""
        gpus = gpus_of(self.job.resources)
        hours = self.rate.line.at(self.work) / _HOUR if self.rate else 0.0  # of one GPU or core
        return Cost(
            jobs=1,
            cpu_hours=hours / gpus * self._cores if gpus else hours,
            gpu_hours=hours if gpus else 0.0,
            bytes=round(self.bytes or 0.0),
            unknown=int(self.rate is None or self.bytes is None),
        )

    @property
    def _cores(self) -> int:
        """The cores that the job holds on all its nodes; a GPU's may be more than its threads."""
        asked = int(self.job.resources.get("cpus_per_task", 0))
        return nodes_of(self.job.resources) * max(asked, self.job.threads)


@dataclass
class Stage:
    """What the jobs of one rule will take together, as far as known.

    `untimed` jobs count as zero hours and `unsized` ones as zero bytes: `unknown` gives each reason
    with its number of jobs. `beyond` is the work of the largest of these jobs, as a multiple of the
    largest recorded one. `peak_memory_mb` is the recorded maximum, not what these will need;
    `asked_mb` is the largest memory request of one of these, 0 if there is none.
    """

    rule: str
    unit: str
    jobs: int = 0
    work: float = 0.0
    cpu_hours: float = 0.0
    gpu_hours: float = 0.0
    bytes: float = 0.0
    untimed: int = 0
    unsized: int = 0
    records: int = 0
    devices: set[str] = field(default_factory=set)
    beyond: float = 0.0
    peak_memory_mb: int = 0
    asked_mb: int = 0
    unknown: Counter[str] = field(default_factory=Counter)

    def add(self, job: JobEstimate) -> None:
        """Add one job."""
        self.jobs += 1
        self.work += job.work
        self.cpu_hours += job.cost.cpu_hours
        self.gpu_hours += job.cost.gpu_hours
        self.bytes += job.bytes or 0.0
        self.untimed += job.rate is None
        self.unsized += job.bytes is None
        self.unknown.update(job.unknown)
        self.asked_mb = max(self.asked_mb, int(job.job.resources.get("mem_mb", 0)))
        if job.rate:
            self.devices.add(job.device if job.rate.records else f"{job.device}, as stated")
            self.records = max(self.records, job.rate.records)
            self.peak_memory_mb = max(self.peak_memory_mb, job.rate.peak_memory_mb)
            if job.rate.most_work:
                self.beyond = max(self.beyond, job.work / job.rate.most_work)


@dataclass(frozen=True)
class Estimate:
    """What a run will take, stage by stage in the order of the workflow.

    `no_steps` counts the jobs of rules that are never recorded, such as the catalog's.
    """

    stages: Sequence[Stage]
    no_steps: Mapping[str, int]
    samples: Mapping[str, str]  # by corpus: samples per shard, and the source of the number
    free_bytes: int  # on the disk of the store

    def total(self, what: str) -> float:
        """Return the sum of a field of the stages: `jobs`, `cpu_hours`, `untimed` ..."""
        total: float = sum(getattr(each, what) for each in self.stages)
        return total


def estimate(workflow: Workflow, rates: Rates, sizes: ShardSizes) -> Estimate:
    """Return what the jobs that Snakemake would start will take.

    Results that the store may already have are not subtracted. Raise InputError if the number of
    samples per shard of some corpus is unknown.
    """
    stages: dict[str, Stage] = {}
    no_steps = Counter[str]()
    for job in workflow.jobs:
        if job.started and not workflow.is_step(job):
            no_steps[job.rule] += 1
    for each in estimate_jobs(workflow, rates, sizes):
        stages.setdefault(each.job.rule, Stage(each.job.rule, each.unit)).add(each)
    return Estimate(list(stages.values()), no_steps, sizes.said(), free_bytes(workflow.store))


def estimate_jobs(workflow: Workflow, rates: Rates, sizes: ShardSizes) -> list[JobEstimate]:
    """Return what each job that Snakemake would start takes, in order; `estimate` sums these."""
    sizes.learn(workflow.jobs)
    expected = _Expected(workflow, rates, sizes)
    found = []
    for job in workflow.jobs:
        if workflow.is_step(job):
            law = law_of(job.script)
            reading = expected.reading(job, law)
            expected.give(job, law, reading)
            if job.started:
                seen = expected.stated_work(job)
                found.append(_estimated(job, law, reading, rates, seen))
    return found


# --- what one job takes ------------------------------------------------------------------------


def _estimated(
    job: Job, law: Law, reading: Reading, rates: Rates, seen: float | None
) -> JobEstimate:
    model, device = model_of(job.params), device_of(job.resources)
    rate = rates.time(job.rule, model, device)
    # recorded rates are of whole manifests, those that a user states of samples that are seen
    work = law.work(reading) if seen is None or (rate and rate.records) else seen
    found = partial(JobEstimate, job, law.unit, work, device)
    if (law.compares or law.wide) and not reading.dimension:
        why = "hours and bytes: the dimension of the embeddings is unknown"
        return found(None, None, (why,))
    size = _size(job, law, reading, rates, work)
    unknown = []
    if rate is None:
        unknown.append(_no_rate(job.rule, model, device, rates))
    if size is None:
        which = _with(model) if law.weighs else ""
        unknown.append(f"bytes: no record of rule {job.rule}{which}")
    return found(rate, size, tuple(unknown))


def _no_rate(rule: str, model: str, device: str, rates: Rates) -> str:
    others = [each for each in rates.measured_on(rule, model) if each != device]
    elsewhere = f", only on {' and '.join(others)}" if others else ""
    return f"hours: no record of rule {rule}{_with(model)} on {device}{elsewhere}"


def _with(model: str) -> str:
    return f" with {model}" if model else ""


def _size(job: Job, law: Law, reading: Reading, rates: Rates, work: float) -> float | None:
    if law.adopts:
        return 0.0
    model = model_of(job.params)
    stated = rates.stated_bytes(job.rule, model)
    if stated is not None:
        return stated * work
    kinds = {output_kind(name, law) for name in job.outputs}
    of = model if law.weighs else None
    lines = {kind: rates.bytes(job.rule, of, kind) for kind in kinds | set(law.gives)}
    if any(lines[kind] is None for kind in kinds):
        return None
    return sum(line.at(law.size(kind, reading)) for kind, line in lines.items() if line)


# --- the rows that jobs are expected to give -----------------------------------------------------


class _Expected:
    """The rows of a run's files: of existing ones, and of those that jobs will give."""

    def __init__(self, workflow: Workflow, rates: Rates, sizes: ShardSizes) -> None:
        self._rows: dict[str, float] = {}
        self._dimensions: dict[str, int] = {}
        self._rates = rates
        self._sizes = sizes
        self._makers = {
            path: job for job in workflow.jobs for paths in job.outputs.values() for path in paths
        }
        self._sharers = Counter(_share(job) for job in workflow.jobs if law_of(job.script).shared)

    def reading(self, job: Job, law: Law) -> Reading:
        """Return what a job will read; the user's files count as having no rows."""
        of: Callable[[str], float] = lambda path: self._rows.get(path, 0.0)  # noqa: E731
        rows = {name: sum(map(of, paths)) for name, paths in job.inputs.items()}
        if law.counted:
            shards = len(job.params["shards"])
            rows["tars"] = self._sizes.samples(job.wildcards["corpus"]) * shards
        files = {name: len(paths) for name, paths in job.inputs.items()}
        sharers = self._sharers[_share(job)] if law.shared else 1
        firsts = [job.inputs[name][0] for name in EMBEDDING_INPUTS if job.inputs.get(name)]
        read = max((self._dimensions.get(path, UNKNOWN) for path in firsts), default=UNKNOWN)
        dimension = dimension_of(job.params) or read
        return Reading(rows, files, job.params, sharers, dimension)

    def stated_work(self, job: Job) -> float | None:
        """Return the samples that a training run sees, if the settings state its sets' sizes."""
        kept: dict[tuple[str, ...], float] = {}
        for manifest in self._manifests(job):
            maker = self._makers.get(manifest)
            size = law_of(maker.script).keeps(maker.params) if maker else None
            if maker is None or size is None:
                return None
            named = (value for name, value in maker.wildcards.items() if name != "part")
            kept[(maker.rule, *named)] = size
        return sum(kept.values()) * float(job.params["recipe"]["epochs"]) if kept else None

    def _manifests(self, job: Job) -> list[str]:
        """Return the manifests behind a training run's sealed one; none for other jobs."""
        sealing = [self._makers.get(path) for path in job.inputs.get("sealed", ())]
        return [
            path for seal in sealing if seal for path in seal.inputs[law_of(seal.script).carries]
        ]

    def give(self, job: Job, law: Law, reading: Reading) -> None:
        """Note the rows of a job's outputs, and the dimension of its embeddings."""
        for name, paths in job.outputs.items():
            for path in paths:
                if name in law.wide:
                    self._dimensions[path] = reading.dimension
                lying = None if job.started else _lying_rows(path)
                given = self._given(job, law, reading, name) if lying is None else lying
                self._rows[path] = reading.rows[law.carries] if law.carries else given

    def _given(self, job: Job, law: Law, reading: Reading, name: str) -> float:
        kind = output_kind(name, law)
        rows = self._rates.rows(job.rule, kind) * law.rows(kind, reading)
        return rows / len(job.outputs) if law.one_name else rows


def _share(job: Job) -> tuple[str, ...]:
    """Return what jobs that divide the rows of some files among them have in common."""
    paths: Iterable[str] = job.inputs.get(law_of(job.script).shared, ())
    return (job.rule, *paths)


def _lying_rows(path: str) -> float | None:
    with suppress(StoreError):
        return float(Pointer.read(Path(path)).rows)
    return None
