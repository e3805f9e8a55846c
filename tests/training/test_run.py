import contextlib
import dataclasses
import hashlib
import logging
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from tinyclip import picture, sealed, text_shards, tiny, write_shard

from clipaudit.config.training import Recipe
from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.sealed import Sealed
from clipaudit.errors import ConfigError, InputError, StepError, StoreError, TooSmall
from clipaudit.models.clip import build, weights_bytes
from clipaudit.training.curves import CURVES
from clipaudit.training.processes import Processes
from clipaudit.training.run import TrainingRun, train
from clipaudit.training.state import FILE_NAME

COUNTS = [9, 8, 10]
RECIPE = Recipe(
    architecture="tiny",
    epochs=3,
    batch_size=8,
    learning_rate=2e-3,
    warmup_steps=2,
    gradient_clip_norm=1.0,
    workers=0,
    shuffle_buffer=5,
)


PATCHES = {"image_size": 32, "patch_size": 8, "width": 16, "layers": 1, "head_width": 16}


def three_captions(folder, counts):
    """Write shards whose images have three captions each; return (number, path) pairs."""
    rng = np.random.default_rng(0)
    texts = b"a red cat\nphoto of a dog\nblue"
    return [
        (n, write_shard(folder / f"{n}.tar", [{"png": picture(rng), "txt": texts}] * count))
        for n, count in enumerate(counts)
    ]


class Killed(BaseException):
    """Simulates a kill: nothing may catch it."""


@dataclasses.dataclass
class Training:
    """The arguments of `train`, and what it saved; it dies after an epoch or at a checkpoint."""

    folder: object
    recipe: Recipe = RECIPE
    architecture: dict = dataclasses.field(default_factory=dict)  # changes to the tiny one
    initial: object = None
    device: str = "cpu"
    die_after: int | None = None
    die_at: int | None = None
    checkpoint_steps: int = 1000
    at_once: int | None = None
    drop: frozenset = frozenset()
    captioning: Captioning | None = None
    shards: object = text_shards  # writes them
    saved: dict = dataclasses.field(default_factory=dict)

    def run(self, **changes):
        """Train, with some settings of the recipe changed; return the curves."""
        self.folder.mkdir(exist_ok=True)
        shards = self.shards(self.folder, COUNTS)
        file, locate = sealed(self.folder, shards, COUNTS, self.drop, self.captioning)
        with dying_at(self.die_at):
            return train(
                file,
                locate,
                tiny(self.folder, **self.architecture),
                self.recipe.model_copy(update=changes),
                initial=self.initial,
                scratch=self.folder,
                device=self.device,
                threads=1,
                save_epoch=self.save,
                checkpoint_steps=self.checkpoint_steps,
                at_once=self.at_once,
            )

    def save(self, epoch, weights):
        self.saved.setdefault(epoch, weights)
        assert self.saved[epoch] == weights
        if epoch == self.die_after:
            raise Killed


class DyingHandler(logging.Handler):
    """Ends a training at the line of one of its checkpoints."""

    def __init__(self, step):
        super().__init__()
        self.line = f"checkpoint after step {step}"

    def emit(self, record):
        if record.getMessage() == self.line:
            raise Killed


@contextlib.contextmanager
def dying_at(step):
    log, handler = logging.getLogger("clipaudit.training.run"), DyingHandler(step)
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


@pytest.fixture
def training(tmp_path):
    return Training(tmp_path)


def test_each_epoch_has_one_checkpoint_and_each_step_one_row(training):
    curves = training.run()

    assert curves.schema == CURVES
    assert list(training.saved) == [0, 1, 2]
    assert len(set(training.saved.values())) == 3
    assert curves["step"].to_pylist() == list(range(9))
    assert curves["epoch"].to_pylist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert curves["samples_seen"].to_pylist() == list(range(8, 73, 8))


def test_the_learning_rate_warms_up_and_falls(training):
    rates = training.run()["learning_rate"].to_pylist()

    assert rates[:2] == [1e-3, 2e-3]
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert rates[-1] > 0


def test_training_reduces_the_loss(training):
    losses = training.run(epochs=15, learning_rate=1e-2)["loss"].to_pylist()

    assert sum(losses[-10:]) / 10 < 0.8 * losses[0]


@pytest.mark.parametrize("die_after", [0, 1, 2])
def test_a_killed_training_ends_with_the_weights_of_an_uninterrupted_one(tmp_path, die_after):
    undisturbed = Training(tmp_path / "a")
    curves = undisturbed.run(workers=1)
    killed = Training(tmp_path / "b", die_after=die_after)

    with pytest.raises(Killed):
        killed.run(workers=1)
    killed.die_after = None
    resumed = killed.run(workers=1)

    assert killed.saved == undisturbed.saved
    assert resumed == curves


DROPPING = {"vision_cfg": PATCHES | {"patch_dropout": 0.5}}  # drawn by the model, each step
SEVERAL = {"captioning": Captioning("texts"), "shards": three_captions}


@pytest.fixture(
    params=[
        ({}, {"token_masking": 0.3}),
        ({}, {"token_masking": 0.3, "workers": 2}),
        ({}, {"shuffle": "samples", "precision": "amp"}),
        (SEVERAL, {"shuffle": "samples", "workers": 2}),
        ({"architecture": DROPPING}, {}),
    ],
    ids=["masking", "two workers", "samples", "captions", "dropped patches"],
    scope="module",
)
def undisturbed(request, tmp_path_factory):
    """Some arguments and changes of the recipe; the uninterrupted training, and its curves."""
    arguments, changes = request.param
    changes = {"batch_size": 4, **changes}
    training = Training(tmp_path_factory.mktemp("undisturbed"), **arguments)
    return arguments, changes, training, training.run(**changes)


@pytest.mark.parametrize("die_at", [1, 7, 13])
def test_a_training_killed_within_an_epoch_ends_with_the_weights_of_an_uninterrupted_one(
    tmp_path, undisturbed, die_at
):
    arguments, changes, training, curves = undisturbed
    killed = Training(tmp_path, die_at=die_at, checkpoint_steps=1, **arguments)

    with pytest.raises(Killed):
        killed.run(**changes)
    killed.die_at = None

    assert killed.run(**changes) == curves
    assert killed.saved == training.saved


DYING = """
import pathlib, sys
sys.path[:0] = sys.argv[2:]
from test_run import LONG, Training
Training(pathlib.Path(sys.argv[1]), checkpoint_steps=2).run(**LONG)
"""
LONG = {"batch_size": 4, "epochs": 40}


@pytest.mark.long
def test_kill_minus_nine_leaves_a_state_to_resume_from(tmp_path, pytestconfig, caplog):
    tests, folder = pytestconfig.rootpath / "tests", tmp_path / "killed"
    command = [sys.executable, "-c", DYING, folder, tests, tests / "training"]
    caplog.set_level(logging.INFO, "clipaudit")

    with subprocess.Popen(command) as process:
        while process.poll() is None and not (folder / FILE_NAME).exists():
            time.sleep(0.001)
        process.kill()
    resumed = Training(folder)
    curves = resumed.run(**LONG)

    assert process.returncode == -9
    assert "resuming after step " in caplog.text
    undisturbed = Training(tmp_path / "undisturbed")
    assert undisturbed.run(**LONG) == curves
    assert undisturbed.saved[39] == resumed.saved[39]


@pytest.mark.parametrize(("checkpoint_steps", "expected"), [(0, 0), (2, 3), (3, 0)])
def test_checkpoints_are_counted_within_an_epoch(training, caplog, checkpoint_steps, expected):
    caplog.set_level(logging.INFO, "clipaudit")
    training.checkpoint_steps = checkpoint_steps

    training.run()

    assert caplog.text.count("checkpoint after step") == expected


def test_resumed_training_does_not_repeat_epochs(training, caplog):
    caplog.set_level(logging.INFO, "clipaudit")
    training.die_after = 2
    with pytest.raises(Killed):
        training.run()
    training.saved.clear()
    training.die_after = None

    training.run()

    assert list(training.saved) == [2]  # it died before this one counted as done
    assert "resuming after step 6 of 9, epoch 2 of 3" in caplog.text


def test_a_finished_training_returns_its_curves_again(training):
    curves = training.run()
    training.saved.clear()

    assert training.run() == curves
    assert training.saved == {}


def test_the_state_of_another_recipe_is_not_used(training, tmp_path):
    training.run()
    training.saved.clear()

    curves = training.run(seed=1)

    fresh = Training(tmp_path / "fresh")
    assert fresh.run(seed=1) == curves
    assert fresh.saved == training.saved


def test_a_damaged_state_is_refused(training):
    training.run()
    state = training.folder / FILE_NAME
    state.write_bytes(state.read_bytes()[:200])

    with pytest.raises(StoreError, match=r"training\.pt: the state of a training is damaged"):
        training.run()


PROGRAM = """
import pathlib, sys
sys.path[:0] = sys.argv[2:]
from test_run import CHANGES, Training, said
training = Training(pathlib.Path(sys.argv[1]))
print(said(training, training.run(**CHANGES)), end="")
"""
CHANGES = {"workers": 1, "token_masking": 0.2}


def said(training, curves):
    digests = [hashlib.sha256(weights).hexdigest() for weights in training.saved.values()]
    return repr((digests, curves["loss"].to_pylist()))


@pytest.mark.long
def test_another_process_gives_the_same_bytes(training, tmp_path, pytestconfig):
    tests = pytestconfig.rootpath / "tests"

    other = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "other", tests, tests / "training"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert other.stdout == said(training, training.run(**CHANGES))


def test_the_random_state_of_the_process_is_unchanged(training):
    before = torch.get_rng_state()

    training.run()

    assert torch.equal(torch.get_rng_state(), before)


def test_a_warm_start_begins_with_the_given_weights(training, tmp_path):
    start = tmp_path / "start.safetensors"
    start.write_bytes(weights_bytes(build(tiny(tmp_path), seed=9).model))
    training.initial = start

    warm = training.run()

    cold = Training(tmp_path / "cold").run()
    other = Training(tmp_path / "other").run(seed=9)
    assert warm["loss"][0] != cold["loss"][0]
    assert warm["loss"][0] != other["loss"][0]  # the same weights, but the order of seed 0
    assert warm["learning_rate"] == cold["learning_rate"]


@pytest.mark.parametrize("scale", [25.0, 100.0, 200.0])
def test_a_fixed_logit_scale_does_not_change(training, scale):
    scales = training.run(logit_scale=scale)["logit_scale"].to_pylist()

    assert scales == pytest.approx([scale] * 9, rel=1e-6)  # exp(log(x)) in float32
    assert len(set(scales)) == 1


def test_a_learned_logit_scale_stays_below_its_maximum(training):
    scales = training.run(max_logit_scale=14.0)["logit_scale"].to_pylist()

    assert scales[0] > 14  # as it is initialized, before the first step
    assert max(scales[1:]) <= 14 * (1 + 1e-6)


def test_a_learned_logit_scale_changes(training):
    scales = training.run()["logit_scale"].to_pylist()

    assert scales[0] == pytest.approx(1 / 0.07, rel=1e-6)
    assert len(set(scales)) > 1


@pytest.mark.parametrize("precision", ["amp", "amp_bf16"])
def test_mixed_precision_trains_and_resumes(tmp_path, precision):
    exact = Training(tmp_path / "a").run()["loss"].to_pylist()
    undisturbed = Training(tmp_path / "b")
    losses = undisturbed.run(precision=precision)["loss"].to_pylist()
    killed = Training(tmp_path / "c", die_after=1)

    with pytest.raises(Killed):
        killed.run(precision=precision)
    killed.die_after = None
    killed.run(precision=precision)

    assert losses[0] != exact[0]
    assert losses[0] == pytest.approx(exact[0], rel=0.02)  # eight bits of bfloat16
    assert killed.saved == undisturbed.saved


def test_other_recipes_give_other_losses(training):
    plain = training.run()["loss"].to_pylist()

    for change in (
        {"seed": 1},
        {"token_masking": 0.5},
        {"crop_scale": (0.1, 0.2)},
        {"weight_decay": 5.0},
        {"gradient_clip_norm": 0.01},
        {"workers": 2},
        {"text_noise": 0.1},
    ):
        training.saved.clear()
        assert training.run(**change)["loss"].to_pylist() != plain, change


def test_the_recipe_determines_which_of_several_captions_is_used(training):
    training.captioning, training.shards = Captioning("texts"), three_captions

    losses = []
    for change in (
        *({}, {"token_masking": 0.5}, {"caption_choice": "first"}, {"captions": 1}),
        {"captions": 2},
    ):
        training.saved.clear()
        losses.append(training.run(**change)["loss"].to_pylist())

    assert losses[0] == losses[1]  # they are never masked
    assert losses[0] != losses[2]
    assert losses[2] == losses[3]  # the first of one
    assert losses[4] not in (losses[0], losses[2])


def test_noise_on_text_embeddings_is_the_same_each_time(training, tmp_path):
    again = dataclasses.replace(training, folder=tmp_path / "again", saved={})

    losses = [each.run(text_noise=0.1)["loss"].to_pylist() for each in (training, again)]

    assert losses[0] == losses[1]
    assert training.saved == again.saved


def test_a_warmup_beyond_the_end_is_reported(training, caplog):
    training.run(warmup_steps=100)

    assert "warmup_steps is 100, but the training has 9 steps" in caplog.text


def test_progress_is_logged_with_rate_and_time_left(training, caplog):
    caplog.set_level(logging.INFO, "clipaudit")

    training.run()

    assert "training: 72 of 72 samples, " in caplog.text
    assert "/s, 0 s left, epoch 3, loss " in caplog.text


def test_an_empty_manifest_is_refused(training):
    training.drop = frozenset((n, r) for n, count in enumerate(COUNTS) for r in range(count))

    with pytest.raises(TooSmall, match="the manifest keeps none of the samples"):
        training.run()


def test_a_batch_larger_than_the_kept_samples_is_refused(training):
    with pytest.raises(TooSmall, match=r"a step needs 28 samples .* keeps 27"):
        training.run(batch_size=28)


def test_processes_that_cannot_share_a_batch_equally_are_refused(tmp_path):
    file, _ = sealed(tmp_path, text_shards(tmp_path, COUNTS), COUNTS)

    with pytest.raises(ConfigError, match=r"batch_size 8, .* 3 of them cannot share it equally"):
        TrainingRun(Sealed(file), {}, RECIPE, Processes(3), "cpu", 1, 0)


def test_more_workers_than_shards_are_refused(training):
    with pytest.raises(TooSmall, match="3 shards with kept samples, but 4 streams"):
        training.run(workers=4)


def test_a_missing_shard_is_refused(training, tmp_path):
    file, _ = sealed(tmp_path, text_shards(tmp_path, COUNTS), COUNTS)

    with pytest.raises(InputError, match=r"gone\.tar: shard 0 of the manifest is missing"):
        train(
            file,
            lambda digest: tmp_path / "gone.tar",
            tiny(tmp_path),
            RECIPE,
            initial=None,
            scratch=tmp_path,
            device="cpu",
            threads=1,
            save_epoch=training.save,
        )


def test_a_corpus_without_captions_is_refused(training):
    training.captioning = Captioning("none")

    with pytest.raises(ConfigError, match="corpus large has `captions: none`"):
        training.run()
    assert training.saved == {}


def test_a_diverging_training_stops_and_saves_nothing_of_that_epoch(training):
    with pytest.raises(StepError, match="the loss is nan"):
        training.run(learning_rate=1e30, gradient_clip_norm=None, warmup_steps=0)

    assert training.saved == {}


@pytest.mark.gpu
def test_two_training_runs_on_a_gpu_give_the_same_bytes(tmp_path):
    trainings = [Training(tmp_path / name, device="cuda") for name in "ab"]

    curves = [training.run() for training in trainings]

    assert trainings[0].saved == trainings[1].saved
    assert curves[0] == curves[1]
    exact = Training(tmp_path / "cpu").run()["loss"].to_pylist()
    assert curves[0]["loss"].to_pylist() == pytest.approx(exact, rel=0.05)  # TF32 has ten bits


def ordered_shards(folder, counts):
    """Shards that show one thing each."""
    rng = np.random.default_rng(0)
    return [
        (
            number,
            write_shard(
                folder / f"{number:05d}.tar",
                [{"png": picture(rng), "txt": word.encode()} for _ in range(count)],
            ),
        )
        for number, (count, word) in enumerate(zip(counts, ("red", "cat", "of"), strict=True))
    ]


def test_shards_written_class_by_class_are_refused_before_the_first_step(tmp_path):
    training = Training(tmp_path, shards=ordered_shards)

    with pytest.raises(InputError, match=r"has 1 different captions .* an even draw has 3: .*samp"):
        training.run(shuffle_buffer=1)
    assert not training.saved


def test_shards_written_class_by_class_train_if_single_samples_are_shuffled(tmp_path):
    training = Training(tmp_path, shards=ordered_shards)

    training.run(shuffle="samples", epochs=1)

    assert list(training.saved) == [0]
