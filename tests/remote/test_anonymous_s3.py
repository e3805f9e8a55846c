"""S3 without credentials: a server on loopback that tells whether requests are signed."""

import http.server
import threading

import pytest

from clipaudit.remote import fetching
from clipaudit.remote.fetching import state_of

pytest.importorskip("s3fs")


@pytest.fixture
def signed(monkeypatch, tmp_path):
    """Serve any object; return a list that gets whether each request was signed."""
    found = []

    class Server(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self):
            found.append("Authorization" in self.headers)
            self.send_response(200)
            self.send_header("Content-Length", "7")
            self.send_header("ETag", '"a"')
            self.send_header("Last-Modified", "Mon, 30 Nov 2020 00:00:00 GMT")
            self.end_headers()

        def log_message(self, *_):
            pass

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(fetching, "PAUSES", ())
    with http.server.HTTPServer(("127.0.0.1", 0), Server) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield found
        server.shutdown()


@pytest.mark.parametrize("credentials", [None, "AWS's", "fsspec's"])
def test_a_public_bucket_is_read_without_credentials(signed, monkeypatch, credentials):
    import fsspec
    from s3fs import S3FileSystem

    S3FileSystem.clear_instance_cache()
    if credentials == "AWS's":
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    elif credentials:
        monkeypatch.setitem(fsspec.config.conf, "s3", {"key": "someone", "secret": "secret"})

    assert state_of("s3://bucket/0.tar").bytes == 7
    assert set(signed) == {credentials is not None}
