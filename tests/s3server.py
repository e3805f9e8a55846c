"""moto's S3 server on loopback, as a separate program, and the environment that points to it."""

import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import botocore.session
import pytest

PROGRAM = Path(__file__).parents[1] / ".uv/moto/bin/moto_server"

needs_moto = pytest.mark.skipif(
    not PROGRAM.exists(), reason="no S3 server: `make .uv/moto/.synced` installs it"
)


@contextmanager
def serving_s3():
    """Serve S3 from a process; yield the environment variables that point to it."""
    port = free_port()
    server = subprocess.Popen(
        [PROGRAM, "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await_server(server, port)
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "nothing-to-hide",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
    finally:
        server.terminate()
        server.wait()


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def await_server(server, port):
    """Wait until the server answers; it imports for a second or more."""
    for _ in range(600):
        assert server.poll() is None, f"{PROGRAM} ended with {server.returncode}"
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"{PROGRAM} does not answer at port {port}")


def bucket_client(endpoint):
    """Return a client of that server that is not the one under test."""
    return botocore.session.get_session().create_client(
        "s3",
        endpoint_url=endpoint["AWS_ENDPOINT_URL"],
        aws_access_key_id=endpoint["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=endpoint["AWS_SECRET_ACCESS_KEY"],
        region_name=endpoint["AWS_DEFAULT_REGION"],
    )
