"""Four jobs that never ran, and what records of similar jobs say about them.

10 shards --index--> samples --embed--> embeddings --nearest, with 3 embeddings of tests--> ...
"""

from dataclasses import replace
from pathlib import Path

import pytest

from clipaudit.cli.estimates import estimate_lines
from clipaudit.lineage.planning.estimates import estimate
from clipaudit.lineage.planning.observations import Given, Observation
from clipaudit.lineage.planning.rates import Rates, StatedRate
from clipaudit.lineage.planning.shardsizes import ShardSizes
from clipaudit.steps.jobs import Job, Workflow

MODEL = {"architecture": {"open_clip": "ViT-B-32", "definition": None}, "encoder": {}}  # 512
GPU = StatedRate(device="cuda", per_second=0.5, bytes_each=6.0)


def job(rule, inputs, *outputs, gpu=0, **params):
    return Job(
        rule=rule,
        script=rule,
        wildcards={"corpus": "large"},
        params=params,
        inputs=inputs,
        outputs={name: [f"results/{rule}/{name}.json"] for name in outputs},
        threads=2,
        resources={"gpu": gpu},
        cause="its output is missing",
    )


INDEX = job("index", {"tars": []}, "samples", "drops", "shards", shards=list(range(10)))
EMBED = job("embed", {"samples": ["results/index/samples.json"]}, "embeddings", model=MODEL)
ON_GPU = job("embed", EMBED.inputs, "embeddings", model=MODEL, gpu=2)
NEAREST = job(
    "nearest",
    {
        "train": ["results/embed/embeddings.json"],
        "tests": ["results/index/shards.json"],  # ten rows, whatever their content
    },
    "similarities",
    "neighbors",
)
CATALOG = replace(job("catalog", {}), outputs={"catalog": ["results/audit.duckdb"]})


def seen(rule, work, seconds, model="", **given):
    kinds = {
        name: Given(rows, grown, size, grown * (512 if name == "embeddings" else 1))
        for name, (grown, rows, size) in given.items()
    }
    return Observation(rule, model, "cpu", work, seconds, 70, kinds)


INDEXED = {"samples": (100.0, 50.0, 500.0), "drops": (100.0, 50.0, 0.0), "shards": (2.0, 2.0, 4.0)}
EMBEDDED = {"embeddings": (50.0, 50.0, 1000.0)}
COMPARED = {"similarities": (50.0, 50.0, 100.0), "neighbors": (8.0, 8.0, 16.0)}
OBSERVED = [  # one of each: 100 samples from 2 shards, of which 50 were kept; 8 tests
    seen("index", 100.0, 3600.0, **INDEXED),
    seen("embed", 50.0, 7200.0, "ViT-B-32", **EMBEDDED),
    seen("nearest", 400.0 * 512, 3600.0, **COMPARED),
]


def of(*jobs, observed=OBSERVED, stated=None, shard=20, folder="store"):
    rates = Rates(observed, stated)
    workflow = Workflow(Path("results"), Path(folder), jobs)
    return estimate(workflow, rates, ShardSizes({"large": shard}))


def hours(found):
    return {stage.rule: stage.cpu_hours for stage in found.stages}


def test_samples_are_followed_from_shard_to_similarity():
    found = of(INDEX, EMBED, NEAREST)

    # 200 samples are indexed and 100 are kept; 100 x 10 pairs
    assert hours(found) == pytest.approx({"index": 2.0, "embed": 4.0, "nearest": 2.5})
    assert [stage.work for stage in found.stages] == [200, 100, 1000 * 512]


def test_a_stated_rate_counts_the_samples_that_settings_choose_for_the_sets():
    def made(rule, script, inputs, output, **params):
        job_ = job(rule, inputs, output, **params)
        return replace(job_, script=script, wildcards={"corpus": "large", "set": rule})

    chosen = {"chosen": {"set": "a", "size": 40}, "drawn": {"a": 90}}
    set_ = made("set_manifest", "set_manifest", {"base": INDEX.outputs["samples"]}, "m", **chosen)
    seal = made("seal", "seal", {"manifests": set_.outputs["m"]}, "sealed")
    train = job("train", {"sealed": seal.outputs["sealed"]}, "model", recipe={"epochs": 5}, gpu=1)
    shares = replace(set_, params={"chosen": {"set": "a", "size": None}, "drawn": {"a": 0.5}})

    work = {
        sets.params["drawn"]["a"]: of(INDEX, sets, seal, train, stated={"train": [GPU]}).stages[-1]
        for sets in (set_, shares)
    }

    assert work[90].work == 40 * 5
    assert work[90].gpu_hours == pytest.approx(40 * 5 / 0.5 / 3600)
    assert work[0.5].work == 100 * 5  # an unknown share: all samples of the manifest


def test_the_largest_memory_request_of_a_job_is_reported():
    large = replace(EMBED, resources={"gpu": 0, "mem_mb": 16_000})

    found = of(INDEX, large)

    assert [stage.asked_mb for stage in found.stages] == [0, 16_000]
    line = "largest memory request of one job: 16,000 MB (embed)"
    assert line in list(estimate_lines(found))


def test_bytes_are_those_of_the_outputs():
    found = of(INDEX, EMBED, NEAREST)

    assert [stage.bytes for stage in found.stages] == pytest.approx([1020.0, 2000.0, 220.0])
    assert found.total("bytes") == pytest.approx(3240.0)


def test_a_cpu_rate_gives_no_gpu_hours():
    found = of(INDEX, ON_GPU)

    assert found.total("gpu_hours") == 0
    assert found.total("untimed") == 1
    assert dict(found.stages[1].unknown) == {
        "hours: no record of rule embed with ViT-B-32 on cuda, only on cpu": 1
    }
    assert found.total("unsized") == 0  # bytes are the same on any device


def test_a_stated_rate_gives_gpu_hours_and_the_cpu_hours_beside_them():
    found = of(INDEX, ON_GPU, stated={"embed": [GPU]})

    # 100 samples at one per two seconds, on two GPUs with two cores
    assert found.total("gpu_hours") == pytest.approx(200 / 3600)
    assert found.stages[1].cpu_hours == pytest.approx(200 / 3600)
    assert found.stages[1].bytes == 600


def test_the_cpu_hours_beside_a_gpu_are_of_the_cores_that_a_cluster_reserves():
    asked = replace(ON_GPU, resources={"gpu": 4, "nodes": 2, "cpus_per_task": 8})

    found = of(INDEX, asked, stated={"embed": [GPU]})

    # on two nodes of two GPUs and eight cores: 50 s
    assert found.stages[1].cpu_hours == pytest.approx(2 * 8 * 50 / 3600)


def test_a_step_without_a_record_is_unknown_and_its_rows_still_propagate():
    found = of(INDEX, EMBED, NEAREST, observed=[each for each in OBSERVED if each.rule != "embed"])

    assert found.stages[1].unknown.keys() == {
        "hours: no record of rule embed with ViT-B-32 on cpu",
        "bytes: no record of rule embed",
    }
    assert found.stages[2].work == 1000 * 512


def test_jobs_larger_than_all_recorded_ones_report_by_how_much():
    assert of(INDEX, shard=500).stages[0].beyond == 50


def test_rules_that_are_not_steps_are_counted_separately():
    found = of(INDEX, CATALOG)

    assert dict(found.no_steps) == {"catalog": 1}
    assert [stage.rule for stage in found.stages] == ["index"]


def test_embeddings_of_unknown_dimension_have_no_time_or_size():
    taken = job("take_embeddings", EMBED.inputs, "embeddings")

    (_, stage) = of(INDEX, taken).stages

    assert (stage.untimed, stage.unsized) == (1, 1)
    assert [*stage.unknown] == ["hours and bytes: the dimension of the embeddings is unknown"]
