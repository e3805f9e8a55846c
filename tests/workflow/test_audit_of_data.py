"""`clipaudit audit` in real runs, in a folder that is not a clone."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from readersenvironment import WRITE, asked, needs_readers
from s3server import bucket_client, needs_moto, serving_s3
from smalldisks import needs_mounts, on_a_small_disk

from clipaudit.corpora.shards import first_image, raw_samples

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from clipaudit.cli import main; main()", "audit"]
DATA = ["data/web", "data/loose", "data/table.parquet"]  # a tar, a folder of images, a table
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
OPTIONS = ["--against", "data/val", "--no-text", "--format", "json"]


def start(folder, *further, data=DATA, environment=()):
    return subprocess.Popen(
        [*COMMAND, *data, *OPTIONS, *further],
        cwd=folder,
        env={**ENVIRONMENT, **dict(environment)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def answer(folder, *further, **where):
    process = start(folder, *further, **where)
    said, told = process.communicate(timeout=300)
    assert process.returncode == 0, told
    return json.loads(said)


def with_copy(told):
    (row,) = told["tables"]["copies_summary"]
    return row["with_copy"]


def planted(folder, shards=None):
    """Return how many test images have copies by the truth tables beside the shards."""
    rows = [
        row
        for number in shards or range(4 - (folder / "late.tar").exists())
        for row in pq.read_table(folder / f"data/web/{number:05d}.truth.parquet").to_pylist()
    ]
    return len({row["duplicate_of_row"] for row in rows if row["duplicate_of_corpus"] == "val"})


def computed(folder):
    records = (folder / "audit/store/lineage").glob("??/*/*.json")
    return sorted(json.loads(path.read_text())["ingredients"]["step"] for path in records)


@pytest.fixture
def data(copied, tmp_path):
    """Return three shards of a generated world as a tar, a folder and a table, and a fourth one."""
    shutil.copytree(copied.folder / "data/micro_copies", tmp_path / "data")
    (tmp_path / "data/web/00003.tar").rename(tmp_path / "late.tar")
    first, second = (tmp_path / f"data/web/0000{number}.tar" for number in (1, 2))
    for sample in raw_samples(first):
        path = tmp_path / f"data/loose/{sample.key[-1]}/{sample.key}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(first_image(sample.members))
        path.with_suffix(".txt").write_bytes(sample.members["txt"])
    images = [first_image(sample.members) for sample in raw_samples(second)]
    texts = [sample.members["txt"].decode() for sample in raw_samples(second)]
    pq.write_table(pa.table({"image": images, "text": texts}), tmp_path / "data/table.parquet")
    for tar in (first, second):
        tar.unlink()
    return tmp_path


@pytest.mark.slow
def test_ten_kills_at_random_moments_do_not_change_the_answer(data):
    dice = random.Random(0)
    for _ in range(10):
        process = start(data)
        time.sleep(dice.uniform(0.5, 12))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    assert with_copy(answer(data)) == planted(data) > 0


@pytest.mark.parametrize(
    ("send", "number", "status"),
    [
        pytest.param(os.killpg, signal.SIGINT, 1, id="Ctrl-C"),
        pytest.param(os.kill, signal.SIGTERM, 128 + signal.SIGTERM, id="kill"),
    ],
)
def test_after_a_signal_nothing_runs_on(data, send, number, status):
    process = start(data)
    while not list((data / "audit").glob("results/samples/*/*.json")):
        assert process.poll() is None
        time.sleep(0.1)
    send(process.pid, number)

    said = process.communicate(timeout=60)[1]
    assert process.returncode == status
    assert said.endswith("\nStopped. The same command continues.\n")
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    assert not (data / "audit/results/report").exists()


@pytest.mark.long
def test_the_answer_matches_the_truth_and_a_new_tar_is_the_only_one_read(data):
    told = answer(data)
    assert with_copy(told) == planted(data) > 0
    assert told["corpora"]["train"] == {"images": 144, "shards": 3}
    assert told["audits"]["copies"]["headline"].startswith(f"Yes: {planted(data)} of 24 images")
    assert (data / told["report"]).is_file()

    before = computed(data)
    assert answer(data)["tables"] == told["tables"]
    assert computed(data) == before

    (data / "late.tar").rename(data / "data/web/00003.tar")
    assert with_copy(answer(data)) == planted(data) > with_copy(told)
    for step in ("index", "hash_images", "find_repeats", "verify_repeats", "verify_copies"):
        assert computed(data).count(step) == before.count(step) + 1, step


def test_a_tar_replaced_by_an_older_one_is_read_again(data):
    def uids():
        run = [*COMMAND[:-1], "run", "settings.yaml", "results/samples/train/00000.json"]
        subprocess.run(run, cwd=data / "audit", env=ENVIRONMENT, check=True)
        return pq.read_table(data / "audit/results/samples/train/00000.parquet")["uid"].to_pylist()

    start(data, "--plan", data=["data/web"]).communicate()
    before = uids()
    (data / "late.tar").rename(data / "data/web/00000.tar")

    assert not set(uids()) & set(before)


@needs_moto
@pytest.mark.slow
def test_shards_on_s3_give_the_true_answer(data):
    shards = {"0.tar": data / "data/web/00000.tar", "1.tar": data / "late.tar"}
    with serving_s3() as endpoint:
        client = bucket_client(endpoint)
        client.create_bucket(Bucket="web")
        for name, path in shards.items():
            client.put_object(Bucket="web", Key=name, Body=path.read_bytes())

        told = answer(data, data=["s3://web/{0..1}.tar"], environment=endpoint)

    assert with_copy(told) == planted(data, shards=(0, 3)) > 0


@needs_readers
def test_files_written_by_datasets_give_the_true_answer(data):
    lines = []
    for number in (0, 3):
        (folder := data / f"source/{number}").mkdir(parents=True)
        tar = data / "late.tar" if number else data / "data/web/00000.tar"
        for sample in raw_samples(tar):
            (folder / f"{sample.key}.png").write_bytes(first_image(sample.members))
            name, text = f"{number}/{sample.key}.png", sample.members["txt"].decode()
            lines.append(json.dumps({"file_name": name, "legend": text}))
    (data / "source/metadata.jsonl").write_text("\n".join(lines))
    asked(data, WRITE, "shards", data / "source", data / "hub")

    told = answer(data, "--caption", "legend", data=["hub"])

    assert told["corpora"]["train"] == {"images": len(lines), "shards": 3}
    assert with_copy(told) == planted(data, shards=(0, 3)) > 0


@needs_mounts
@pytest.mark.slow
def test_a_full_disk_is_one_message_and_the_same_command_continues(data):
    to = data / "small"
    command = [*COMMAND, *DATA, *OPTIONS, "--to", to / "audit"]

    done = on_a_small_disk(to, 2_000_000, *command, cwd=data, env=ENVIRONMENT)

    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert with_copy(answer(data, "--to", to / "audit")) == planted(data) > 0


@pytest.mark.slow
def test_an_encoder_adds_similar_images_and_nothing_is_trained(data):
    import torch
    from transformers import ViTConfig, ViTImageProcessor, ViTModel

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    ViTModel(ViTConfig(**sizes, image_size=64, patch_size=8)).save_pretrained(data / "vit")
    ViTImageProcessor(size={"height": 64, "width": 64}).save_pretrained(data / "vit")

    told = answer(data, "--encoder", "vit")

    assert with_copy(told) == planted(data)
    (row,) = told["tables"]["similarity_table2"]
    assert planted(data) <= row["near_duplicates"] <= row["images"] == 24
    assert "No model was trained" in told["audits"]["similarity"]["headline"]
    assert not (data / "audit/results/models").exists()
