"""Three jobs over a user's file, a real store, and the plan for them.

user.tar --index--> results/samples.json --prune--> results/kept.json
"""

from dataclasses import replace
from pathlib import Path

import pytest

from clipaudit.lineage.planning.costs import Cost
from clipaudit.lineage.planning.forecasts import outlook
from clipaudit.steps.jobs import Job, Workflow
from clipaudit.store.actions import ActionCache, ActionOutput
from clipaudit.store.placements import Placement, place
from clipaudit.store.records import Execution, Record, write_record
from clipaudit.store.store import Store, replace_text

RAN = Execution("2026-01-01T00:00:00.000+00:00", 3600.0, "here", 1, 1, {}, {})


class Project:
    """A folder with a user's file, a store, and results that do not exist yet."""

    def __init__(self, folder):
        self.folder = folder
        self.store = Store(folder / "store")
        self.results = folder / "results"
        (folder / "user.tar").write_text("content")
        self.index = self.job("index", {"tars": "user.tar"}, "results/samples.json")
        self.prune = self.job("prune", {"base": "results/samples.json"}, "results/kept.json")

    def job(self, rule, inputs, output, **params):
        return Job(
            rule=rule,
            script=rule,
            wildcards={"corpus": "large"},
            params={"code": f"code of {rule}", **params},
            inputs={name: [str(self.folder / path)] for name, path in inputs.items()},
            outputs={"table": [str(self.folder / output)]},
            threads=1,
            resources={},
            cause="its output is missing",
        )

    def plan(self, *jobs):
        return outlook(Workflow(self.results, self.store.root, jobs))

    def fates(self, *jobs):
        return [each.planned.fate for each in self.plan(*jobs)]

    def run(self, *jobs):
        """Compute what is not in the store and put it in place, as the steps would."""
        for job in jobs:
            (found,) = self.plan(job)
            pointer = self.store.put_bytes(f"what {job.rule} gives".encode(), schema="x")
            outputs = {"table": ActionOutput(pointer, ".bin")}
            ingredients, key = found.planned.ingredients, found.planned.key
            ActionCache(self.store).record(key, outputs)
            write_record(self.store, Record(key, ingredients, outputs, job.wildcards, RAN))
            path = Path(job.outputs["table"][0])
            place(self.results, path, Placement(key, "table", job.wildcards))
            replace_text(path, pointer.to_json())

    def object_of(self, job):
        (found,) = self.plan(job)
        outputs = ActionCache(self.store).recorded(found.planned.key)
        return self.store.path(outputs["table"].pointer.digest)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def finished(project):
    project.run(project.index, project.prune)
    return project


def asked(job, **settings):
    return replace(job, params={**job.params, **settings})


def left(job):
    """Return a job that Snakemake does not start."""
    return replace(job, cause="")


def reasons(outlook):
    return [str(reason) for reason in outlook.reasons]


def test_a_job_that_was_never_computed_is_certain(project):
    first, second = project.plan(project.index, project.prune)

    assert (first.planned.fate, second.planned.fate) == ("certain", "certain")
    assert reasons(first) == ["never computed before"]


def test_an_unchanged_job_that_is_not_started_is_up_to_date(finished):
    assert finished.fates(left(finished.index), left(finished.prune)) == ["current", "current"]


def test_an_unchanged_job_that_is_started_is_up_to_date(finished):
    assert finished.fates(finished.index, finished.prune) == ["current", "current"]


def test_removed_pointers_are_restored_from_the_store(finished):
    for name in ("samples.json", "kept.json"):
        (finished.results / name).unlink()

    first, second = finished.plan(finished.index, finished.prune)

    assert (first.planned.fate, second.planned.fate) == ("stored", "stored")
    assert reasons(first) == ["its output is missing"]


def test_a_job_with_a_changed_setting_is_certain_and_its_reader_is_possible(finished):
    first, second = finished.plan(asked(finished.index, seed=1), finished.prune)

    assert (first.planned.fate, second.planned.fate) == ("certain", "possible")
    assert reasons(first) == ["seed added: 1"]
    assert reasons(second) == [
        f"input base is made again by index: {finished.results}/samples.json"
    ]
    assert second.planned.as_before


def test_a_job_that_no_stored_action_matches_is_certain_whatever_it_reads(finished):
    jobs = asked(finished.index, seed=1), asked(finished.prune, seed=1)

    assert finished.fates(*jobs) == ["certain", "certain"]


def test_an_action_of_an_earlier_run_can_make_a_job_unnecessary(finished):
    """The setting differs from the last run but equals the run before."""
    finished.run(asked(finished.prune, seed=2))

    fates = finished.fates(asked(finished.index, seed=1), finished.prune)

    assert fates == ["certain", "possible"]


def test_a_setting_that_is_switched_back_is_stored(finished):
    finished.run(asked(finished.index, seed=1))

    assert finished.fates(finished.index) == ["current"]  # the same content is there
    (finished.results / "samples.json").unlink()
    assert finished.fates(finished.index) == ["stored"]


def test_equal_work_is_computed_once(project):
    other = replace(project.index, outputs={"table": [str(project.results / "other.json")]})

    first, second = project.plan(project.index, other)

    assert (first.planned.fate, second.planned.fate) == ("certain", "stored")
    assert reasons(second)[0] == (
        f"the same work as another job of this run: {project.results}/samples.json"
    )


def test_work_that_may_turn_out_equal_is_possible(project):
    other = project.job("index", {"tars": "user.tar"}, "results/other.json", seed=1)
    base, below = (
        project.job(
            "prune", {"base": f"results/{name}.json"}, f"results/{below}.json", reads_labels=False
        )
        for name, below in (("samples", "kept"), ("other", "more"))
    )

    fates = project.fates(project.index, other, base, below)

    assert fates == ["certain", "certain", "possible", "possible"]


def test_a_change_that_is_not_started_is_unseen(finished):
    (found,) = finished.plan(left(asked(finished.index, seed=1)))

    assert found.planned.fate == "unseen"
    assert reasons(found) == ["seed added: 1"]


def test_a_missing_object_is_computed_again_if_its_job_is_started(finished):
    finished.object_of(finished.index).unlink()

    first, second = finished.plan(finished.index, finished.prune)

    assert (first.planned.fate, second.planned.fate) == ("certain", "possible")
    assert reasons(first)[0] == "the object is missing"


def test_a_missing_object_is_unseen_if_its_job_is_not_started(finished):
    finished.object_of(finished.index).unlink()

    (found,) = finished.plan(left(finished.index))

    assert found.planned.fate == "unseen"
    assert reasons(found) == ["the object is missing"]


def test_a_changed_user_file_is_named(finished):
    (finished.folder / "user.tar").write_text("other content")

    first, _ = finished.plan(finished.index, finished.prune)

    assert first.planned.fate == "certain"
    assert reasons(first)[0].startswith(f"input tars changed: {finished.folder}/user.tar, ")


def test_a_rule_that_is_not_a_step_runs_if_it_is_started(finished):
    draw = finished.job("draw", {}, "user.tar")

    first, second = finished.plan(draw, finished.index)

    assert (first.planned.fate, second.planned.fate) == ("certain", "possible")
    assert second.planned.as_before
    assert finished.fates(left(draw), left(finished.index)) == ["current", "current"]


def test_an_absent_pointer_that_nothing_requests_is_ignored(finished):
    (finished.results / "samples.json").unlink()

    assert finished.fates(left(finished.index), left(finished.prune)) == ["current", "current"]


def test_costs_are_those_of_the_last_run(finished):
    first, second = finished.plan(asked(finished.index, seed=1), left(finished.prune))

    assert first.cost == Cost(jobs=1, cpu_hours=1.0, bytes=len("what index gives"))
    assert second.cost == Cost()
