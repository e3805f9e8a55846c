"""Trains a CLIP model on any manifest: on a CPU, on one GPU, or under torchrun on several.

The same recipe, manifest, threads and machine give the same weights, bit for bit, even if the
training run is killed and resumed.
"""

import logging
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path

import open_clip
import pyarrow as pa
import torch

from clipaudit.config.supervised import SupervisedRecipe
from clipaudit.config.training import Architecture, Recipe
from clipaudit.corpora.sealed import Sealed
from clipaudit.errors import ConfigError, InputError
from clipaudit.models.clip import Clip, build, load_weights, weights_bytes
from clipaudit.models.device import use_device
from clipaudit.models.preparation import Preparation
from clipaudit.models.transforms import training_preparation
from clipaudit.plaindata import Json
from clipaudit.progress import Progress
from clipaudit.store.store import file_sha256
from clipaudit.training.curves import Curves
from clipaudit.training.data import Batch, Batches, CaptionMaker, Crops, Maker, TrainingData
from clipaudit.training.mixing import drawn_targets, refuse_unmixed
from clipaudit.training.optimization import Optimization, prepare
from clipaudit.training.order import draw, make_plan, steps_of_epochs
from clipaudit.training.processes import Processes, joined, require_same_start
from clipaudit.training.state import fingerprint, load_state, save_state

STEPS_BETWEEN_FETCHES = 50  # losses stay on the device in between: fetching waits for it
CHECKPOINT_STEPS = 1000  # about half an hour at the papers' scale; never results

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
    checkpoint_steps: int = CHECKPOINT_STEPS,
    at_once: int | None = None,
) -> pa.Table:
    """Train on the samples that a sealed manifest keeps; return the CURVES, one row per step.

    `locate` gives the tar for its SHA-256. `initial` is a safetensors file of the same architecture
    to start from. After each epoch, the first process calls `save_epoch(epoch, safetensors bytes)`
    before the epoch counts as done in `scratch`. A killed training run resumes after the last epoch
    done if it is called again with the same arguments and `scratch`. (An epoch may be saved twice,
    with the same bytes, and saving must be durable.) Within an epoch, the state is saved in
    `scratch` after each `checkpoint_steps` steps, 0 for never, and training resumes from there;
    their number, which may change in between, does not affect the result.

    Processes share `recipe.batch_size` equally; raises ConfigError if they cannot. In each process
    at most `at_once` samples go through the model together (None: all), to save memory: the
    gradients are those of the batch, except for rounding and for what a model draws or normalises
    by batch.

    The last, partial batch of each decoding process's stream is not used in that epoch.
    Raises an error before the first step for an empty manifest, a batch larger than the kept
    samples, fewer shards than decoding processes, a missing shard, a corpus without captions, and
    shards whose samples are ordered by content (see `training.mixing`).
    """
    sealed = Sealed(sealed_path)
    sealed.require_samples()
    _require_captions(sealed)
    paths = locate_all(sealed, locate)
    with joined(device) as (processes, own_device), torch.random.fork_rng():
        run = TrainingRun(
            sealed, paths, recipe, processes, own_device, threads, checkpoint_steps, at_once
        )
        clip = build(architecture, seed=recipe.seed)
        if initial is not None:
            load_weights(clip.model, initial)
        preparation = training_preparation(clip.preprocessing, crop_scale=recipe.crop_scale)
        maker = _maker(clip, Crops(preparation, recipe.seed), recipe)
        steps = sum(run.steps)
        work = prepare(
            clip.model,
            recipe,
            steps=steps,
            processes=processes,
            device=run.device,
            at_once=at_once,
        )
        vocabulary = Path(architecture.vocabulary) if architecture.vocabulary else None
        identity = {
            "architecture": architecture.model_dump(mode="json"),
            "vocabulary": file_sha256(vocabulary) if vocabulary else None,
            "initial": file_sha256(initial) if initial else None,
            "open_clip": open_clip.__version__,
        }
        _warn_of_warmup(recipe, steps)
        return run.all_epochs(work, maker, identity, scratch, save_epoch)


def _require_captions(sealed: Sealed) -> None:
    for corpus in sealed.corpora:
        if corpus.captioning.source == "none":
            raise ConfigError(
                f"corpus {corpus.name} has `captions: none`, but training needs captions: set it "
                "to text or class, or leave the corpus out of the manifest"
            )


def locate_all(sealed: Sealed, locate: Callable[[str], Path]) -> dict[int, Path]:
    """Return the tars of the shards that keep samples, by number; raise InputError if one lacks."""
    paths = {shard.number: locate(shard.sha256) for shard in sealed if shard.kept > 0}
    for number, path in paths.items():
        if not path.is_file():
            raise InputError(
                f"{path}: shard {number} of the manifest is missing. Restore it, or make the "
                "manifest again without it."
            )
    return paths


def _maker(clip: Clip, crops: Crops, recipe: Recipe) -> CaptionMaker:
    end = getattr(clip.tokenizer, "eot_token_id", None)
    if recipe.token_masking > 0 and end is None:
        raise ConfigError(
            f"token_masking is {recipe.token_masking}, but the architecture's tokenizer "
            f"({type(clip.tokenizer).__name__}) does not say which token ends a text: masking "
            "works with open_clip's own tokenizer"
        )
    masking, choice = recipe.token_masking, recipe.caption_choice
    return CaptionMaker(crops, clip.tokenizer, masking, end or 0, choice, recipe.captions)


def _warn_of_warmup(recipe: Recipe, steps: int) -> None:
    if recipe.warmup_steps >= steps:
        _log.warning(
            "warmup_steps is %d, but the training has %d steps: the learning rate never reaches %g",
            recipe.warmup_steps,
            steps,
            recipe.learning_rate,
        )


@dataclass
class TrainingRun:
    """A prepared training run: the samples of this process, their order, and its device."""

    sealed: Sealed
    paths: Mapping[int, Path]  # the tar of every shard that keeps samples
    recipe: Recipe | SupervisedRecipe
    processes: Processes
    device_name: str
    threads: int
    checkpoint_steps: int
    at_once: int | None = None  # the most samples that go through the model at once

    def __post_init__(self) -> None:
        """Plan all epochs and set up the device; raise TooSmall for a plan without steps."""
        self.device = use_device(self.device_name, threads=self.threads)
        if self.device.type == "cuda":
            torch.set_float32_matmul_precision("high")  # TF32, as open_clip_train does
        share, left = divmod(self.recipe.batch_size, self.processes.count)
        if left:
            raise ConfigError(
                f"batch_size {self.recipe.batch_size}, of all processes together: "
                f"{self.processes.count} of them cannot share it equally. Change the number of "
                "processes (the resources `gpu`, `nodes`, `processes`) or batch_size."
            )
        self._plan = make_plan(
            {shard.number: shard.kept for shard in self.sealed},
            batch_size=share,
            processes=self.processes.count,
            workers=self.recipe.workers,
            seed=self.recipe.seed,
            shuffle=self.recipe.shuffle,
        )
        self.steps = steps_of_epochs(self._plan, self.recipe.epochs)  # of each epoch

    def all_epochs(
        self, work: Optimization, maker: Maker, identity: Json, scratch: Path, save_epoch: SaveEpoch
    ) -> pa.Table:
        """Train the steps that are not done yet in `scratch`; return the CURVES of all.

        `identity` is all that decides the weights besides recipe, manifest, processes and device.
        """
        known = fingerprint({**identity, **self._identity()})
        curves = load_state(scratch, identity=known, work=work)
        done, ends = curves.steps, list(accumulate(self.steps))
        require_same_start(self.processes, done)
        epochs = bisect_right(ends, done)  # that are done
        if done:
            _log.info(
                "resuming after step %d of %d, epoch %d of %d", done, ends[-1], epochs, len(ends)
            )
        samples = self.recipe.batch_size  # of a step
        progress = Progress(
            _log, "training", total=ends[-1] * samples, unit="samples", before=done * samples
        )
        keep = partial(save_state, scratch, identity=known, work=work, curves=curves)
        batches = self._batches(maker)
        pool = None
        if done == 0 and self.recipe.shuffle == "shards" and self.processes.is_first:
            pool = drawn_targets(self.sealed, self.paths, maker, seed=self.recipe.seed)
        for epoch in range(epochs, len(ends)):
            count = self.steps[epoch]
            given = batches.epoch(epoch, count, first=curves.steps - ends[epoch] + count)
            given = given if pool is None or epoch else _mixed(given, pool)
            self._epoch(epoch, work, maker.crops.preparation, given, curves, progress, keep, done)
            if self.processes.is_first:
                save_epoch(epoch, weights_bytes(work.model))
                keep()
        return curves.table()

    def _identity(self) -> Json:
        return {
            "recipe": self.recipe.model_dump(mode="json"),
            "sealed": file_sha256(self.sealed.path),
            "processes": self.processes.count,
            "at_once": self.at_once,
            "device": self.device.type,
            "threads": self.threads,
            "torch": torch.__version__,
        }

    def _batches(self, maker: Maker) -> Batches:
        held, rank = self.recipe.shuffle_buffer, self.processes.rank
        data = TrainingData(self._plan, self.sealed, self.paths, maker, process=rank, held=held)
        return Batches(data, workers=self.recipe.workers, pinned=self.device.type == "cuda")

    def _epoch(
        self,
        epoch: int,
        work: Optimization,
        preparation: Preparation,
        batches: Iterator[Batch],
        curves: Curves,
        progress: Progress,
        keep: Callable[[], None],
        resumed: int,
    ) -> None:
        """Train the rest of an epoch, after the steps in `curves`."""
        first, count = sum(self.steps[:epoch]), self.steps[epoch]
        for step, (pixels, targets) in enumerate(batches, start=curves.steps):
            done = step + 1 - first
            images = preparation.tensor(pixels, self.device, layout=work.layout)
            targets = targets.to(self.device, non_blocking=True)
            if step == resumed > 0 and self.processes.count > 1:
                work.rehearse(images, targets)
            # random state is not stored: it is a function of the step
            torch.manual_seed(draw(self.recipe.seed, "step", step, self.processes.rank))
            loss, scale, rate = work.step(step, images, targets)
            seen = (step + 1) * self.recipe.batch_size
            curves.add(loss, scale, step=step, epoch=epoch, samples_seen=seen, learning_rate=rate)
            if done % STEPS_BETWEEN_FETCHES == 0 or done == count:
                newest = curves.settle()
                if self.processes.is_first:
                    progress.note(seen, f"epoch {epoch + 1}, loss {newest:.4f}")
            due = self.checkpoint_steps > 0 and done % self.checkpoint_steps == 0
            if due and done < count and self.processes.is_first:
                keep()
                _log.info("checkpoint after step %d", step + 1)


def _mixed(batches: Iterator[Batch], pool: torch.Tensor) -> Iterator[Batch]:
    """Yield batches; raise InputError if the first one is far from an even draw."""
    for number, batch in enumerate(batches):
        if number == 0:
            found, even = refuse_unmixed(batch.targets, pool)
            _log.info("a batch has %d different targets, an even draw %.1f", found, even)
        yield batch
