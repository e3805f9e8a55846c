"""The output of `clipaudit plan --estimate` for a run, compared with the run's own records."""

import json
from collections import Counter

import pytest

ELSEWHERE = ("--config", "results=elsewhere")  # an empty folder, so that every job would start
SETTINGS = ("--configfile", "config/micro.yaml", "--profile", "profiles/local")


def estimated(project, *options):
    asked = ("plan", "all_tables", "all_figures", "--estimate", *SETTINGS, *ELSEWHERE, *options)
    return project.clipaudit(*asked)


def recorded(project):
    return [json.loads(path.read_text()) for path in sorted(project.computed())]


def test_an_estimate_from_a_runs_own_records_matches_the_run(finished):
    found = json.loads(estimated(finished, "--format", "json"))

    records = recorded(finished)
    ran = Counter(record["ingredients"]["step"] for record in records)
    hours = sum(each["execution"]["seconds"] * each["execution"]["threads"] for each in records)
    outputs = [output["pointer"] for record in records for output in record["outputs"].values()]
    expected = {"cpu_hours": hours / 3600, "bytes": sum(each["bytes"] for each in outputs)}
    # equal manifests are trained once: an estimate cannot know it and counts a job for each
    once = {each["rule"]: ran[each["rule"]] / each["jobs"] for each in found["stages"]}
    for what, taken in expected.items():
        total = sum(each[what] * once[each["rule"]] for each in found["stages"])
        assert total == pytest.approx(taken, rel=0.1)


def test_an_estimate_from_a_runs_own_records_leaves_nothing_unknown(finished):
    total = json.loads(estimated(finished, "--format", "json"))["total"]

    assert (total["untimed"], total["unsized"]) == (0, 0)


def test_each_rule_shows_its_records_and_its_device(finished):
    lines = estimated(finished).splitlines()

    assert "samples of large: 32 per shard (world micro)" in lines
    (embed,) = [line for line in lines if line.startswith("embed ")]
    assert "samples" in embed
    assert "cpu, " in embed
    assert lines[-1].startswith("free on the store's disk: ")


def test_a_store_without_records_leaves_hours_unknown(finished, tmp_path):
    lines = estimated(finished, "--rates", str(tmp_path)).splitlines()

    assert any("hours: no record of rule gap on cpu" in line for line in lines)
    assert "needed on the store's disk: at least 0 B" in lines


def test_records_have_their_device_and_cpu_seconds(finished):
    ran = [record["execution"] for record in recorded(finished)]

    assert {each["device"] for each in ran} == {"cpu"}
    assert all(each["cpu_seconds"] >= 0 for each in ran)
    assert sum(each["cpu_seconds"] for each in ran) > 1
