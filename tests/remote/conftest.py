"""A small HTTP server on loopback, and a store whose cache is bounded."""

import gzip
import hashlib
import io
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from clipaudit.remote import fetching
from clipaudit.store.store import Store


class Served:
    """The server's files by path, and the requests that it received."""

    def __init__(self):
        self.files = {}
        self.etags = True
        self.status = []  # of the next answers; 200 if it is empty
        self.retry_after = None  # seconds, in answers with another status than 200
        self.cut = 0  # how many of the next bodies are truncated
        self.asked = []

    def bodies(self):
        return [path for method, path in self.asked if method == "GET"]


class Handler(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, *, body):
        served = self.server.served
        served.asked.append((self.command, self.path))
        content = served.files.get(self.path)
        status = served.status.pop(0) if served.status else 200 if content is not None else 404
        content = content or b""
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if status != 200 and served.retry_after:
            self.send_header("Retry-After", served.retry_after)
        if served.etags:
            self.send_header("ETag", hashlib.md5(content).hexdigest())
        self.end_headers()
        if body and served.cut:
            served.cut -= 1
            content = content[: len(content) // 2]
        if body:
            self.wfile.write(content)
            self.close_connection = True

    def log_message(self, *arguments):
        pass


@pytest.fixture
def served(monkeypatch):
    """Yield a server with its address in `served.url`; failed requests are retried immediately."""
    monkeypatch.setattr(fetching, "PAUSES", (0.0, 0.0))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.served = Served()
    server.served.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.served
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Return a store whose cache holds 1,000 bytes."""
    monkeypatch.setenv("CLIPAUDIT_CACHE", "")
    monkeypatch.setenv("CLIPAUDIT_CACHE_GIGABYTES", "1e-6")
    return Store(tmp_path / "store")


@pytest.fixture
def tars():
    """Return a tar of one sample, plain and compressed."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        member = tarfile.TarInfo("000.txt")
        member.size = 5
        tar.addfile(member, io.BytesIO(b"a cat"))
    content = plain.getvalue()
    return SimpleNamespace(plain=content, compressed=gzip.compress(content))
