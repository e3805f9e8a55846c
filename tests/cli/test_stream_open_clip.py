"""`clipaudit stream` under stock open_clip_train: its reader, and one epoch of its main."""

import json
import os
import subprocess
import sys

import pytest
from readersenvironment import PACKAGES, needs_readers
from sealedstore import PHOTO, TEXT, picture, put, text_shard, write_tar

TINY = {
    "embed_dim": 8,
    "vision_cfg": {"image_size": 16, "layers": 1, "width": 16, "head_width": 8, "patch_size": 8},
    "text_cfg": {
        "context_length": 12,
        "vocab_size": 49408,
        "width": 16,
        "heads": 2,
        "layers": 1,
    },
}
# the reader that open_clip_train puts before its training, then its main
PROGRAM = """
import json, sys
sys.path.append(sys.argv.pop())  # for pandas, which open_clip_train imports
import open_clip, open_clip_train.data as data, open_clip_train.main as stock
if __name__ == "__main__":
    open_clip.add_model_config(sys.argv[1])
    urls = data.expand_urls(sys.argv[2])[0]
    read = data.tarfile_to_samples_nothrow([{"url": url} for url in urls])
    print(json.dumps([s["txt"].decode() for s in read if data.filter_no_caption_or_no_image(s)]))
    stock.main(sys.argv[3:])
"""


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """Return the digest of two text shards and one labelled shard; 3, 4 and 5 rows are kept."""
    monkeypatch.setenv("CLIPAUDIT_STORE", str(tmp_path / "store"))
    labelled = []
    for row in range(8):
        labelled += [(f"{row}.jpg", picture(row)), (f"{row}.cls", str(row % 2).encode())]
    paths = [text_shard(tmp_path / f"{n}.tar", 9) for n in range(2)]
    paths.append(write_tar(tmp_path / "2.tar", labelled))
    return put(
        tmp_path / "store",
        (TEXT, [(paths[0], 9, {0, 2, 5}), (paths[1], 9, {1, 3, 4, 8})]),
        (PHOTO, [(paths[2], 8, {0, 1, 2, 3, 7})]),
    )


def train(tmp_path, url, samples):
    (tmp_path / "tiny.json").write_text(json.dumps(TINY))
    (tmp_path / "program.py").write_text(PROGRAM)
    settings = {
        "train-data": url,
        "train-num-samples": samples,
        "dataset-type": "webdataset",
        "batch-size": 4,
        "epochs": 1,
        "workers": 1,
        "warmup": 0,
        "model": "tiny",
        "device": "cpu",
        "precision": "fp32",
        "log-every-n-steps": 1,
        "logs": tmp_path / "logs",
        "name": "run",
    }
    arguments = [text for name, value in settings.items() for text in (f"--{name}", str(value))]
    return subprocess.run(
        [sys.executable, "program.py", "tiny.json", url, *arguments, str(PACKAGES)],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )


@needs_readers
def test_stock_open_clip_trains_on_the_kept_samples(tmp_path, corpus):
    url = f"pipe:{sys.executable} -m clipaudit.cli.stream {corpus} {{0..2}}"

    done = train(tmp_path, url, samples=12)

    log = (tmp_path / "logs" / "run" / "out.log").read_text()
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[0]) == [
        *("caption 0", "json 2", "json 5"),
        *("caption 1", "caption 3", "caption 4", "json 8"),
        *(f"a photo of a {name}" for name in ("cat", "größe", "cat", "größe", "größe")),
    ]
    assert "[12/12 (100%)]" in log
    assert "Handling webdataset error" not in log + done.stderr
    assert list((tmp_path / "logs" / "run" / "checkpoints").iterdir())
