"""Compares the CPU time of a training step by memory layout: contiguous and channels last.

    OMP_NUM_THREADS=1 python benchmarks/layouts.py

The two take turns within one process, and medians are compared.
"""

import os
import statistics
import time
from collections.abc import Callable

import timm
import torch

LAYOUTS = (torch.contiguous_format, torch.channels_last)
NARROW = {"layers": [1, 1, 1, 1], "channels": [16, 16, 32, 64]}  # the demo's
CASES = (  # model, its arguments, side of an image, batch size, turns
    ("resnet18", {**NARROW, "stem_type": "deep", "stem_width": 8}, 48, 32, 60),
    ("resnet18", {}, 64, 32, 10),
    ("resnet50", {}, 96, 16, 10),
    ("vit_tiny_patch16_224", {"img_size": 96}, 96, 16, 10),
)


def main() -> None:
    """Measure and print; see the module."""
    threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
    torch.set_num_threads(threads)
    print(torch.backends.cpu.get_cpu_capability(), f"{threads} threads")
    for name, arguments, side, batch, turns in CASES:
        steps = [training_step(name, arguments, side, batch, layout) for layout in LAYOUTS]
        taken = [[seconds(step) for step in steps] for _ in range(turns + 3)][3:]
        plain, last = (1e3 * statistics.median(column) for column in zip(*taken, strict=True))
        print(
            f"{name} {arguments}, {batch} images of {side} px: contiguous {plain:.1f} ms, "
            f"channels last {last:.1f} ms, {plain / last:.2f} times as fast"
        )


def training_step(
    name: str, arguments: dict, side: int, batch: int, layout: torch.memory_format
) -> Callable[[], None]:
    """Return a function that takes one step of SGD on random images."""
    model = timm.create_model(name, num_classes=50, **arguments).to(memory_format=layout).train()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    images = torch.randn(batch, 3, side, side).contiguous(memory_format=layout)

    def step() -> None:
        optimizer.zero_grad()
        model(images).square().mean().backward()
        optimizer.step()

    return step


def seconds(step: Callable[[], None]) -> float:
    """Return the processor time of one step."""
    before = time.process_time()
    step()
    return time.process_time() - before


if __name__ == "__main__":
    main()
