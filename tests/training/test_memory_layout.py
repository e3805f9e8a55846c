import os
import subprocess
import sys
from pathlib import Path

import pytest
import timm
import torch

from clipaudit.training.optimization import memory_layout

GRADIENTS = Path(__file__).with_name("gradients.py")
CPU = torch.device("cpu")


@pytest.mark.long
@pytest.mark.parametrize("most", ["AVX2", "DEFAULT"])
def test_gradients_equal_float64s_whatever_the_channels_and_the_processor(most):
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": most}
    command = [sys.executable, str(GRADIENTS)]

    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    errors = [float(line.split()[-1]) for line in done.stdout.splitlines()]
    assert len(errors) == 12
    assert max(errors) < 1e-3  # of float32; narrow ones with channels last have around 1, or NaN


@pytest.mark.parametrize(
    ("channels", "layout"),
    [([8, 16, 16, 16], torch.contiguous_format), ([16, 16, 16, 16], torch.channels_last)],
)
def test_a_cpu_trains_channels_last_unless_a_strided_convolution_is_narrow(channels, layout):
    model = timm.create_model("resnet18", layers=[1, 1, 1, 1], channels=channels)

    assert memory_layout(model, CPU) == layout


def test_a_gpu_always_trains_channels_last():
    model = torch.nn.Conv2d(3, 8, 1, stride=2)

    assert memory_layout(model, torch.device("cuda")) == torch.channels_last
