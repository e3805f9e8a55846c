import pytest
import torch

from clipaudit.errors import ConfigError
from clipaudit.models.device import use_device


def test_a_device_is_deterministic_and_uses_the_requested_threads():
    device = use_device("cpu", threads=1)

    assert device.type == "cpu"
    assert torch.get_num_threads() == 1
    assert torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize(
    ("device", "threads", "message"), [("cuda", 1, "no CUDA device"), ("cpu", 0, "threads is 0")]
)
def test_an_impossible_device_is_refused(device, threads, message):
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(ConfigError, match=message):
        use_device(device, threads=threads)
