"""Make the helpers beside this file importable from the folders below, and share fixtures."""

import gc
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # more threads per worker are ten times slower

import pytest
import torch
from hypothesis import settings
from tinyclip import tiny

from clipaudit.models.clip import build

gc.set_threshold(10_000)  # at 700 new objects, searches for cycles take a fifth of collecting tests
settings.register_profile("shared machine", deadline=None)  # other jobs run beside the tests
settings.load_profile("shared machine")


@pytest.fixture
def architecture(tmp_path):
    return tiny(tmp_path)


@pytest.fixture
def clip(architecture):
    return build(architecture, seed=0)


@pytest.fixture
def cpu():
    return torch.device("cpu")
