import subprocess
import sys

import pytest

PEAK = "from clipaudit.steps.usage import peak_memory_mb; {}; print(peak_memory_mb())"
OWN = "held = b'x' * 300_000_000"
CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {OWN!r}], check=True)"


@pytest.mark.parametrize("use", [OWN, CHILD])
def test_the_peak_memory_is_that_of_the_process_or_of_a_child(use):
    said = subprocess.check_output([sys.executable, "-c", PEAK.format(use)], text=True)

    assert 300_000_000 / 2**20 <= int(said) <= 420
