"""Programs in the environment of Hugging Face's datasets and mlcroissant, separate from ours."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

READERS = Path(__file__).parents[1] / ".uv/readers"
PYTHON = READERS / "bin/python"
PACKAGES = READERS / "lib/python{}.{}/site-packages".format(*sys.version_info)

needs_readers = pytest.mark.skipif(
    not PYTHON.exists(), reason="no datasets, no mlcroissant: `make test-readers` installs them"
)


def asked(folder, program, *arguments):
    """Run a program without network, with its cache in a folder; return the JSON that it prints."""
    quiet = {"HF_HOME": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
    command = [PYTHON, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **quiet})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# arguments: the way to write it, a folder of images with metadata, the output folder
WRITE = """
import json, sys, pathlib
import datasets
from PIL import Image
way, source, to = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
found = datasets.load_dataset("imagefolder", data_dir=source, split="train")
names = [name for name in found.column_names if name != "image"]
if way == "paths":
    stored = found.cast_column("image", datasets.Image(decode=False))
    files = [image["path"] for image in stored["image"]]
    texts = {name: found[name][:] for name in names}
    found = datasets.Dataset.from_dict({**texts, "image": files})
    found = found.cast_column("image", datasets.Image())
if way == "pixels":
    held = [{**row, "image": row["image"].convert("RGBA")} for row in found]
    features = datasets.Features({**found.features, "image": datasets.Image()})
    found = datasets.Dataset.from_list(held, features=features)
if way != "links":  # as push_to_hub does; to_parquet alone writes the paths of files
    found = found.with_format("arrow").map(datasets.table.embed_table_storage, batched=True)
count = 3 if way == "shards" else 1
for number in range(count):  # as push_to_hub cuts and names them
    name = f"data/train-{number:05d}-of-{count:05d}.parquet"
    (to / "data").mkdir(parents=True, exist_ok=True)
    found.shard(count, number, contiguous=True).to_parquet(to / name)
print(json.dumps([found.column_names, len(found)]))
"""
