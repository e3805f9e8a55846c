"""Prints the error of training gradients against float64's, for narrow 1x1 convolutions.

A program of its own, since oneDNN reads ONEDNN_MAX_CPU_ISA once, and may end the process.
"""

import copy
from functools import partial

import torch
from torch.nn.functional import cross_entropy

from clipaudit.training.optimization import Optimization, gradient_scaler, memory_layout

CPU = torch.device("cpu")


def network(channels, stride):
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, channels, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(channels, 8, 1, stride=stride),
        torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(32, 3),
    )


def losses_of(model, images, labels):
    yield cross_entropy(model(images), labels), torch.ones(())


def worst_error(channels, stride, steps=3):
    """Return the largest error of a gradient, relative to the largest number of the gradient."""
    torch.manual_seed(channels)
    model = network(channels, stride)
    layout = memory_layout(model, CPU)
    model.to(CPU, memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    work = Optimization(
        model,
        optimizer,
        lambda number: 0.1,
        gradient_scaler("fp32", CPU),
        partial(losses_of, model),
        layout=layout,
    )
    errors = []
    for number in range(steps):
        exact = copy.deepcopy(model).double()
        images, labels = torch.randn(16, 3, 32, 32), torch.randint(3, (16,))
        cross_entropy(exact(images.double()), labels).backward()
        work.step(number, images.contiguous(memory_format=layout), labels)
        for ours, theirs in zip(model.parameters(), exact.parameters(), strict=True):
            errors.append((ours.grad - theirs.grad).abs().max() / theirs.grad.abs().max())
    return float(max(errors))


if __name__ == "__main__":
    torch.set_num_threads(1)
    for channels in (3, 4, 6, 8, 12, 16):
        for stride in (1, 2):
            print(channels, stride, worst_error(channels, stride))
