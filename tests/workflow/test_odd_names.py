"""Names and captions that a shell would read as commands, in a real run that executes none."""

import io
import json
import subprocess
import tarfile

import pytest
from microproject import copy_project
from PIL import Image

FOLDER = "pro ject ü名 $(touch ran) ;touch ran;' \"x"
SHARDS = "sha rds 'ü' $(touch ran)"
RESULTS = "res ults $(touch ran) é"
STORE = "st öre ;touch ran& `touch ran`"
SETTINGS = "my own; $(touch ran).json"
KEY = "a b;$(touch ran)"
CAPTION = "$(touch ran); `touch ran` ' \" \x1b[31m <b>"


def write_shard(path):
    picture = io.BytesIO()
    Image.new("RGB", (8, 8)).save(picture, "PNG")
    path.parent.mkdir()
    with tarfile.open(path, "w") as tar:
        for name, content in ((f"{KEY}.png", picture.getvalue()), (f"{KEY}.txt", CAPTION.encode())):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


@pytest.fixture
def odd(tmp_path):
    """Return a project in an odd place whose settings have odd names, with one sample."""
    project = copy_project(tmp_path / FOLDER)
    project.results, project.store = project.folder / RESULTS, project.folder / STORE
    write_shard(project.folder / SHARDS / "00000.tar")
    corpus = {"shards": f"{SHARDS}/00000.tar", "shards_per_part": 1, "world": None}
    settings = {"results": RESULTS, "store": STORE, "corpora": {"large": corpus}}
    text = json.dumps({"extends": "config/micro.yaml", **settings})
    (project.folder / SETTINGS).write_text(text)
    return project


def test_names_and_captions_are_data_and_never_commands(odd, tmp_path):
    command = odd.command(config=SETTINGS, target="")
    target = f"{RESULTS}/manifests/large/all/00000.json"

    done = subprocess.run(
        [*command, target], cwd=odd.folder, env=odd.environment(), capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((odd.folder / target).read_text())["rows"] == 1
    assert not list(tmp_path.rglob("ran"))
    verified = odd.clipaudit("verify", "--results", RESULTS, "--store", STORE)
    assert "all as they were written" in verified
