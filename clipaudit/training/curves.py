"""Collects the loss curve of a training run as a reproducible table, without times."""

import math
from dataclasses import dataclass, field

import pyarrow as pa
import torch

from clipaudit.errors import StepError

CURVES = pa.schema(
    [
        pa.field("step", pa.int64(), nullable=False),  # 0-based, over all epochs
        pa.field("epoch", pa.int32(), nullable=False),  # 0-based
        pa.field("samples_seen", pa.int64(), nullable=False),  # by all processes, this step's too
        pa.field("loss", pa.float64(), nullable=False),  # of the first process
        pa.field("logit_scale", pa.float64(), nullable=False),  # used in this step: 100, not ln 100
        pa.field("learning_rate", pa.float64(), nullable=False),
    ]
)


@dataclass
class Curves:
    """Collects one row per step; losses stay on the device until `settle`, which waits for it."""

    columns: dict[str, list[float]] = field(
        default_factory=lambda: {name: [] for name in CURVES.names}
    )
    waiting: list[torch.Tensor] = field(default_factory=list)  # (loss, logit scale) each

    @property
    def steps(self) -> int:
        """Return how many steps were added."""
        return len(self.columns["step"])

    def add(self, loss: torch.Tensor, logit_scale: torch.Tensor, **others: float) -> None:
        """Add one step: its loss, its logit scale and the other columns of CURVES."""
        for name, value in others.items():
            self.columns[name].append(value)
        self.waiting.append(torch.stack([loss.detach().float(), logit_scale.detach().float()]))

    def settle(self) -> float:
        """Fetch the losses and return the newest; raise StepError if one is not finite."""
        if self.waiting:
            for loss, scale in torch.stack(self.waiting).tolist():
                if not math.isfinite(loss):
                    raise StepError(
                        f"step {len(self.columns['loss'])}: the loss is {loss}. Lower the recipe's "
                        "learning_rate; for CLIP, see also warmup_steps and gradient_clip_norm."
                    )
                self.columns["loss"].append(loss)
                self.columns["logit_scale"].append(scale)
            self.waiting.clear()
        return self.columns["loss"][-1] if self.columns["loss"] else math.nan

    def table(self) -> pa.Table:
        """Return all steps as a CURVES table."""
        self.settle()
        return pa.table(self.columns, schema=CURVES)

    def state(self) -> dict[str, list[float]]:
        """Return the columns of all steps, to restore `Curves` from."""
        self.settle()
        return self.columns
