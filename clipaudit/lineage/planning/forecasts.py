"""Plan what each job of a workflow would do if Snakemake started now, and at what cost.

A job that reads another one's results is only possible: it may be cut off. But if no recorded
action agrees with what is known about it, and no other job of the run can turn out to be the same
work, it is certain.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from clipaudit.lineage.planning.costs import NOTHING, Cost, History
from clipaudit.lineage.planning.forecast import Forecast, Planned
from clipaudit.lineage.planning.reasons import Reason, changes
from clipaudit.steps.codedigest import code_parts, rule_sources
from clipaudit.steps.environment import gpus_of
from clipaudit.steps.jobs import Workflow
from clipaudit.store.actions import ActionInput, Ingredients
from clipaudit.store.code_records import read_code
from clipaudit.store.records import Record, read_records

Fact = tuple[object, ...]

_RECORDS_AT_ONCE = 5_000  # held in memory, some 10 kB each


@dataclass(frozen=True)
class Outlook:
    """A job with its fate, the reasons for its change, and the cost of computing it.

    An unchanged job has no reason and no cost.
    """

    planned: Planned
    reasons: Sequence[Reason] = ()
    cost: Cost = NOTHING


def outlook(workflow: Workflow) -> list[Outlook]:
    """Return the outlook of every job of a workflow, in its order.

    Jobs whose action keys are equal compute once: the first is certain, the others are stored,
    with the first as `twin`. Raise InputError for a user's file that cannot be read.
    """
    forecast = Forecast(workflow)
    planned = [forecast.fate(job) for job in workflow.jobs]
    moving = [each for each in planned if each.fate != "current"]
    history = History(forecast.store, {each.job.rule for each in moving if each.ingredients})
    planned = _settled(planned, forecast, history)
    past = (_past(each, history) for each in planned if each.fate != "current")
    before = read_records(forecast.store, filter(None, past))
    return [
        Outlook(each)
        if each.fate == "current"
        else Outlook(
            each,
            _reasons(each, before.get(_past(each, history)), forecast),
            history.cost(each.job.rule, each.job.wildcards, gpus_of(each.job.resources)),
        )
        for each in planned
    ]


# --- reasons -----------------------------------------------------------------------------------


def _past(planned: Planned, history: History) -> str:
    """Return the action to compare a job with: the one in place, else the last; "" if none."""
    last = history.last(planned.job.rule, planned.job.wildcards)
    return planned.placed or (last.action if last else "")


def _reasons(planned: Planned, before: Record | None, forecast: Forecast) -> list[Reason]:
    job, now = planned.job, planned.ingredients
    if now is None:
        return [Reason("job", job.cause)]
    reasons = []
    if planned.twin:
        reasons.append(Reason("job", "the same work as another job of this run", planned.twin))
    if planned.fault:
        reasons.append(Reason("object", planned.fault))
    if before is None:
        return [*reasons, Reason("job", "never computed before")]
    unknown = {
        name: {path: forecast.rule_of(path) for path in paths}
        for name, paths in planned.unknown.items()
    }
    code_now = {}
    if now.code != before.ingredients.code:
        code_now = code_parts(*rule_sources(job.script, job.params.get("code_files", ())))
    code_before = read_code(forecast.store, before.ingredients.code)
    reasons += changes(now, unknown, before.ingredients, code_now=code_now, code_before=code_before)
    return reasons or [Reason("job", job.cause or "another action's outputs are in its place")]


# --- jobs with unknown inputs ------------------------------------------------------------------


def _settled(planned: Sequence[Planned], forecast: Forecast, history: History) -> list[Planned]:
    """Return the jobs; possible ones that nothing can cut off become certain."""
    open_jobs = [each for each in planned if each.fate == "possible"]
    likeness = {id(each): _likeness(each) for each in open_jobs}
    rivals = Counter(likeness.values())
    alone = [each for each in open_jobs if rivals[likeness[id(each)]] == 1]
    coming = [each.ingredients for each in planned if each.key and each.fate == "certain"]
    sure = _without_precedent(alone, Precedents(filter(None, coming)), forecast)
    # most jobs find one in their own last execution; checking all others takes long
    own = [history.last(each.job.rule, each.job.wildcards) for each in sure]
    sure = _sift(sure, [past.action for past in own if past], forecast)
    codes = {(each.ingredients.step, each.ingredients.code) for each in sure if each.ingredients}
    sure = _sift(sure, history.actions(sorted(codes)), forecast)
    certain = {id(each) for each in sure}
    return [replace(each, fate="certain") if id(each) in certain else each for each in planned]


def _sift(jobs: list[Planned], actions: Sequence[str], forecast: Forecast) -> list[Planned]:
    """Return the jobs that cannot turn out to be one of these recorded actions."""
    for start in range(0, len(actions), _RECORDS_AT_ONCE):
        if jobs:
            read = read_records(forecast.store, actions[start : start + _RECORDS_AT_ONCE])
            recorded = Precedents(record.ingredients for record in read.values())
            jobs = _without_precedent(jobs, recorded, forecast)
    return jobs


def _without_precedent(
    jobs: Iterable[Planned], precedents: "Precedents", forecast: Forecast
) -> list[Planned]:
    return [each for each in jobs if not _has_precedent(each, precedents, forecast)]


def _has_precedent(planned: Planned, precedents: "Precedents", forecast: Forecast) -> bool:
    assert planned.ingredients is not None
    labels = {
        (name, position): forecast.sure_labels(path)
        for name, paths in planned.job.inputs.items()
        for position, path in enumerate(paths)
        if planned.inputs[name][position] is None
    }
    return precedents.agree(planned.ingredients, planned.inputs, labels)


def _likeness(planned: Planned) -> str:
    """Return a key that jobs share if they may turn out to be one action.

    Files of different jobs have different labels, so if labels count, paths distinguish them.
    """
    made_of = planned.ingredients
    assert made_of is not None
    inputs = {
        name: [
            [file.digest, dict(file.labels)] if file else path
            for path, file in zip(planned.job.inputs[name], files, strict=True)
        ]
        if made_of.reads_labels
        else len(files)
        for name, files in planned.inputs.items()
    }
    return _frame(made_of, inputs)


# --- recorded actions that such a job may turn out to be ----------------------------------------


class Precedents:
    """Ingredients of recorded actions, searchable for those that agree with partial ones.

    Only an action with the same step, code, settings, environment and known inputs can cut off a
    job with unknown inputs. If none is recorded, the job computes.
    """

    def __init__(self, recorded: Iterable[Ingredients]) -> None:
        """Index the ingredients of some actions, of any steps."""
        self._having: dict[tuple[str, Fact], list[int]] = {}
        self._facts: list[set[Fact]] = []
        self._alike: dict[str, list[int]] = {}
        for ingredients in recorded:
            number, frame = len(self._facts), _frame(ingredients, _shape(ingredients.inputs))
            facts = set(_facts(ingredients))
            self._facts.append(facts)
            self._alike.setdefault(frame, []).append(number)
            for fact in facts:
                self._having.setdefault((frame, fact), []).append(number)

    def agree(
        self,
        partial: Ingredients,
        inputs: Mapping[str, Sequence[ActionInput | None]],
        labels: Mapping[tuple[str, int], Mapping[str, str]],
    ) -> bool:
        """Return whether some recorded action agrees with what is known about a job.

        `inputs` replace `partial.inputs`, with None for unknown content; `labels` are the labels
        that these certainly have, by name and position.
        """
        frame = _frame(partial, _shape(inputs))
        known = set(_known(partial.reads_labels, inputs, labels))
        lists = [self._having.get((frame, fact), []) for fact in known]
        fewest = min([self._alike.get(frame, []), *lists], key=len)
        return any(known <= self._facts[number] for number in fewest)


def _frame(made_of: Ingredients, shape: Mapping[str, object]) -> str:
    """Return, as text, what must be equal whatever the inputs turn out to be."""
    alike = [made_of.step, made_of.code, made_of.settings, made_of.environment]
    return json.dumps([*alike, made_of.reads_labels, shape], sort_keys=True)


def _shape(inputs: Mapping[str, Sequence[object]]) -> dict[str, int]:
    return {name: len(files) for name, files in inputs.items()}


def _facts(recorded: Ingredients) -> Iterator[Fact]:
    """Yield everything that may be known about the inputs of a recorded action."""
    for name, files in recorded.inputs.items():
        for position, file in enumerate(files):
            yield _content(recorded.reads_labels, name, position, file)
            if recorded.reads_labels:
                yield from ((name, position, *pair) for pair in file.labels.items())


def _known(
    reads_labels: bool,
    inputs: Mapping[str, Sequence[ActionInput | None]],
    labels: Mapping[tuple[str, int], Mapping[str, str]],
) -> Iterator[Fact]:
    for name, files in inputs.items():
        for position, file in enumerate(files):
            if file is not None:
                yield _content(reads_labels, name, position, file)
            elif reads_labels:
                sure = labels.get((name, position), {})
                yield from ((name, position, *pair) for pair in sure.items())


def _content(reads_labels: bool, name: str, position: int, file: ActionInput) -> Fact:
    labels = frozenset(file.labels.items()) if reads_labels else frozenset()
    return name, position, file.digest, labels
