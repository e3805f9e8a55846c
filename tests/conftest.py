"""Makes the helpers beside this file importable from the folders below, and shares fixtures."""

import pytest
import torch
from tinyclip import tiny

from clipaudit.models import build


@pytest.fixture
def architecture(tmp_path):
    return tiny(tmp_path)


@pytest.fixture
def clip(architecture):
    return build(architecture, seed=0)


@pytest.fixture
def cpu():
    return torch.device("cpu")
