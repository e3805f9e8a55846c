"""Runs one training step; for CLIP with open_clip's loss, weight groups, schedule and precision.

It differs from open_clip_train.train_one_epoch in one point: that clamps a learned logit scale at
100, while a recipe here may give another maximum or fix the scale. Jayaraman et al. train with a
"temperature" of 25, 100 and 200. They call 100 open_clip's default, which is the clamp.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from open_clip.loss import ClipLoss
from open_clip_train.precision import get_autocast
from open_clip_train.scheduler import cosine_lr

from clipaudit.config.training import Recipe
from clipaudit.errors import StepError
from clipaudit.training.processes import Processes, together

ONEDNN_BLOCK = 16  # channels per block of oneDNN's 1x1 convolutions: 8, or 16 with AVX-512

# Takes images and their targets; yields the loss, and the logit scale that it was computed with. If
# a batch is too large to go through the model together, the loss comes once per part, with the
# gradients of the part: they add up to the batch's.
Losses = Callable[[torch.Tensor, torch.Tensor], Iterator[tuple[torch.Tensor, torch.Tensor]]]


_IN_PARTS = (
    "Set the resource `at_once` (`set-resources` in a profile) to fewer samples, which then go "
    "through the model together; batch_size and what is learned stay the same."
)


@dataclass
class Optimization:
    """A model in training and everything that changes with it."""

    model: torch.nn.Module  # as it is saved
    optimizer: torch.optim.Optimizer
    schedule: Callable[[int], float]  # sets the learning rate of a step, and returns it
    scaler: torch.amp.GradScaler  # does nothing if the precision needs none
    losses: Losses
    clip_norm: float | None = None
    learned_scale: torch.Tensor | None = None  # log of a logit scale that the optimizer changes
    max_log_scale: float = math.inf  # of the learned scale
    layout: torch.memory_format = torch.contiguous_format  # of images and weights in memory
    smaller: str = "Give the recipe a smaller `batch_size`."  # how a step takes less memory

    def step(
        self, number: int, images: torch.Tensor, targets: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, float]:
        """Take step `number` on a batch; return its loss, logit scale and learning rate."""
        rate = self.schedule(number)
        self.optimizer.zero_grad()
        try:
            for loss, scale in self.losses(images, targets):  # noqa: B007
                torch.autograd.backward(self.scaler.scale(loss))
        except torch.OutOfMemoryError as error:
            raise StepError(
                f"a step of {len(images)} samples in one process: {error} {self.smaller}"
            ) from error
        self._descend()
        if self.learned_scale is not None:
            with torch.no_grad():
                self.learned_scale.clamp_(0, self.max_log_scale)
        return loss, scale, rate

    def rehearse(self, images: torch.Tensor, targets: torch.Tensor) -> None:
        """Compute the gradients of a batch and drop them; weights and buffers are unchanged.

        Several processes sum their gradients in groups that torch forms again after the first
        backward pass of a process, and the order of the sums of three or more processes follows the
        groups. So a resumed process must have had a first pass, like one that never stopped.
        """
        before = [buffer.clone() for buffer in self.model.buffers()]
        for loss, _ in self.losses(images, targets):
            torch.autograd.backward(loss)
        self.optimizer.zero_grad()
        for buffer, old in zip(self.model.buffers(), before, strict=True):
            buffer.copy_(old)

    def _descend(self) -> None:
        if self.clip_norm is not None:
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm, norm_type=2.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()


def prepare(
    model: torch.nn.Module,
    recipe: Recipe,
    *,
    steps: int,
    processes: Processes,
    device: torch.device,
    at_once: int | None = None,
) -> Optimization:
    """Return the optimization of a CLIP model over `steps` steps, moving the model to `device`.

    At most `at_once` samples go through the model together; None means all of a process.
    """
    layout = memory_layout(model, device)
    model.to(device, memory_format=layout).train()  # type: ignore[call-overload]
    assert isinstance(model.logit_scale, torch.nn.Parameter)
    if recipe.logit_scale != "learned":
        model.logit_scale.requires_grad_(False).fill_(math.log(recipe.logit_scale))
    optimizer = torch.optim.AdamW(
        weight_groups(model, recipe.weight_decay),
        lr=recipe.learning_rate,
        betas=(recipe.beta1, recipe.beta2),
        eps=recipe.epsilon,
    )
    return Optimization(
        model=model,
        optimizer=optimizer,
        schedule=cosine_lr(optimizer, recipe.learning_rate, recipe.warmup_steps, steps),
        scaler=gradient_scaler(recipe.precision, device),
        losses=_contrasts(together(model, processes, device), recipe, processes, device, at_once),
        clip_norm=recipe.gradient_clip_norm,
        learned_scale=model.logit_scale if recipe.logit_scale == "learned" else None,
        max_log_scale=math.log(recipe.max_logit_scale),
        layout=layout,
        smaller=_IN_PARTS,
    )


def memory_layout(model: torch.nn.Module, device: torch.device) -> torch.memory_format:
    """Return the memory layout of images and weights: channels last if that is correct.

    The layout changes the order of sums, nothing else. Channels last makes a ResNet's training
    step on a CPU up to 1.3 times as fast (benchmarks/layouts.py). But with it, oneDNN writes past
    its workspace in the backward pass of a strided 1x1 convolution that reads less than a block of
    channels (oneDNN issue 6035, open in 3.13): a crash, a hang or wrong gradients. A model with
    such a convolution is trained contiguous on any CPU, so that the layout follows from the model
    and the device class, which are part of a training's key.
    """
    if device.type == "cpu" and any(map(_overruns_workspace, model.modules())):
        return torch.contiguous_format
    return torch.channels_last


def _overruns_workspace(module: torch.nn.Module) -> bool:
    return (
        isinstance(module, torch.nn.Conv2d)
        and module.kernel_size == (1, 1)
        and module.stride != (1, 1)
        and module.in_channels // module.groups < ONEDNN_BLOCK
    )


def gradient_scaler(precision: str, device: torch.device) -> torch.amp.GradScaler:
    """Return the scaler that keeps float16 gradients from vanishing, active only if needed."""
    return torch.amp.GradScaler(device.type, enabled=precision == "amp")


def _contrasts(
    parallel: torch.nn.Module,
    recipe: Recipe,
    processes: Processes,
    device: torch.device,
    at_once: int | None,
) -> Losses:
    """Return CLIP's loss; `parallel` is the model with gradients averaged over the processes.

    It compares all samples of a batch with each other. So if they go through the model in parts,
    they do so twice: first for the features of all, then part by part for the gradients, with the
    same random draws. (open_clip_train does the same, but adds the gradient of a learned logit
    scale once per part; here it counts once.)
    """
    autocast = get_autocast(recipe.precision, device_type=device.type)
    contrast = ClipLoss(
        local_loss=recipe.local_loss,
        gather_with_grad=recipe.gather_with_grad,
        cache_labels=True,
        rank=processes.rank,
        world_size=processes.count,
    )

    def losses(
        images: torch.Tensor, tokens: torch.Tensor
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        size = at_once or len(images)
        parts = list(zip(torch.split(images, size), torch.split(tokens, size), strict=True))
        seed = torch.initial_seed()

        def output_of(part: int) -> dict[str, torch.Tensor]:
            torch.manual_seed((seed + part) % 2**63)
            with autocast():
                output: dict[str, torch.Tensor] = parallel(*parts[part])
            if recipe.text_noise:  # the same in both passes, by the seed above
                text = output["text_features"]
                noise = torch.randn_like(text) * recipe.text_noise
                output = {**output, "text_features": text + noise}
            return output

        outputs = []
        if len(parts) > 1:
            with torch.no_grad():
                outputs = [output_of(part) for part in range(len(parts))]
        for part in range(len(parts)):
            output = output_of(part)
            scale = output["logit_scale"]
            counted = scale if part == 0 else scale.detach() + 0 * scale  # DDP waits for it
            whole = [*outputs[:part], output, *outputs[part + 1 :]]
            features = {
                name: torch.cat([each[name] for each in whole])
                for name in ("image_features", "text_features")
            }
            with autocast():
                found = contrast(**{**output, **features, "logit_scale": counted}, output_dict=True)
            yield found["contrastive_loss"], scale

    return losses


def weight_groups(model: torch.nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return open_clip_train's two groups of weights: without decay, and with.

    Without decay are vectors and scalars, weights named bn, ln or bias, and the logit scale.
    """
    plain: list[torch.Tensor] = []
    decayed: list[torch.Tensor] = []
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            exempt = weight.ndim < 2 or any(
                word in name for word in ("bn", "ln", "bias", "logit_scale")
            )
            (plain if exempt else decayed).append(weight)
    return [
        {"params": plain, "weight_decay": 0.0},
        {"params": decayed, "weight_decay": weight_decay},
    ]
