import random
import sys

import pytest
from exportedrun import picture, two_parts, uid
from smalldisks import needs_mounts, on_a_small_disk

FULL = "No space left on device. Free some space there, and start the same command again"


@pytest.fixture
def run(tmp_path):
    run = two_parts(tmp_path)
    caption = random.Random(0).randbytes(10_000).hex()
    run.index("wide", "00000", [[(uid(1), caption, picture(1))]])
    run.manifest("wide", "all", "00000", [(0, 0, None)])
    for number in range(20):
        run.report("tables", f"table_{number}", "large/all/00000")
    return run


def on_full(run, *arguments):
    """Run a command whose output lies on a disk of one page."""
    program = "from clipaudit.cli import main; main()"
    folders = ("--results", run.results, "--store", run.store.root)
    disk = run.folder / "disk"
    return on_a_small_disk(disk, 4096, sys.executable, "-c", program, *arguments, *folders)


@needs_mounts
@pytest.mark.parametrize("name", ["crate", "crate.zip", "events.jsonl"])
def test_provenance_on_a_full_disk_is_refused_by_the_output(run, name):
    form = "openlineage" if name.endswith("jsonl") else "ro-crate"

    done = on_full(run, "prov", "--format", form, "--output", run.folder / "disk" / name)

    assert done.returncode == 1
    assert f"Error: {run.folder}/disk/" in done.stderr
    assert FULL in done.stderr
    assert "Traceback" not in done.stderr


@needs_mounts
@pytest.mark.parametrize("form", ["parquet", "croissant", "hf-parquet", "imagefolder"])
def test_an_export_to_a_full_disk_is_refused_by_the_output(run, form):
    done = on_full(
        run, "export", "wide/all", "--format", form, "--output", run.folder / "disk" / "out"
    )

    assert done.returncode == 1, done.stderr
    assert f"Error: {run.folder}/disk/" in done.stderr
    assert FULL in done.stderr
    assert "Traceback" not in done.stderr
