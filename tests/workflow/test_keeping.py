"""`verify` and `gc` over a finished run: damage is reported and repaired; only garbage goes."""

import contextlib
import os
import shutil
import subprocess

import pytest

FLAGS = ("--results", "results_micro", "--store", "store_micro")
REPAIR = (*FLAGS, "--repair", "--configfile", "config/micro.yaml")
GC = ("gc", "--store", "store_micro", "--grace", "0s")
SAMPLES = "samples/large/00000.json"
MODEL = "models/brief/small.json"


def path_of(project, pointer):
    digest = project.digests()[pointer]
    return project.store / "objects" / digest[:2] / digest[2:]


def flip(path):
    """Change one byte without the store's knowledge."""
    os.chmod(path, 0o644)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_verify_hashes_every_object(finished):
    output = finished.clipaudit("verify", *FLAGS, "--strict")

    assert "all as they were written" in output


@pytest.mark.long
@pytest.mark.timeout(300)
def test_kinds_of_damage_are_distinguished_and_repaired_exactly(project):
    before = project.digests()
    flip(path_of(project, SAMPLES))
    path_of(project, MODEL).unlink()
    (project.results / "tables/similarity_table1.parquet").unlink()

    output = project.clipaudit("verify", *FLAGS, ok=False)
    for kind, place in {"corrupt": SAMPLES, "missing": MODEL, "link": "tables/similarity"}.items():
        assert f"{kind}: results_micro/{place}" in output
    repaired = project.clipaudit("verify", *REPAIR)

    assert "pointers name what they named before" in repaired
    assert "all as they were written" in repaired
    assert project.digests() == before
    computed = project.computed()
    project.run()
    assert project.computed_steps(computed) == []


def test_a_repair_with_a_different_result_is_reported_prominently(project):
    """The code of a step changed since, so the original object cannot be recomputed."""
    table = "tables/similarity_table1.csv.json"
    path_of(project, table).unlink()
    project.edit(
        "clipaudit/reports/rendering.py",
        "writer = csv.writer(stream)",
        'writer = csv.writer(stream, delimiter=";")',
    )

    output = project.clipaudit("verify", *REPAIR, ok=False)

    assert f"NOT REPRODUCED: results_micro/{table}: named " in output
    assert "pointers did not come back as they were" in output


@pytest.mark.slow  # tests/lineage/keeping tests collection itself
def test_gc_removes_what_only_removed_pointers_named(project):
    before = project.digests()
    shutil.rmtree(project.store / "roots")  # of the project that was copied
    shutil.rmtree(project.results / "figures")

    output = project.clipaudit(*GC, "--delete")

    assert "removed: " in output
    assert "all as they were written" in project.clipaudit("verify", *FLAGS, "--all")
    computed = project.computed()
    project.run()
    figures = {"report_figure", "draw_figure"}
    galleries = {"report_gallery", "report_memorized", "report_spotted"}
    assert set(project.computed_steps(computed)) <= figures | galleries
    assert project.digests() == before


@pytest.mark.slow
def test_gc_of_a_complete_run_removes_nothing(project):
    objects = set(project.store.glob("objects/??/*"))

    project.clipaudit(*GC, "--delete")

    assert set(project.store.glob("objects/??/*")) == objects
    computed = project.computed()
    shutil.rmtree(project.results)
    project.run()
    assert project.computed_steps(computed) == []


@pytest.mark.slow
def test_gc_beside_a_run_breaks_nothing(fresh, finished):
    run = fresh.start(target="all_tables")
    collections, output = 0, ""
    while run.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            output, _ = run.communicate(timeout=1)
        if (fresh.store / "roots").is_dir():
            fresh.clipaudit("gc", "--store", "store_micro", "--grace", "30s", "--delete")
            collections += 1

    assert run.returncode == 0, output
    assert collections > 0
    assert fresh.digests().items() <= finished.digests().items()
    assert "all as they were written" in fresh.clipaudit("verify", *FLAGS)
