"""Forecast a run: what each job, in order, would find, and so what it would do.

Ingredients are formed as in `clipaudit.steps.step.Step`, from the predicted outputs of earlier
jobs; if Snakemake starts nothing, from the files in place. The outputs of a job that computes are
unknown, and so is the key of a job that reads them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal

from clipaudit.errors import StoreError
from clipaudit.remote.digests import RemoteDigests
from clipaudit.remote.urls import is_url
from clipaudit.steps.environment import environment_of
from clipaudit.steps.filedigests import FileDigests
from clipaudit.steps.inputs import SHARD_INPUTS, is_pointer
from clipaudit.steps.jobs import Job, Workflow
from clipaudit.steps.params import settings_of, threads_of
from clipaudit.store.actions import ActionCache, ActionInput, ActionOutput, Ingredients
from clipaudit.store.placements import Placement, placement
from clipaudit.store.sharing import GroupStore
from clipaudit.store.store import Pointer, Store

Fate = Literal["certain", "possible", "stored", "current", "unseen"]


@dataclass(frozen=True)
class Planned:
    """A job and its fate.

    certain    it computes
    possible   it computes, unless its unknown inputs match those of a recorded action
    stored     it is started, and takes its results from the store
    current    its outputs in place stay
    unseen     its outputs in place are out of date, but Snakemake does not see it
    """

    job: Job
    fate: Fate
    ingredients: Ingredients | None = None  # with the known inputs; None if it is not a step
    inputs: Mapping[str, Sequence[ActionInput | None]] = field(default_factory=dict)
    key: str | None = None  # None while an input is unknown
    placed: str | None = None  # the action that placed its current outputs
    as_before: bool = False  # whether it is cut off if its unknown inputs come out unchanged
    twin: str = ""  # an output of the job in this run that does the same work
    fault: str = ""  # the fault of a stored object that it would have taken

    @property
    def unknown(self) -> dict[str, list[str]]:
        """Return the paths, by input name, whose content is unknown before the run."""
        waiting = {
            name: [
                path for path, file in zip(self.job.inputs[name], files, strict=True) if not file
            ]
            for name, files in self.inputs.items()
        }
        return {name: paths for name, paths in waiting.items() if paths}


class Forecast:
    """What is known about the files of a run while its jobs are processed."""

    def __init__(self, workflow: Workflow) -> None:
        """Start with the results folder and the store of a workflow."""
        self._workflow = workflow
        self.results = workflow.results
        self.store = Store(workflow.store)
        self._makers: dict[str, Job] = {}
        self._cache = ActionCache(self.store)
        self._group_store = GroupStore.of_settings(workflow.shared_store)
        self._digests = FileDigests(workflow.store / "files")
        self._remote = RemoteDigests(self.store)
        self._lying = cache(self._read)
        self._placed_at = cache(self._read_pointer)
        self._coming: dict[str, ActionInput | None] = {}  # None: not known before the run
        self._if_as_before: dict[str, ActionInput] = {}  # of those: what a stored action would give
        self._computing: dict[str, str] = {}  # key -> first output of the job that computes it

    def fate(self, job: Job) -> Planned:
        """Return the fate of a job; those of its inputs' makers must be known."""
        self._makers |= {path: job for path in _outputs(job)}
        if not self._workflow.is_step(job):  # plain files, the catalog: only Snakemake decides
            if job.started:
                self._give_nothing_known(job)
            return Planned(job, "certain" if job.started else "current")
        job = self._with_urls(job)
        try:
            inputs = {
                name: [self._content(path) for path in paths] for name, paths in job.inputs.items()
            }
        except StoreError:
            if job.started:
                raise
            return Planned(job, "current")  # its old inputs were removed: nothing needs them
        ingredients = Ingredients(
            step=job.rule,
            code=job.params["code"],
            settings=settings_of(job.params),
            inputs={name: [file for file in files if file] for name, files in inputs.items()},
            environment=environment_of(
                job.params.get("numeric", ()), job.resources, threads_of(job)
            ),
            reads_labels=job.params.get("reads_labels", True),
        )
        planned = Planned(job, "possible", ingredients, inputs, placed=self._placed(job))
        if planned.unknown and not job.started:  # only if a rule marks an input as ancient
            return replace(planned, fate="current")
        if planned.unknown:
            return self._of_unknown(planned, ingredients)
        key = ingredients.key()
        planned = replace(planned, key=key)
        return self._of_known(planned, key) if job.started else self._of_unstarted(planned, key)

    def rule_of(self, path: str) -> str:
        """Return the rule that makes a file; "" for a user's."""
        return self._makers[path].rule if path in self._makers else ""

    def sure_labels(self, path: str) -> dict[str, str]:
        """Return labels that a new file certainly has: those that its job does not rename."""
        job = self._makers[path]
        if not self._workflow.is_step(job):
            return {}
        renamed = job.params.get("renamed", ())
        return {name: value for name, value in job.wildcards.items() if name not in renamed}

    # --- kinds of jobs --------------------------------------------------------------------------

    def _of_unstarted(self, planned: Planned, key: str) -> Planned:
        lying = self._lying_outputs(planned.job)
        if planned.placed == key:
            faults = (self._visible_fault(pointer) for pointer, _ in lying.values())
            fault = next(filter(None, faults), "")
            return replace(planned, fate="unseen" if fault else "current", fault=fault)
        outputs = self._cache.recorded(key)
        same = outputs is not None and self._lies(planned.job, outputs)
        # if nothing is there, no job that reads it starts, so nothing needs it
        return replace(planned, fate="current" if same or not lying else "unseen")

    def _of_known(self, planned: Planned, key: str) -> Planned:
        job = planned.job
        outputs, fault = self._stored(key)
        if outputs:
            lies = self._lies(job, outputs)
            self._coming |= _files(job, key, outputs)
            return replace(planned, fate="current" if lies else "stored")
        self._give_nothing_known(job)
        if key in self._computing:
            return replace(planned, fate="stored", twin=self._computing[key])
        self._computing[key] = next(_outputs(job))
        return replace(planned, fate="certain", fault=fault)

    def _of_unknown(self, planned: Planned, known: Ingredients) -> Planned:
        job = planned.job
        self._give_nothing_known(job)
        expected: dict[str, list[ActionInput]] = {name: [] for name in job.inputs}
        for name, paths in job.inputs.items():
            for path in paths:
                file = self._expected(path)
                if file is None:
                    return planned
                expected[name].append(file)
        key = replace(known, inputs=expected).key()
        outputs, _ = self._stored(key)
        if outputs:
            self._if_as_before |= _files(job, key, outputs)
        return replace(planned, as_before=bool(outputs))

    # --- files ----------------------------------------------------------------------------------

    def _with_urls(self, job: Job) -> Job:
        """Return a job with its remote shards replaced by their URLs, as its step will do."""
        inputs = dict(job.inputs)
        if urls := list(job.params.get("urls", ())):
            inputs["tars"] = [*urls, *inputs.get("tars", ())]
        for name in SHARD_INPUTS & inputs.keys():
            inputs[name] = [url for path in inputs[name] for url in self._listed_urls(path)]
        return replace(job, inputs=inputs)

    def _listed_urls(self, path: str) -> Sequence[str]:
        """Return the URLs that an index at a path lists; any other path stands for itself."""
        indexed = self._makers[path].params.get("urls") if path in self._makers else None
        return indexed or [path]

    def _content(self, path: str) -> ActionInput | None:
        """Return what a step will read at a path; None if unknown before the run."""
        return self._coming[path] if path in self._coming else self._lying(path)

    def _expected(self, path: str) -> ActionInput | None:
        """Return what a step will read if all new files come out unchanged."""
        known = self._if_as_before.get(path) or self._coming.get(path)
        if known is None and Path(path).exists():
            with suppress(StoreError):
                return self._lying(path)
        return known

    def _read(self, path: str) -> ActionInput | None:
        if is_url(path):  # as last seen: a plan makes no network requests
            known = self._remote.recorded(path)
            return ActionInput(known, path) if known else None
        if not is_pointer(Path(path), self.results):
            return ActionInput(self._digests.digest(Path(path), must_record=False), path)
        pointer, placed = self._placed_at(path)
        return ActionInput(pointer.digest, path, placed.labels, placed.action)

    def _read_pointer(self, path: str) -> tuple[Pointer, Placement]:
        placed = placement(self.results, Path(path))
        return Pointer.read(Path(path)), placed

    def _give_nothing_known(self, job: Job) -> None:
        self._coming |= dict.fromkeys(_outputs(job))

    def _placed(self, job: Job) -> str | None:
        return next((placed.action for _, placed in self._lying_outputs(job).values()), None)

    def _lying_outputs(self, job: Job) -> dict[str, tuple[Pointer, Placement]]:
        """Return the current pointers at the paths of a job's outputs, by output name."""
        found = {}
        for name, (path, *_) in job.outputs.items():
            with suppress(StoreError):
                found[name] = self._placed_at(path)
        return found

    def _lies(self, job: Job, outputs: Mapping[str, ActionOutput]) -> bool:
        """Return whether these outputs, with their new labels, are already in place."""
        lying = {
            name: (pointer, dict(placed.labels))
            for name, (pointer, placed) in self._lying_outputs(job).items()
        }
        return lying == {
            name: (outputs[name].pointer, _labels(job, outputs[name]))
            for name in job.outputs
            if name in outputs
        }

    # --- the store ------------------------------------------------------------------------------

    def _stored(self, key: str) -> tuple[dict[str, ActionOutput] | None, str]:
        """Return the outputs that a step would take from a store, or the fault of one."""
        outputs = self._cache.recorded(key)
        for output in (outputs or {}).values():
            fault = self.store.fault(output.pointer)
            if fault:
                return None, fault
        if outputs is None and self._group_store is not None:
            outputs = self._group_store.offer(key)
        return outputs, ""

    def _visible_fault(self, pointer: Pointer) -> str:
        """Return an object's fault, as far as it shows without reading the object."""
        try:
            size = self.store.path(pointer.digest).stat().st_size
        except FileNotFoundError:
            return "the object is missing"
        if size != pointer.bytes:
            return f"the object has {size} bytes, its pointer says {pointer.bytes}"
        return ""


def _outputs(job: Job) -> Iterator[str]:
    return chain.from_iterable(job.outputs.values())


def _labels(job: Job, output: ActionOutput) -> dict[str, str]:
    return {**job.wildcards, **output.labels}


def _files(job: Job, key: str, outputs: Mapping[str, ActionOutput]) -> dict[str, ActionInput]:
    """Return the files that a job places, as the jobs that read them will describe them."""
    return {
        path: ActionInput(outputs[name].pointer.digest, path, _labels(job, outputs[name]), key)
        for name, (path, *_) in job.outputs.items()
        if name in outputs
    }
