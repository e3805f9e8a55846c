"""Chooses the device of a process, and makes its arithmetic repeatable."""

import os

import torch

from clipaudit.errors import ConfigError


def use_device(name: str, *, threads: int) -> torch.device:
    """Set this process to `threads` threads and deterministic kernels; return the device.

    `name` is torch's: "cpu", "cuda", "cuda:1". The same inputs then give the same bits, for the
    same device class, thread count and library versions.
    """
    if threads < 1:
        raise ConfigError(f"threads is {threads}: set at least 1")
    torch.set_num_threads(threads)
    device = torch.device(name)
    if device.type == "cuda":
        # cuBLAS is deterministic only with a fixed workspace, read when CUDA starts
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        if not torch.cuda.is_available():
            raise ConfigError(f"device is {name}, but torch finds no CUDA device: set it to cpu")
        torch.backends.cudnn.benchmark = False
    # use_deterministic_algorithms(True) except for compiled code, without loading the compiler
    torch.set_deterministic_debug_mode("error")
    return device
