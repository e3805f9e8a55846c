"""The loop of docs/exports.md that sends OpenLineage events."""

import http.server
import json
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/exports.md").read_text()


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_events_longer_than_an_argument_may_be_are_sent(tmp_path):
    loop = re.search(r"^    while read .*?^    done.*?$", PAGE, re.MULTILINE | re.DOTALL)[0]
    events = [{"inputs": "a"}, {"inputs": "b" * 200_000}]
    (tmp_path / "events.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in events))
    received = []

    class Server(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = loop.replace("localhost:5000", f"127.0.0.1:{server.server_port}")
        subprocess.run(["bash", "-c", here], cwd=tmp_path, check=True, timeout=60)
        server.shutdown()

    assert received == events
