"""Yields the batches of a training run, filtering shards by the manifest while reading them.

Decoding processes read, shuffle, decode and crop, and tokenize captions. A sample's random choices
(its crop, its caption if it has several, its masked tokens) are drawn from (seed, epoch, shard,
row), so that neither the number of processes nor the order of samples changes them.
"""

import functools
import itertools
import multiprocessing
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Int32, Shaped, UInt8
from PIL import Image

from clipaudit.corpora.images import open_picture
from clipaudit.corpora.places import places
from clipaudit.corpora.reasons import Unusable
from clipaudit.corpora.scattered import Scattered
from clipaudit.corpora.sealed import Sealed, SealedShard
from clipaudit.corpora.shards import RawSample, first_image, raw_samples
from clipaudit.errors import ClipauditError, InputError
from clipaudit.models.preparation import Pixels, Preparation
from clipaudit.models.spread import START_METHOD
from clipaudit.models.tokenizers import Tokenizer
from clipaudit.models.workers import Workers
from clipaudit.training.masking import Tokens, mask_tokens
from clipaudit.training.order import Plan, draw

DECODED_BYTES = 256 << 20  # decoded images each worker keeps for later epochs: never results
BYTES_PER_PIXEL = 4  # of Pillow's RGB images in memory
TOKENIZED_CAPTIONS = 1 << 16  # captions each worker keeps tokenized: never results

Target = Literal["caption", "label"]  # what a model learns from an image
Stated = str | tuple[str, ...] | int  # the caption, all of a corpus with several, or the label
CaptionChoice = Literal["random", "first"]

T = TypeVar("T")


class Sample(NamedTuple):
    """A kept sample on its way to a batch: the image as in the shard."""

    shard: int
    row: int
    image: bytes
    target: Stated


class Batch(NamedTuple):
    """The input of a step: uint8 pixels, and token ids or labels."""

    pixels: UInt8[torch.Tensor, "n height width 3"]
    targets: Shaped[torch.Tensor, "n ..."]


def kept_samples(path: Path, shard: SealedShard, target: Target = "caption") -> Iterator[Sample]:
    """Yield the samples of a shard that the manifest keeps, in order.

    Raises InputError if one of them cannot be read, or if their number differs from the manifest's.
    """
    read = 0
    for raw in raw_samples(path, shard.keeps):
        read += 1
        yield kept_sample(path, shard, raw, target)
    if read != shard.kept:
        raise InputError(
            f"{path}: the manifest keeps {shard.kept} of its samples, but the file has {read} of "
            "these. It is not the shard that the manifest was made from: restore that one."
        )


def kept_rows(shard: SealedShard) -> Int32[np.ndarray, " n"]:
    """Return the rows of a shard that the manifest keeps, ascending."""
    bits = np.unpackbits(np.frombuffer(shard.bitmap, np.uint8), bitorder="little")
    return np.flatnonzero(bits[: shard.rows]).astype(np.int32)


def restricted(shard: SealedShard, chosen: Bool[np.ndarray, " n"]) -> SealedShard:
    """Return a shard that keeps only the chosen ones of its kept rows."""
    keeps = np.zeros(shard.rows, bool)
    keeps[kept_rows(shard)[chosen]] = True
    bitmap = np.packbits(keeps, bitorder="little").tobytes()
    return shard._replace(bitmap=bitmap, kept=int(chosen.sum()))


def kept_sample(path: Path, shard: SealedShard, raw: RawSample, target: Target) -> Sample:
    """Return a sample that the manifest keeps; raise InputError if it cannot be used."""
    try:
        stated = _stated(raw, shard, target)
    except Unusable as error:
        raise _unusable(path, raw.row, error) from error
    image = first_image(raw.members)
    if image is None or stated is None:
        missing = "image" if image is None else target
        raise _unusable(path, raw.row, InputError(f"no {missing}"))
    return Sample(shard.number, raw.row, image, stated)


def _stated(raw: RawSample, shard: SealedShard, target: Target) -> Stated | None:
    if raw.fault is not None:
        raise Unusable(raw.fault, raw.detail)
    captioning = shard.captioning
    if target == "label":
        return captioning.label(raw.members)
    if captioning.source == "texts":
        return captioning.captions(raw.members) or None
    return captioning.caption(raw.members)


def shuffled(samples: Iterable[T], *, held: int, seed: int) -> Iterator[T]:
    """Yield the samples in a random order, holding at most `held` of them.

    >>> sorted(shuffled(range(5), held=2, seed=0))
    [0, 1, 2, 3, 4]
    """
    generator = random.Random(seed)
    waiting: list[T] = []
    for sample in samples:
        if len(waiting) < held:
            waiting.append(sample)
        else:
            place = generator.randrange(held)
            chosen, waiting[place] = waiting[place], sample
            yield chosen
    generator.shuffle(waiting)
    yield from waiting


@dataclass
class Crops:
    """The randomly cropped image of a sample, the same for the same (seed, epoch, shard, row)."""

    preparation: Preparation
    seed: int
    room: int = DECODED_BYTES
    decoded: dict[tuple[int, int], Image.Image] = field(default_factory=dict)

    def pixels(self, sample: Sample, epoch: int) -> Pixels:
        """Return the image, cropped."""
        generator = torch.default_generator
        before = generator.get_state()  # without workers this is the training run's own generator
        generator.manual_seed(draw(self.seed, "crop", epoch, sample.shard, sample.row))
        try:
            return self.preparation.pixels(self._picture(sample))
        finally:
            generator.set_state(before)

    def _picture(self, sample: Sample) -> Image.Image:
        address = sample.shard, sample.row
        picture = self.decoded.get(address)
        if picture is None:
            picture = open_picture(sample.image).rgb
            size = picture.width * picture.height * BYTES_PER_PIXEL
            if size <= self.room:
                self.room -= size
                self.decoded[address] = picture
        return picture


@dataclass
class Maker(ABC):
    """Makes cropped images and the target of each."""

    crops: Crops
    learns: ClassVar[Target]

    @abstractmethod
    def target(self, sample: Sample, epoch: int) -> torch.Tensor:
        """Return the image's target in this epoch; the same shape for all samples."""


@dataclass
class CaptionMaker(Maker):
    """Makes pixels and tokens of a sample, the same for the same (seed, epoch, shard, row)."""

    tokenizer: Tokenizer
    masking: float  # share of the tokens to drop
    end_token: int  # id of the end of text; used only when masking
    choice: CaptionChoice = "random"  # which of several captions
    most: int | None = None  # captions to draw from; None: all
    learns: ClassVar[Target] = "caption"

    def target(self, sample: Sample, epoch: int) -> Tokens:
        """Return the caption's tokens, some of them dropped if the recipe masks.

        If the corpus has several captions per image, even if this image has only one, they are
        those of the chosen caption, unmasked whatever the choice and the masking.
        """
        assert not isinstance(sample.target, int), "captions are read for a CLIP model"
        if isinstance(sample.target, tuple):
            return _tokenize(self.tokenizer, self._chosen(sample, sample.target, epoch))
        tokens = _tokenize(self.tokenizer, sample.target)
        if self.masking == 0:
            return tokens
        seed = draw(self.crops.seed, "mask", epoch, sample.shard, sample.row)
        return mask_tokens(tokens, share=self.masking, end=self.end_token, seed=seed)

    def _chosen(self, sample: Sample, captions: tuple[str, ...], epoch: int) -> str:
        if self.choice == "first":
            return captions[0]
        drawn = draw(self.crops.seed, "caption", epoch, sample.shard, sample.row)
        return captions[drawn % len(captions[: self.most])]


@functools.lru_cache(maxsize=TOKENIZED_CAPTIONS)
def _tokenize(tokenizer: Tokenizer, caption: str) -> Tokens:
    return tokenizer([caption])[0]


@dataclass
class TrainingData:
    """The batches of one training process, one epoch at a time."""

    plan: Plan  # the order
    sealed: Sealed
    paths: Mapping[int, Path]  # the tar of every shard of the plan
    maker: Maker
    process: int
    held: int  # samples that a worker holds for shuffling

    def __post_init__(self) -> None:
        """Start with the first epoch."""
        # workers outlive an epoch and must see it
        self._begin = multiprocessing.get_context(START_METHOD).Array("q", 2)
        self._opened: dict[int, tuple[Scattered, SealedShard]] = {}  # of each worker, by shard

    def set_epoch(self, epoch: int, skipped: int = 0) -> None:
        """Set the epoch that `batches` yields from now on, without its first `skipped` batches.

        This applies to all workers. Skipped samples are neither read nor decoded.
        """
        self._begin[:] = [epoch, skipped]

    def batches(self, worker: int, workers: int) -> Iterator[Batch]:
        """Yield the full batches of one worker's stream; the plan has the number of workers."""
        epoch, skipped = self._begin[:]
        scattered = self.plan.shuffle == "samples"
        ordered = self._scattered_samples if scattered else self._samples_of_shards
        made: list[tuple[Pixels, torch.Tensor]] = []
        for sample in ordered(epoch, worker, skipped * self.plan.batch_size):
            made.append(self._make(sample, epoch))
            if len(made) == self.plan.batch_size:
                pixels, targets = zip(*made, strict=True)
                yield Batch(torch.from_numpy(np.stack(pixels)), torch.stack(targets))
                made = []

    def _samples_of_shards(self, epoch: int, worker: int, skipped: int) -> Iterator[Sample]:
        """Yield a stream's samples in shuffled places, so that skipping reads none."""
        numbers = self.plan.shards(epoch, self.process, worker)
        total = sum(self.plan.kept[number] for number in numbers)
        seed = draw(self.plan.seed, "buffer", epoch, self.process, worker)
        order = shuffled(range(total), held=self.held, seed=seed)
        wanted = np.ones(total, bool)
        wanted[list(itertools.islice(order, skipped))] = False
        samples = zip(np.flatnonzero(wanted), self._in_place(numbers, wanted), strict=True)
        read: dict[int, Sample] = {}
        for place in order:
            while place not in read:
                at, sample = next(samples)
                read[int(at)] = sample
            yield read.pop(place)

    def _in_place(self, numbers: list[int], wanted: Bool[np.ndarray, " n"]) -> Iterator[Sample]:
        """Yield the wanted kept samples of some shards, in the order of the shards."""
        start = 0
        for number in numbers:
            shard = self.sealed.shard(number)
            chosen = wanted[start : start + shard.kept]
            start += shard.kept
            if chosen.any():
                yield from kept_samples(
                    self.paths[number], restricted(shard, chosen), self.maker.learns
                )

    def _scattered_samples(self, epoch: int, worker: int, skipped: int) -> Iterator[Sample]:
        order = np.argsort(places(*self._kept, seed=draw(self.plan.seed, "samples", epoch)))
        for place in order[self.plan.stream(self.process, worker)][skipped:]:
            number, row = (int(each[place]) for each in self._kept)
            if number not in self._opened:
                opened = Scattered(self.paths[number]), self.sealed.shard(number)
                self._opened[number] = opened
            tar, shard = self._opened[number]
            yield kept_sample(self.paths[number], shard, tar.sample(row), self.maker.learns)

    @functools.cached_property
    def _kept(self) -> tuple[Int32[np.ndarray, " n"], Int32[np.ndarray, " n"]]:
        """Return the shards and the rows of all samples that the manifest keeps."""
        numbers = sorted(self.plan.kept)
        rows = [kept_rows(self.sealed.shard(number)) for number in numbers]
        shards = np.repeat(np.array(numbers, np.int32), [len(each) for each in rows])
        return shards, np.concatenate(rows)

    def _make(self, sample: Sample, epoch: int) -> tuple[Pixels, torch.Tensor]:
        try:
            return self.maker.crops.pixels(sample, epoch), self.maker.target(sample, epoch)
        except Unusable as error:
            raise _unusable(self.paths[sample.shard], sample.row, error) from error


def _unusable(path: Path, row: int, error: ClipauditError) -> InputError:
    return InputError(
        f"{path}, row {row}: the manifest keeps a sample that cannot be used: {error}. Make the "
        "manifest of this corpus again: indexing drops such samples."
    )


class Batches:
    """Yields the steps of each epoch, from decoding processes that live as long as the training."""

    def __init__(self, data: TrainingData, *, workers: int, pinned: bool) -> None:
        """Start nothing yet: processes start with the first epoch."""
        self._data = data
        self._workers = Workers(data.batches, workers=workers, pinned=pinned)

    def epoch(self, epoch: int, steps: int, *, first: int = 0) -> Iterator[Batch]:
        """Yield the batches of steps `first` to `steps` - 1 of an epoch.

        The stream is read to its end even if another process has fewer batches, so that every kept
        sample of every epoch is counted. Less than one batch of each decoding process is read
        before `first`.
        """
        rounds, begun = self._data.plan.rounds(epoch, self._data.process, first)
        self._data.set_epoch(epoch, rounds)
        given = first
        for number, batch in enumerate(self._workers, start=first - begun):
            if first <= number < steps:
                given += 1
                yield batch
        assert given == steps, f"{given} batches, expected {steps}"
