"""Train a CLIP model on any manifest: on a CPU, on one GPU, or under torchrun on several.

The same recipe, manifest, threads and machine give the same weights, bit for bit, also when the
training was killed and resumed on the way.
"""

import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import open_clip
import pyarrow as pa
import torch

from clipaudit.config.supervised import SupervisedRecipe
from clipaudit.config.training import Architecture, Recipe
from clipaudit.corpora.sealed import Sealed
from clipaudit.errors import ConfigError, InputError
from clipaudit.models.clip import Clip, build, load_weights, use_device, weights_bytes
from clipaudit.models.preparation import Preparation, training_preparation
from clipaudit.progress import Progress
from clipaudit.training.curves import Curves
from clipaudit.training.data import B, Batches, BatchMaker, Maker, TrainingData
from clipaudit.training.optimization import Optimization, prepare
from clipaudit.training.order import Plan, draw, make_plan, steps_of_epochs
from clipaudit.training.processes import Processes, joined
from clipaudit.training.state import fingerprint, load_state, save_state

STEPS_BETWEEN_FETCHES = 50  # losses stay on the device in between: fetching waits for it

SaveEpoch = Callable[[int, bytes], None]

_log = logging.getLogger(__name__)


def train(
    sealed_path: Path,
    locate: Callable[[str], Path],
    architecture: Architecture,
    recipe: Recipe,
    *,
    initial: Path | None,
    scratch: Path,
    device: str,
    threads: int,
    save_epoch: SaveEpoch,
) -> pa.Table:
    """Train on what a sealed manifest keeps; return the CURVES, one row a step.

    `locate` gives the tar for its SHA-256. `initial` is a safetensors file of the same architecture
    to start from. After each epoch `save_epoch(epoch, safetensors bytes)` is called, in the first
    process only, before the epoch counts as done in `scratch`: a training that was killed and runs
    again with the same arguments and `scratch` goes on after the last epoch done (an epoch may be
    saved twice, with the same bytes, and what it saved earlier must have been durable).

    The last, partial batch of each decoding process's stream is not used in that epoch.
    Guards, each an error of ours before the first step: an empty manifest, a batch larger than what
    is kept, fewer shards than decoding processes, a missing shard, a corpus without captions.
    """
    sealed = Sealed(sealed_path)
    sealed.require_samples()
    _require_captions(sealed)
    paths = locate_all(sealed, locate)
    with joined(device) as (processes, own_device), random_state_kept():
        torch_device = training_device(own_device, threads=threads)
        plan, steps = plan_epochs(sealed, recipe, processes)
        clip = build(architecture, seed=recipe.seed)
        if initial is not None:
            load_weights(clip.model, initial)
        preparation = training_preparation(clip.preprocessing, crop_scale=recipe.crop_scale)
        maker = _maker(clip, preparation, recipe)
        run = TrainingRun(
            plan=plan,
            steps=steps,
            work=prepare(
                clip.model, recipe, steps=sum(steps), processes=processes, device=torch_device
            ),
            batches=make_batches(plan, sealed, paths, maker, recipe, processes, torch_device),
            preparation=preparation,
            processes=processes,
            device=torch_device,
            seed=recipe.seed,
        )
        identity = _identity(
            sealed_path, architecture, recipe, initial, processes, torch_device, threads
        )
        _warn_of_warmup(recipe, sum(steps))
        return run.all_epochs(scratch, identity, save_epoch)


def _require_captions(sealed: Sealed) -> None:
    for corpus in sealed.corpora:
        if corpus.captioning.source == "none":
            raise ConfigError(
                f"corpus {corpus.name} has `captions: none`, but training needs captions: set it "
                "to text or class, or leave the corpus out of the manifest"
            )


def locate_all(sealed: Sealed, locate: Callable[[str], Path]) -> dict[int, Path]:
    """Return the tars of the shards that keep anything, by number; InputError if one is missing."""
    paths = {shard.number: locate(shard.sha256) for shard in sealed if shard.kept > 0}
    for number, path in paths.items():
        if not path.is_file():
            raise InputError(
                f"{path}: shard {number} of the manifest is gone. Put it back, or make the "
                "manifest again without it."
            )
    return paths


def training_device(name: str, *, threads: int) -> torch.device:
    """Return the device, set up as `use_device` does, and for training."""
    device = use_device(name, threads=threads)
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")  # TF32, as open_clip_train does
    return device


def plan_epochs(
    sealed: Sealed, recipe: Recipe | SupervisedRecipe, processes: Processes
) -> tuple[Plan, list[int]]:
    """Return the order of everything, and the steps of each epoch; refuse what has none."""
    plan = make_plan(
        {shard.number: shard.kept for shard in sealed},
        batch_size=recipe.batch_size,
        processes=processes.count,
        workers=recipe.workers,
        seed=recipe.seed,
    )
    return plan, steps_of_epochs(plan, recipe.epochs)


def make_batches(
    plan: Plan,
    sealed: Sealed,
    paths: Mapping[int, Path],
    maker: BatchMaker[B],
    recipe: Recipe | SupervisedRecipe,
    processes: Processes,
    device: torch.device,
) -> Batches[B]:
    """Return the batches of this process: what `sealed` keeps, in the order of the plan."""
    data = TrainingData(
        plan, sealed, paths, maker, process=processes.rank, held=recipe.shuffle_buffer
    )
    return Batches(data, workers=recipe.workers, pinned=device.type == "cuda")


def _maker(clip: Clip, preparation: Preparation, recipe: Recipe) -> Maker:
    end = getattr(clip.tokenizer, "eot_token_id", None)
    if recipe.token_masking > 0 and end is None:
        raise ConfigError(
            f"token_masking is {recipe.token_masking}, but the architecture's tokenizer "
            f"({type(clip.tokenizer).__name__}) does not say which token ends a text: masking "
            "works with open_clip's own tokenizer"
        )
    return Maker(
        preparation,
        clip.tokenizer,
        recipe.token_masking,
        end or 0,
        recipe.seed,
        recipe.caption_choice,
    )


@contextmanager
def random_state_kept() -> Iterator[None]:
    """Leave the process's random state as it was: each epoch seeds it anew."""
    with torch.random.fork_rng():
        yield


def _warn_of_warmup(recipe: Recipe, steps: int) -> None:
    if recipe.warmup_steps >= steps:
        _log.warning(
            "warmup_steps is %d, but the training has %d steps: the learning rate never reaches %g",
            recipe.warmup_steps,
            steps,
            recipe.learning_rate,
        )


def _identity(
    sealed: Path,
    architecture: Architecture,
    recipe: Recipe,
    initial: Path | None,
    processes: Processes,
    device: torch.device,
    threads: int,
) -> str:
    vocabulary = Path(architecture.vocabulary) if architecture.vocabulary else None
    files = {"sealed": sealed, "vocabulary": vocabulary, "initial": initial}
    return fingerprint(
        {
            "architecture": architecture.model_dump(mode="json"),
            "recipe": recipe.model_dump(mode="json"),
            "files": {name: file_digest(path) for name, path in files.items()},
            "processes": processes.count,
            "device": device.type,
            "threads": threads,
            "versions": [torch.__version__, open_clip.__version__],
        }
    )


def file_digest(path: Path | None) -> str | None:
    """Return the SHA-256 of a file, None for none."""
    if path is None:
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass
class TrainingRun:
    """A training, ready to go."""

    plan: Plan
    steps: list[int]  # of each epoch
    work: Optimization
    batches: Batches[Any]  # of (pixels, targets)
    preparation: Preparation
    processes: Processes
    device: torch.device
    seed: int

    def all_epochs(self, scratch: Path, identity: str, save_epoch: SaveEpoch) -> pa.Table:
        """Train the epochs that are not done yet in `scratch`; return the CURVES of all."""
        done, curves = load_state(scratch, identity=identity, work=self.work)
        if done:
            _log.info("resuming after epoch %d of %d", done, len(self.steps))
        samples = self.plan.batch_size * self.processes.count  # of a step
        before = sum(self.steps[:done]) * samples
        total = sum(self.steps) * samples
        progress = Progress(_log, "training", total=total, unit="samples", before=before)
        for epoch in range(done, len(self.steps)):
            # no random state has to be stored: it is a function of the epoch
            torch.manual_seed(draw(self.seed, "epoch", epoch, self.processes.rank))
            self._epoch(epoch, curves, progress)
            if self.processes.is_first:
                save_epoch(epoch, weights_bytes(self.work.model))
                save_state(
                    scratch, identity=identity, epochs_done=epoch + 1, work=self.work, curves=curves
                )
        return curves.table()

    def _epoch(self, epoch: int, curves: Curves, progress: Progress) -> None:
        first, count = sum(self.steps[:epoch]), self.steps[epoch]
        for done, batch in enumerate(self.batches.epoch(epoch, count), start=1):
            loss, scale, rate = self._step(first + done - 1, batch)
            seen = (first + done) * self.plan.batch_size * self.processes.count
            curves.add(
                step=first + done - 1,
                epoch=epoch,
                samples_seen=seen,
                loss=loss,
                logit_scale=scale,
                learning_rate=rate,
            )
            if done % STEPS_BETWEEN_FETCHES == 0 or done == count:
                newest = curves.settle()
                if self.processes.is_first:
                    progress.note(seen, f"epoch {epoch + 1}, loss {newest:.4f}")

    def _step(
        self, number: int, batch: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor, float]:
        pixels, targets = batch
        images = self.preparation.tensor(pixels, self.device, layout=self.work.layout)
        return self.work.step(number, images, targets.to(self.device, non_blocking=True))
