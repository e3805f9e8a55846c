"""The output of `clipaudit plan`, compared with what the next run computes."""

import io
import json
import os
import re
import shutil
import tarfile

import pytest

EVERYTHING = "all_tables all_figures"
SEALED = "large-deduplicated-and-small.sketch-pruned"
PLAN = (
    "from clipaudit.cli.options import Group; from clipaudit.cli.plan import plan; "
    "Group(commands=[plan])()"
)


def planned(project, target=EVERYTHING, *options):
    config = ("--configfile", "config/micro.yaml", "--profile", "profiles/local")
    asked = [*config, *options, "--format", "json", *target.split()]
    text = project.python("-c", PLAN, "plan", *asked)
    return json.loads(text)["jobs"]


def of_fate(jobs, *fates):
    return {name(job["rule"], job["wildcards"]) for job in jobs if job["fate"] in fates}


def name(step, wildcards):
    return " ".join([step, *(f"{key}={value}" for key, value in sorted(wildcards.items()))])


def records(project):
    lineage = project.store / "lineage"
    return {path for path in lineage.glob("??/*/*.json")}


def check_against_a_run(project, target=EVERYTHING):
    """Plan, run, compare; return the plan and the computed steps."""
    jobs, before = planned(project, target), records(project)
    project.run(target=target)

    computed = [json.loads(path.read_text()) for path in sorted(records(project) - before)]
    done = {name(each["ingredients"]["step"], each["wildcards"]) for each in computed}
    keys = {each["action"] for each in computed}
    steps = [job for job in jobs if job["step"]]
    certain = [job for job in steps if job["fate"] == "certain"]
    # two jobs with one key: either may have computed it, so they are compared by key
    by_name = [job for job in certain if not job["action"]]
    assert {job["action"] for job in certain if job["action"]} <= keys
    assert of_fate(by_name, "certain") <= done
    same_key = {name(job["rule"], job["wildcards"]) for job in steps if job["action"] in keys}
    assert done <= of_fate(steps, "possible", "certain") | same_key
    assert all(job["fate"] in {"certain", "stored"} for job in steps if job["action"] in keys)
    return jobs, sorted(each["ingredients"]["step"] for each in computed)


# --- changes -----------------------------------------------------------------------------------


def change_nothing(project):
    pass


def remove_results(project):
    shutil.rmtree(project.results)


def remove_what_snakemake_remembers(project):
    shutil.rmtree(project.folder / ".snakemake")
    change_a_gap_rule(project)


def comment_a_module(project):
    path = project.folder / "clipaudit/similarity/gap.py"
    path.write_text(path.read_text() + "\n# a comment\n")


def change_gap_code(project):
    project.edit(
        "clipaudit/similarity/gap.py",
        "reasons = pa.repeat(reason, len(crossings))",
        "reasons = pa.array([reason] * len(crossings), pa.string())",
    )


def change_a_gap_rule(project):
    """Drop one more sample of each part, only for the sketches."""
    project.edit(
        "clipaudit/similarity/gap.py",
        "    crossings = _largest_crossing(similarities, test_sets, margin)\n",
        "    crossings = _largest_crossing(similarities, test_sets, margin)\n"
        '    if list(test_sets) == ["sketch"]:\n'
        '        crossings = base.filter(base["kept"]).slice(0, 1).select(["shard", "row"])\n',
    )


def change_a_deduplication(project):
    project.edit("config/micro.yaml", "threshold: 0.9999997", "threshold: 0.9999998")


def change_a_recipe(project):
    project.edit("config/micro.yaml", "learning_rate: 1.0e-3", "learning_rate: 2.0e-3")


def change_near_gap(project):
    project.edit(
        "config/micro.yaml",
        "test_sets: [val, sketch]",
        "test_sets: [val, sketch]\n  near_gap: 0.5",
    )


def change_a_title(project):
    project.edit("config/micro.yaml", "  large: {shards:", "  large: {title: Large, shards:")


def change_the_world(project):
    project.edit("config/micro.yaml", "seed: 0", "seed: 1")


def change_a_caption(project):
    path = project.folder / "data/micro/large/00000.tar"
    copy = io.BytesIO()
    with tarfile.open(path) as old, tarfile.open(fileobj=copy, mode="w") as new:
        for number, member in enumerate(old):
            content = old.extractfile(member).read()
            if member.name.endswith(".txt") and number < 3:
                content = b"another caption"
                member.size = len(content)
            new.addfile(member, io.BytesIO(content))
    path.write_bytes(copy.getvalue())


def touch_a_shard(project):
    os.utime(project.folder / "data/micro/large/00000.tar")


def append_a_shard(project):
    project.edit("config/micro.yaml", "{00000..00003}", "{00000..00004}")


def comment_sql(project):
    for path in (project.folder / "clipaudit").glob("*/reports/sql/*.sql"):
        if not path.is_symlink():
            path.write_text("-- a comment\n" + path.read_text())


def change_sql(project):
    path = project.folder / "clipaudit/similarity/reports/sql/similarity_table1.sql"
    path.write_text(re.sub(r"order by", "order by 1, ", path.read_text(), count=1))


def remove_an_object(project):
    digest = project.digests()["manifests/large/deduplicated.sketch-pruned/00000.json"]
    (project.store / "objects" / digest[:2] / digest[2:]).unlink()


def remove_an_object_and_its_pointer(project):
    remove_an_object(project)
    (project.results / "manifests/large/deduplicated.sketch-pruned/00000.json").unlink()
    (project.results / f"sealed/{SEALED}.json").unlink()


# --- the matrix --------------------------------------------------------------------------------


def test_a_finished_run_is_up_to_date(project):
    jobs, computed = check_against_a_run(project)

    assert {job["fate"] for job in jobs} == {"current"}
    assert computed == []


def test_changed_code_is_certain_and_its_reader_is_possible(project):
    change_gap_code(project)
    target = f"results_micro/sealed/{SEALED}.json"

    jobs, computed = check_against_a_run(project, target)

    reasons = {each["what"] for job in jobs if job["fate"] == "certain" for each in job["reasons"]}
    assert reasons == {"module clipaudit.similarity.gap changed"}
    assert computed == ["gap"] * 2
    (possible,) = [job for job in jobs if job["fate"] == "possible"]
    assert possible["rule"] == "seal"
    assert possible["cut_off_if_as_before"]


def test_a_vocabulary_that_moves_computes_nothing(project):
    shutil.copy(project.folder / "data/micro/bpe.txt.gz", project.folder / "words.txt.gz")
    project.edit("config/micro.yaml", "data/micro/bpe.txt.gz", "words.txt.gz")

    jobs, computed = check_against_a_run(project, "results_micro/embeddings/own/small/00000.json")

    assert {"embed", "train"} <= {job["rule"] for job in jobs}
    assert of_fate(jobs, "certain", "possible") == set()
    assert computed == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        remove_results,
        remove_what_snakemake_remembers,
        comment_a_module,
        change_gap_code,
        change_a_gap_rule,
        change_a_deduplication,
        change_a_recipe,
        change_near_gap,
        change_a_title,
        change_the_world,
        change_a_caption,
        touch_a_shard,
        append_a_shard,
        comment_sql,
        change_sql,
        remove_an_object,
        remove_an_object_and_its_pointer,
    ],
)
def test_a_run_computes_what_was_planned(project, change):
    change(project)

    check_against_a_run(project)


@pytest.mark.slow
def test_a_setting_that_is_switched_back_is_stored(project):
    target = "results_micro/tables/similarity_table1.json"
    change_a_title(project)
    project.run(target=target)
    project.edit("config/micro.yaml", "title: Large, ", "")

    jobs, computed = check_against_a_run(project, target)

    assert [job["rule"] for job in jobs if job["fate"] == "stored"] == ["report_table"]
    assert computed == []


@pytest.mark.slow
def test_planning_writes_nothing(fresh):
    before = sorted(path for path in fresh.folder.rglob("*"))

    jobs = planned(fresh)

    assert sorted(path for path in fresh.folder.rglob("*")) == before
    assert {job["fate"] for job in jobs} <= {"certain", "possible"}


@pytest.mark.slow
def test_a_first_run_computes_what_was_planned(fresh):
    check_against_a_run(fresh)
