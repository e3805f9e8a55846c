"""img2dataset's own release, a separate program, downloads from a server on loopback."""

import http.server
import io
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from PIL import Image

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.parts import expand_shards
from clipaudit.corpora.samples import index_shards
from clipaudit.imports.img2dataset import import_img2dataset

OWN = Path(__file__).parents[2] / ".uv/img2dataset/bin/img2dataset"
PROGRAM = str(OWN) if OWN.exists() else shutil.which("img2dataset")

pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="no program img2dataset: `make img2dataset` brings it"
)


class Pictures(http.server.BaseHTTPRequestHandler):
    """Serve a grey image by its number; every fifth is invalid, and nine exist."""

    def do_GET(self):
        number = int(self.path.strip("/").removesuffix(".jpg"))
        self.send_response(200 if number < 9 else 404)
        self.end_headers()
        out = io.BytesIO()
        Image.new("L", (50, 40), 20 * number % 256).save(out, "JPEG")
        self.wfile.write(b"no picture" if number % 5 == 4 else out.getvalue())

    def log_message(self, *arguments):
        """Log nothing."""


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pictures) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def downloaded(server, tmp_path):
    lines = [f"{server}/{number}.jpg\tpicture {number}" for number in range(10)]
    (tmp_path / "urls.tsv").write_text("\n".join(["url\tcaption", *lines]) + "\n")
    settings = {
        "url_list": tmp_path / "urls.tsv",
        "input_format": "tsv",
        "url_col": "url",
        "caption_col": "caption",
        "output_format": "webdataset",
        "output_folder": tmp_path / "web",
        "number_sample_per_shard": 5,
        "image_size": 32,
        "processes_count": 1,
        "thread_count": 2,
    }
    command = [PROGRAM, *(f"--{name}={value}" for name, value in settings.items())]
    quiet = {"NO_ALBUMENTATIONS_UPDATE": "1", "WANDB_MODE": "disabled"}  # no network requests
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **quiet})
    return tmp_path / "web"


def test_a_real_download_is_imported_and_indexed(downloaded):
    imported = import_img2dataset(downloaded, "web")
    paths = map(Path, expand_shards([imported.blocks["corpora"]["web"]["shards"]]))
    samples, drops = index_shards(
        list(enumerate(paths)), Captioning("text"), needs_caption=True, needs_label=False
    )

    assert imported.notes[0] == (
        "2 shards, 10 rows: 8 success, 1 failed_to_download, 1 failed_to_resize"
    )
    assert (len(samples), len(drops)) == (8, 0)
    assert sorted(samples["caption"].to_pylist()) == [f"picture {n}" for n in range(9) if n != 4]
