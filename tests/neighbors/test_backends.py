import subprocess
import sys

import numpy as np
import pytest

from clipaudit.errors import ConfigError
from clipaudit.neighbors import backends
from clipaudit.neighbors.backends import quicker_backend, search
from clipaudit.neighbors.fused.device import runs_on
from clipaudit.neighbors.interface import Queries
from clipaudit.neighbors.native import library
from clipaudit.neighbors.screened import Screened


@pytest.fixture
def queries():
    return Queries(np.eye(2, dtype=np.float16), (0, 2), np.arange(2))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"backend": "jax"}, "'jax' is not one of native, numpy, torch, triton"),
        ({"k": 0}, "k is 0"),
        ({"k": 0, "backend": "numpy"}, "k is 0"),
        ({"k": 0, "backend": "native"}, "k is 0"),
        ({"k": 0, "backend": "triton"}, "k is 0"),
        ({"block_rows": 0}, "block sizes 0"),
        ({"backend": "numpy", "device": "cuda"}, "not on 'cuda'"),
    ],
)
def test_invalid_settings_are_refused(queries, settings, message):
    with pytest.raises(ConfigError, match=message):
        search(queries, **({"k": 1} | settings))


def test_without_the_library_torch_is_used_and_logged_once(queries, monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(library, "LIBRARY", tmp_path / "neighbors.so")

    found = [search(queries, k=1, backend="native") for _ in range(2)]

    assert [type(each) for each in found] == [Screened, Screened]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert "it was not compiled. Torch replaces it" in said[0]


@pytest.mark.parametrize(
    ("kernels", "rows", "device", "backend"),
    [
        (("avx2",), 10, "cpu", "numpy"),
        (("avx2",), 10_000, "cpu", "native"),
        ((), 10_000, "cpu", "numpy"),
        ((), 1_000_000, "cpu", "torch"),
        (("avx2",), 10, "cuda", "torch"),
        ((), 100_000_000, "cuda", "triton"),
    ],
)
def test_the_faster_backend_is_used(monkeypatch, kernels, rows, device, backend):
    monkeypatch.setattr(library, "kernels", lambda: kernels)

    assert quicker_backend(rows, 100, 64, device=device) == backend


@pytest.fixture
def asked_anew():
    """Forget what is known of devices, before and after."""
    runs_on.cache_clear()
    yield
    runs_on.cache_clear()


@pytest.mark.parametrize("installed", [True, False])
@pytest.mark.usefixtures("asked_anew")
def test_without_a_gpu_or_triton_torch_is_used_and_logged_once(
    queries, monkeypatch, caplog, installed
):
    if installed:
        pytest.importorskip("triton")
    else:
        monkeypatch.setitem(sys.modules, "triton", None)

    found = [search(queries, k=1, backend="triton") for _ in range(2)]

    assert [type(each) for each in found] == [Screened, Screened]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert ("for NVIDIA GPUs, and cpu is not one" if installed else "cannot be imported") in said[0]
    assert "Torch replaces it" in said[0]


def test_a_gpu_takes_more_queries_at_once(queries, monkeypatch):
    taken = []

    def torch_search(queries, k, **resources):
        taken.append(resources["block_queries"])
        return Screened(queries, k, **resources | {"device": "cpu"})

    monkeypatch.setitem(backends._BACKENDS, "torch", torch_search)
    for resources in ({}, {"device": "cuda"}, {"device": "cuda", "block_queries": 7}):
        search(queries, k=1, **resources)

    assert taken[0] < taken[1]
    assert taken[2] == 7


@pytest.mark.gpu
def test_other_devices_use_torch_instead_of_native(queries):
    assert isinstance(search(queries, k=1, backend="native", device="cuda"), Screened)


def test_the_registry_does_not_import_torch():
    code = "import sys, clipaudit.neighbors.backends; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
