"""`clipaudit audit` in real runs, in a folder that is no clone."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from clipaudit.cli import main; main()", "audit", "data/web"]
OPTIONS = ["--against", "data/val", "--no-text", "--format", "json"]


def start(folder):
    return subprocess.Popen(
        COMMAND + OPTIONS,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def answer(folder):
    process = start(folder)
    said, told = process.communicate(timeout=300)
    assert process.returncode == 0, told
    return json.loads(said)


def with_copy(told):
    (row,) = told["tables"]["copies_summary"]
    return row["with_copy"]


def planted(folder):
    """How many test images the truth tables beside the shards say that there are copies of."""
    rows = [
        row
        for shard in (folder / "data/web").glob("*.tar")
        for row in pq.read_table(shard.with_suffix(".truth.parquet")).to_pylist()
    ]
    return len({row["duplicate_of_row"] for row in rows if row["duplicate_of_corpus"] == "val"})


def computed(folder):
    records = (folder / "audit/store/lineage").glob("??/*/*.json")
    return sorted(json.loads(path.read_text())["ingredients"]["step"] for path in records)


@pytest.fixture(scope="module")
def asked(made_once, tmp_path_factory):
    """A folder with the first shards of a made world, audited; and what was said.

    The first time, everything was killed after some seconds.
    """
    made = made_once(
        "copied", config="config/micro_copies.yaml", target="all_tables all_figures report"
    )
    folder = tmp_path_factory.mktemp("asked")
    shutil.copytree(made.folder / "data/micro_copies", folder / "data")
    (folder / "data/web/00003.tar").rename(folder / "late.tar")
    process = start(folder)
    time.sleep(8)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return folder, answer(folder)


def test_the_answer_is_the_truth_after_a_kill_too(asked):
    folder, told = asked

    assert with_copy(told) == planted(folder) > 0
    assert told["corpora"]["train"] == {"images": 144, "shards": 3}
    assert told["audits"]["copies"]["headline"].startswith(f"Yes: {planted(folder)} of 24 images")
    assert (folder / told["report"]).is_file()


def test_asked_again_it_computes_nothing_and_of_another_tar_what_is_new(asked):
    folder, told = asked
    before = computed(folder)

    assert answer(folder)["tables"] == told["tables"]
    assert computed(folder) == before

    (folder / "late.tar").rename(folder / "data/web/00003.tar")
    assert with_copy(answer(folder)) == planted(folder) > with_copy(told)
    for step in ("index", "hash_images", "find_repeats", "verify_repeats", "verify_copies"):
        assert computed(folder).count(step) == before.count(step) + 1, step
