"""open_clip_train's own epoch, on our batches: the same losses, bit for bit."""

import argparse
import itertools
from types import SimpleNamespace

import open_clip
import pytest
import torch
from open_clip_train.scheduler import cosine_lr
from open_clip_train.train import train_one_epoch
from test_run import COUNTS, RECIPE
from tinyclip import sealed, text_shards, tiny

from clipaudit.corpora.sealed import Sealed
from clipaudit.models.clip import build, weights_bytes
from clipaudit.models.device import use_device
from clipaudit.models.transforms import training_preparation
from clipaudit.training.data import Batches, CaptionMaker, Crops, TrainingData
from clipaudit.training.order import make_plan, steps_of_epochs
from clipaudit.training.run import train

ARGUMENTS = argparse.Namespace(
    device="cpu",
    precision="fp32",
    model="tiny",
    distill=False,
    siglip=False,
    horovod=False,
    local_loss=False,
    gather_with_grad=False,
    rank=0,
    world_size=1,
    local_rank=0,
    accum_freq=1,
    skip_scheduler=False,
    log_every_n_steps=1,
    wandb=False,
    batch_size=RECIPE.batch_size,
    grad_clip_norm=RECIPE.gradient_clip_norm,
)


class Recording(torch.nn.Module):
    """open_clip's loss, which records what it gave."""

    def __init__(self, loss):
        super().__init__()
        self.loss = loss
        self.given = []

    def forward(self, **features):
        losses = self.loss(**features)
        self.given.append(losses["contrastive_loss"].item())
        return losses


def stock_optimizer(model):
    """The lines of open_clip_train.main that make it."""

    def exclude(n, p):
        return p.ndim < 2 or "bn" in n or "ln" in n or "bias" in n or "logit_scale" in n

    named = list(model.named_parameters())
    gain_or_bias_params = [p for n, p in named if exclude(n, p) and p.requires_grad]
    rest_params = [p for n, p in named if not exclude(n, p) and p.requires_grad]
    return torch.optim.AdamW(
        [
            {"params": gain_or_bias_params, "weight_decay": 0.0},
            {"params": rest_params, "weight_decay": RECIPE.weight_decay},
        ],
        lr=RECIPE.learning_rate,
        betas=(RECIPE.beta1, RECIPE.beta2),
        eps=RECIPE.epsilon,
    )


def our_batches(clip, file, paths, layout):
    """All epochs' batches, as (images, texts)."""
    manifest = Sealed(file)
    kept = {shard.number: shard.kept for shard in manifest}
    plan = make_plan(kept, batch_size=RECIPE.batch_size, processes=1, workers=0, seed=RECIPE.seed)
    preparation = training_preparation(clip.preprocessing, crop_scale=RECIPE.crop_scale)
    maker = CaptionMaker(Crops(preparation, RECIPE.seed), clip.tokenizer, 0.0, 0)
    data = TrainingData(plan, manifest, paths, maker, process=0, held=RECIPE.shuffle_buffer)
    batches = Batches(data, workers=0, pinned=False)
    cpu = torch.device("cpu")
    return [
        [(preparation.tensor(b.pixels, cpu, layout=layout), b.targets) for b in each]
        for each in itertools.starmap(batches.epoch, enumerate(steps_of_epochs(plan, 3)))
    ]


def loader(batches):
    """The data in the form that train_one_epoch takes."""

    class Batched(list):
        num_batches = len(batches)
        num_samples = len(batches) * RECIPE.batch_size

    return {"train": SimpleNamespace(dataloader=Batched(batches), set_epoch=lambda epoch: None)}


def stock_training(architecture, file, paths, layout):
    """Train with open_clip_train's epoch; return the losses and the weights."""
    use_device("cpu", threads=1)
    clip = build(architecture, seed=RECIPE.seed)
    model = clip.model.to(memory_format=layout)
    epochs = our_batches(clip, file, paths, layout)
    optimizer = stock_optimizer(model)
    steps = sum(map(len, epochs))
    schedule = cosine_lr(optimizer, RECIPE.learning_rate, RECIPE.warmup_steps, steps)
    loss = Recording(open_clip.create_loss(ARGUMENTS))
    for number, batches in enumerate(epochs):
        data = loader(batches)
        train_one_epoch(model, data, loss, number, optimizer, None, schedule, None, ARGUMENTS)
    return loss.given, weights_bytes(model)


@pytest.mark.parametrize("vision", ["resnet", "transformer"])
def test_losses_and_weights_equal_those_of_open_clip_train(tmp_path, vision):
    vit = {"image_size": 32, "layers": 2, "width": 16, "head_width": 8, "patch_size": 8}
    architecture = tiny(tmp_path, **({} if vision == "resnet" else {"vision_cfg": vit}))
    shards = text_shards(tmp_path, COUNTS)
    file, locate = sealed(tmp_path, shards, COUNTS)
    saved = {}
    curves = train(
        file,
        locate,
        architecture,
        RECIPE,
        initial=None,
        scratch=tmp_path,
        device="cpu",
        threads=1,
        save_epoch=saved.__setitem__,
    )

    losses, weights = stock_training(architecture, file, dict(shards), torch.channels_last)
    plain_losses, _ = stock_training(architecture, file, dict(shards), torch.contiguous_format)

    assert curves["loss"].to_pylist() == losses
    assert saved[2] == weights
    # the other layout adds in another order; the difference grows over nine steps
    assert losses == pytest.approx(plain_losses, rel=1e-4)
