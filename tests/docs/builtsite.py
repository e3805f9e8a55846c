"""The site, built once for all tests that read it, by the program of `make docs`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILDER = ROOT / ".uv/docs/bin/zensical"

needs_builder = pytest.mark.skipif(
    not BUILDER.exists(), reason="no zensical: `make test-docs` brings it"
)


def staged(folder):
    """Lay the pages out in `folder`, and return it."""
    subprocess.run([sys.executable, ROOT / "docs/stage.py", folder], check=True)
    return folder


def built(folder):
    """Build the pages that lie in `folder`; return the finished process."""
    command = [BUILDER, "build", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)
