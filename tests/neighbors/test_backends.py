import subprocess
import sys

import numpy as np
import pytest

from clipaudit.errors import ConfigError
from clipaudit.neighbors.backends import search
from clipaudit.neighbors.interface import Queries


@pytest.fixture
def queries():
    return Queries(np.eye(2, dtype=np.float16), (0, 2), np.arange(2))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"backend": "jax"}, "'jax' is not one of numpy, torch"),
        ({"k": 0}, "k is 0"),
        ({"k": 0, "backend": "numpy"}, "k is 0"),
        ({"block_rows": 0}, "block sizes 0"),
        ({"backend": "numpy", "device": "cuda"}, "not on 'cuda'"),
    ],
)
def test_wrong_settings_are_refused(queries, settings, message):
    with pytest.raises(ConfigError, match=message):
        search(queries, **({"k": 1} | settings))


def test_the_registry_does_not_import_torch():
    code = "import sys, clipaudit.neighbors.backends; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
