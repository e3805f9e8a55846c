"""What a plan says about an encoder that is trained here: twelve jobs read its embeddings."""

from types import SimpleNamespace

import pytest

from clipaudit.lineage.planning.forecast import Planned
from clipaudit.lineage.planning.forecasts import Outlook
from clipaudit.lineage.planning.freezable import freezable_encoders
from clipaudit.steps.jobs import Job, Workflow
from clipaudit.store.store import replace_text


def job(rule, inputs, output):
    return Job(rule, rule, {}, {}, {"read": inputs}, {"made": [output]}, 1, {}, "new")


@pytest.fixture
def told(tmp_path):
    """Return a function: the messages for a plan with some jobs that depend on the encoder."""
    results = tmp_path / "results"
    model = str(results / "models/base/large.json")
    encoders = {
        "own": SimpleNamespace(model="base/large"),
        "own.drawn": SimpleNamespace(model="base/large"),
        "clip": SimpleNamespace(model=None),
    }
    recipes = {"base": SimpleNamespace(architecture="tiny")}

    def told(hanging, others=0, trained=True, fate="possible"):
        if trained:
            replace_text(results / "models/base/large.json", "{}")
        jobs = [job("train", ["sealed"], model), job("embed", [model], "vectors")]
        jobs += [job("nearest", ["vectors"], f"near {number}") for number in range(hanging - 1)]
        jobs += [job("hash", ["tar"], f"hash {number}") for number in range(others)]
        run = SimpleNamespace(encoders=encoders, recipes=recipes)
        workflow = Workflow(results, tmp_path / "store", jobs, run=run)
        return list(freezable_encoders([Outlook(Planned(each, fate)) for each in jobs], workflow))

    return told


def test_jobs_at_any_distance_are_counted_and_the_settings_to_freeze_it_are_given(told, tmp_path):
    (sentence,) = told(12)

    first = "12 of these 13 jobs depend on the encoder own, which is trained here"
    assert sentence.startswith(first)
    assert f"cp -L {tmp_path}/results/models/base/large.safetensors own.safetensors" in sentence
    assert "encoders.own to {architecture: tiny, pretrained: own.safetensors}" in sentence


@pytest.mark.parametrize(
    "plan",
    [
        {"hanging": 5},
        {"hanging": 12, "others": 30},
        {"hanging": 12, "trained": False},
        {"hanging": 12, "fate": "current"},
    ],
    ids=["few jobs", "most jobs do not depend on it", "never trained", "nothing to compute"],
)
def test_otherwise_nothing_is_reported(told, plan):
    assert told(**plan) == []
