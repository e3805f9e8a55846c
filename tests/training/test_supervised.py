import dataclasses
import io
import itertools

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image
from test_run import Killed, dying_at
from tinyclip import sealed, text_shards, write_shard

from clipaudit.config.supervised import SupervisedRecipe
from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.sealed import CorpusToSeal, Sealed, ShardToSeal, seal
from clipaudit.errors import ConfigError, InputError, StepError, TooSmall
from clipaudit.models.classifiers import build, training_preparation
from clipaudit.models.clip import weights_bytes
from clipaudit.models.device import use_device
from clipaudit.training.curves import CURVES
from clipaudit.training.data import Batches, Crops, TrainingData
from clipaudit.training.order import make_plan
from clipaudit.training.supervised import LabelMaker, train_classifier

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")
COUNTS = [9, 8, 10]
CLASSES = ("red", "green", "blue")
LABELLED = Captioning("none", classes=CLASSES)
NARROW = {
    "layers": [1, 1, 1, 1],
    "channels": [16, 16, 16, 16],
    "stem_type": "deep",
    "stem_width": 8,
    "zero_init_last": False,
}
RECIPE = SupervisedRecipe(
    model_arguments=NARROW,
    image_size=32,
    epochs=3,
    batch_size=8,
    learning_rate=0.05,
    learning_rate_epochs=2,
    workers=0,
    shuffle_buffer=5,
)


@dataclasses.dataclass
class Training:
    """The arguments of `train_classifier`, and what it saved."""

    folder: object
    device: str = "cpu"
    classes: int = 3
    processes: int = 1
    die_after: int | None = None
    checkpoint_steps: int = 1000
    drop: frozenset = frozenset()
    captioning: Captioning = LABELLED
    shards: list | None = None
    saved: dict = dataclasses.field(default_factory=dict)

    def run(self, **changes):
        """Train, with some settings of the recipe changed; return the curves."""
        self.folder.mkdir(exist_ok=True)
        shards = self.shards or text_shards(self.folder, COUNTS)
        file, locate = sealed(self.folder, shards, COUNTS, self.drop, self.captioning)
        return self.train(file, locate, **changes)

    def train(self, file, locate, **changes):
        return train_classifier(
            file,
            locate,
            RECIPE.model_copy(update=changes),
            classes=self.classes,
            scratch=self.folder,
            device=self.device,
            threads=1,
            save_epoch=self.save,
            processes=self.processes,
            checkpoint_steps=self.checkpoint_steps,
        )

    def save(self, epoch, weights):
        self.saved.setdefault(epoch, weights)
        assert self.saved[epoch] == weights
        if epoch == self.die_after:
            raise Killed


@pytest.fixture
def training(tmp_path):
    return Training(tmp_path)


def test_a_batch_that_exceeds_memory_gives_an_error_with_the_setting(training, monkeypatch):
    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(torch.nn.functional, "cross_entropy", full)

    with pytest.raises(StepError, match=r"step of 8 samples .* out of memory.* `batch_size`"):
        training.run()


def coloured_shards(folder):
    """Noisy images in the colours of their classes, as many as COUNTS."""
    rng = np.random.default_rng(0)

    def member(label):
        pixels = rng.integers(0, 128, (40, 40, 3), np.uint8)
        pixels[..., label] += 120
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, "PNG")
        return {"png": out.getvalue(), "json": b'{"label": %d}' % label}

    return [
        (
            number,
            write_shard(folder / f"{number}.tar", [member(row % 3) for row in range(count)]),
        )
        for number, count in enumerate(COUNTS)
    ]


def test_each_epoch_has_one_checkpoint_and_each_step_one_row(training):
    curves = training.run()

    assert curves.schema == CURVES
    assert list(training.saved) == [0, 1, 2]
    assert len(set(training.saved.values())) == 3
    assert curves["step"].to_pylist() == list(range(9))
    assert curves["samples_seen"].to_pylist() == list(range(8, 73, 8))
    assert set(curves["logit_scale"].to_pylist()) == {1.0}


def test_the_learning_rate_falls_at_given_epochs(training):
    rates = training.run()["learning_rate"].to_pylist()

    assert rates == pytest.approx([0.05] * 6 + [0.005] * 3)


def test_training_reduces_the_loss(training):
    training.shards = coloured_shards(training.folder)

    losses = training.run(epochs=8, learning_rate_epochs=8)["loss"].to_pylist()

    assert losses[0] == pytest.approx(np.log(3), rel=0.5)
    assert max(losses[-3:]) < 0.1


def test_losses_and_weights_equal_those_of_plain_pytorch(training):
    curves = training.run(momentum=0.5, weight_decay=0.1)

    use_device("cpu", threads=1)
    recipe = RECIPE.model_copy(update={"momentum": 0.5, "weight_decay": 0.1})
    model = build(recipe, classes=3).model.to(memory_format=torch.channels_last).train()
    preparation = training_preparation(recipe)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.5, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    losses = []
    for batches in epochs_of(training.folder, recipe):
        for pixels, labels in batches:
            optimizer.zero_grad()
            images = preparation.tensor(pixels, torch.device("cpu"), layout=torch.channels_last)
            loss = torch.nn.CrossEntropyLoss()(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
    assert curves["loss"].to_pylist() == losses
    assert training.saved[2] == weights_bytes(model)


def epochs_of(folder, recipe, workers=0):
    """The batches of every epoch, of the manifest and the shards in `folder`."""
    manifest = Sealed(folder / "sealed")
    paths = dict(enumerate(sorted(folder.glob("*.tar"))))
    kept = {shard.number: shard.kept for shard in manifest}
    plan = make_plan(kept, batch_size=8, processes=1, workers=workers, seed=recipe.seed)
    maker = LabelMaker(Crops(training_preparation(recipe), recipe.seed))
    data = TrainingData(plan, manifest, paths, maker, process=0, held=recipe.shuffle_buffer)
    batches = Batches(data, workers=workers, pinned=False)
    return [list(batches.epoch(n, plan.steps(n))) for n in range(recipe.epochs)]


@pytest.mark.parametrize("die_after", [0, 1, 2])
def test_a_killed_training_ends_with_the_weights_of_an_uninterrupted_one(tmp_path, die_after):
    undisturbed = Training(tmp_path / "a")
    curves = undisturbed.run()
    killed = Training(tmp_path / "b", die_after=die_after)

    with pytest.raises(Killed):
        killed.run()
    killed.die_after = None
    resumed = killed.run()

    assert killed.saved == undisturbed.saved
    assert resumed == curves


@pytest.mark.parametrize("changes", [{}, {"workers": 2, "shuffle": "samples"}])
def test_a_training_killed_within_an_epoch_ends_with_the_weights_of_an_uninterrupted_one(
    tmp_path, changes
):
    undisturbed = Training(tmp_path / "a")
    curves = undisturbed.run(**changes)
    killed = Training(tmp_path / "b", checkpoint_steps=1)

    with pytest.raises(Killed), dying_at(5):
        killed.run(**changes)

    assert killed.run(**changes) == curves
    assert killed.saved == undisturbed.saved


@pytest.mark.parametrize("precision", ["amp", "amp_bf16"])
def test_mixed_precision_trains(training, tmp_path, precision):
    losses = training.run(precision=precision)["loss"].to_pylist()

    exact = Training(tmp_path / "exact").run()["loss"].to_pylist()
    assert losses[0] != exact[0]
    assert losses[0] == pytest.approx(exact[0], rel=0.05)  # eight bits of bfloat16


def test_one_worker_gives_the_same_training_as_none(tmp_path):
    alone, helped = Training(tmp_path / "a"), Training(tmp_path / "b")

    assert alone.run(workers=0) == helped.run(workers=1)
    assert alone.saved == helped.saved


def test_crops_depend_on_neither_order_nor_workers(training):
    training.drop = frozenset({(0, 0), (2, 0), (2, 1)})  # whole batches in both streams
    training.run()
    recipe = RECIPE.model_copy(update={"epochs": 1})

    few, many = (
        list(itertools.chain(*epochs_of(training.folder, recipe, workers))) for workers in (0, 2)
    )

    def pictures(batches):
        return [pixels.numpy().tobytes() for batch in batches for pixels in batch.pixels]

    assert len(pictures(few)) == 24
    assert pictures(many) != pictures(few)[: len(pictures(many))]
    assert set(pictures(many)) <= set(pictures(few))


def test_labels_belong_to_their_images(tmp_path, training):
    training.shards = coloured_shards(tmp_path)
    training.run(epochs=1)

    for batch in epochs_of(tmp_path, RECIPE.model_copy(update={"flip": False}))[0]:
        brightest = batch.pixels.float().mean(dim=(1, 2)).argmax(dim=1)
        assert torch.equal(batch.targets, brightest)


def test_captions_are_not_needed_if_there_are_labels(tmp_path):
    texts, classes = Training(tmp_path / "a"), Training(tmp_path / "b")
    classes.captioning = Captioning("class", "a photo of a {}", CLASSES)

    assert texts.run(epochs=1) == classes.run(epochs=1)


def test_other_recipes_give_other_losses(training):
    plain = training.run(epochs=1)["loss"].to_pylist()

    for change in (
        {"seed": 1},
        {"flip": False},
        {"crop_scale": (0.5, 1.0)},
        {"momentum": 0.1},
        {"weight_decay": 5.0},
        {"workers": 2},
    ):
        training.saved.clear()
        assert training.run(epochs=1, **change)["loss"].to_pylist() != plain, change


def test_the_random_state_of_the_process_is_unchanged(training):
    before = torch.get_rng_state()

    training.run(epochs=1)

    assert torch.equal(torch.get_rng_state(), before)


def test_a_corpus_without_labels_is_refused(training):
    training.captioning = Captioning("text")

    with pytest.raises(ConfigError, match=r"corpus large has no labels, .* name its label set"):
        training.run()
    assert training.saved == {}


def test_a_label_set_of_another_size_is_refused(training):
    training.classes = 4

    with pytest.raises(ConfigError, match=r"large has labels of 3 classes, .* has 4"):
        training.run()


def test_corpora_of_different_label_sets_are_refused(training):
    shards = text_shards(training.folder, [8, 8])
    other = Captioning("none", classes=("cat", "dog", "cow"))
    corpora = [
        CorpusToSeal(name, captioning, [ShardToSeal(f"{number:064x}", 8, b"\xff")])
        for number, (name, captioning) in enumerate({"small": LABELLED, "other": other}.items())
    ]
    (training.folder / "sealed").write_bytes(seal(corpora))

    with pytest.raises(ConfigError, match="corpora small and other have labels of different"):
        training.train(training.folder / "sealed", lambda digest: dict(shards)[int(digest, 16)])


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "no label"),
        ({"cls": b"3"}, "unknown class: 3 is outside 0 to 2"),
        ({"json": b'{"cls": "red"}'}, "bad label: b'red' is not an integer"),
    ],
)
def test_a_kept_sample_without_a_usable_label_is_refused(training, members, message):
    training.shards = coloured_shards(training.folder)
    image = {"png": b"never looked at"}
    write_shard(training.folder / "0.tar", [image | members] * COUNTS[0])

    with pytest.raises(InputError, match=rf"0\.tar, row 0: the manifest keeps .*{message}"):
        training.run()


def test_several_processes_are_refused(training, monkeypatch):
    training.processes = 2
    with pytest.raises(ConfigError, match="2 processes for a classifier, which trains in one"):
        training.run()

    training.processes = 1
    monkeypatch.setenv("WORLD_SIZE", "4")  # as torchrun sets it
    with pytest.raises(ConfigError, match="4 processes for a classifier"):
        training.run()


def test_an_empty_manifest_is_refused(training):
    training.drop = frozenset((n, r) for n, count in enumerate(COUNTS) for r in range(count))

    with pytest.raises(TooSmall, match="the manifest keeps none of the samples"):
        training.run()


def test_a_batch_larger_than_the_kept_samples_is_refused(training):
    with pytest.raises(InputError, match=r"a step needs 28 samples .* keeps 27"):
        training.run(batch_size=28)


def test_more_workers_than_shards_are_refused(training):
    with pytest.raises(InputError, match="3 shards with kept samples, but 4 streams"):
        training.run(workers=4)


def test_a_shard_with_missing_samples_is_refused(training):
    shards = text_shards(training.folder, COUNTS)
    file, locate = sealed(training.folder, shards, COUNTS, captioning=LABELLED)
    text_shards(training.folder, [9, 8, 9])

    with pytest.raises(InputError, match=r"00002\.tar: the manifest keeps 10 .* file has 9"):
        training.train(file, locate)


def test_a_missing_shard_is_refused(training):
    shards = text_shards(training.folder, COUNTS)
    file, _ = sealed(training.folder, shards, COUNTS, captioning=LABELLED)

    with pytest.raises(InputError, match=r"gone\.tar: shard 0 of the manifest is missing"):
        training.train(file, lambda digest: training.folder / "gone.tar")


def test_a_diverging_training_stops_and_saves_nothing_of_that_epoch(training):
    with pytest.raises(StepError, match="the loss is nan"):
        training.run(learning_rate=1e30)

    assert training.saved == {}


@pytest.mark.gpu
def test_two_training_runs_on_a_gpu_give_the_same_bytes(tmp_path):
    trainings = [Training(tmp_path / name, device="cuda") for name in "ab"]

    curves = [training.run() for training in trainings]

    assert trainings[0].saved == trainings[1].saved
    assert curves[0] == curves[1]
    assert isinstance(curves[0], pa.Table)
