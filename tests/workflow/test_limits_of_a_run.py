"""Limits of a run: it is refused before it starts, or before its next job."""

SAMPLES = "results_micro/samples/large/00000.json"


def set_limits(project, limits):
    project.edit("config/micro.yaml", "store: store_micro", f"store: store_micro\nlimits: {limits}")


def test_a_run_that_would_fill_the_store_does_not_start(project):
    set_limits(project, "{store_gigabytes: 0.000001}")
    before = project.computed()

    output = project.run("--forcerun", "gap", target="all_tables", ok=False)

    assert "limits.store_gigabytes: store_micro holds" in output
    assert "Traceback" not in output
    assert project.computed() == before


def test_a_run_within_its_limits_continues(fresh):
    set_limits(fresh, "{keep_free_gigabytes: 0.001, store_gigabytes: 1, gpu_hours: 0}")

    fresh.run(target=SAMPLES)

    assert fresh.computed()


def test_a_full_disk_stops_the_next_job_with_one_message(fresh):
    set_limits(fresh, "{keep_free_gigabytes: 1e9}")
    fresh.edit("Snakefile", "    refuse_excess_of(workflow.dag, config)", "    pass")

    output = fresh.run(target=SAMPLES, ok=False)

    assert "GB free, but 1e+09 GB must stay free. Free some space" in output
    assert "Traceback" not in output
