"""Build the site for the tests that read it, with the program of `make docs`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILDER = ROOT / ".uv/docs/bin/zensical"

needs_builder = pytest.mark.skipif(
    not BUILDER.exists(), reason="no zensical: `make test-docs` installs it"
)


def staged(folder):
    """Lay the pages out in `folder`, and return it."""
    subprocess.run([sys.executable, ROOT / "docs/stage.py", folder], check=True)
    return folder


def built(folder):
    """Build the pages in `folder`; return the finished process."""
    command = [BUILDER, "build", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)
