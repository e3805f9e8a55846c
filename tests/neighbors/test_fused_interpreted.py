"""Runs the tests of the fused search where there is no GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="there is no Triton for this platform")
HERE = Path(__file__).parent


@pytest.mark.long
def test_the_fused_search_is_correct_in_the_triton_interpreter(tmp_path):
    quick = ["-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path}/t", f"--confcutdir={HERE}"]
    chosen = ["-k", "test_fused or triton", HERE / "test_fused.py", HERE / "test_interface.py"]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *quick, *chosen],
        env=os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
