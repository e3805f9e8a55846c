import dataclasses
import io

import numpy as np
import open_clip
import pyarrow as pa
import pytest
import torch
from open_clip.transform import image_transform_v2
from PIL import Image
from tinyclip import index, text_shards

from clipaudit.corpora.shards import raw_samples
from clipaudit.errors import InputError, StepError
from clipaudit.evaluation.evaluation import (
    PREDICTIONS,
    ZeroShotTask,
    class_embedding,
    class_similarities,
    evaluate,
    evaluate_classifier,
    rank_classes,
)
from clipaudit.models.classifiers import ImageClassifier
from clipaudit.models.pictures import Running
from clipaudit.models.preparation import Preparation

CLASSES = ["red cat", "green dog", "blue photo", "red cat"]
TEMPLATES = ["a photo of a {}", "a {}"]


@pytest.fixture
def task(tmp_path):
    shards = text_shards(tmp_path, [5, 4])
    return ZeroShotTask("val", shards, index(shards), CLASSES, TEMPLATES)


def predicted(clip, *tasks, workers=0, size=4):
    cpu = torch.device("cpu")
    return dict(evaluate(clip, tasks, Running(size, workers, cpu)))


def test_class_embeddings_equal_those_of_open_clip(clip, cpu):
    clip.model.eval()

    found = [
        class_embedding(clip.model, clip.tokenizer, name, TEMPLATES, device=cpu) for name in CLASSES
    ]

    stock = open_clip.build_zero_shot_classifier(clip.model, clip.tokenizer, CLASSES, TEMPLATES)
    # a class is one forward pass here, ten are one there: sums round differently
    np.testing.assert_allclose(found, stock.T.numpy(), atol=1e-6)


def test_prompts_are_embedded_in_the_precision_of_the_images(clip, task, monkeypatch):
    autocast, encode = [], clip.model.encode_text

    def noted(*arguments, **options):
        autocast.append(torch.is_autocast_enabled("cpu"))
        return encode(*arguments, **options)

    monkeypatch.setattr(clip.model, "encode_text", noted)
    for precision in ("fp32", "amp_bf16"):
        predicted(dataclasses.replace(clip, precision=precision), task)

    assert autocast == [False] * 3 + [True] * 3  # three names of classes


def test_each_sample_has_one_row_in_sample_order(clip, task):
    table = predicted(clip, task)["val"]

    assert table.schema == PREDICTIONS
    for name in ("shard", "row", "label"):
        assert table[name].to_pylist() == task.samples[name].to_pylist()


def test_ranks_agree_with_the_predicted_labels(clip, task):
    for row in predicted(clip, task)["val"].to_pylist():
        assert sorted(row["top"]) == [0, 1, 2, 3]
        assert row["top"].index(row["label"]) == row["right_rank"]
        assert -1.001 < row["right_similarity"] < 1.001


def test_classes_with_the_same_name_tie_and_the_lower_label_wins(clip, task):
    tops = predicted(clip, task)["val"]["top"].to_pylist()

    assert all(top.index(3) == top.index(0) + 1 for top in tops)


def test_only_labels_of_the_test_set_are_predicted(clip, task):
    keep = pa.compute.not_equal(task.samples["label"], 1)
    part = dataclasses.replace(task, samples=task.samples.filter(keep), labels=[2, 0])

    table = predicted(clip, part)["val"]

    whole = predicted(clip, task)["val"].filter(keep)
    assert table["top"].to_pylist() == [
        [label for label in top if label in (0, 2)] for top in whole["top"].to_pylist()
    ]


def test_top_has_at_most_five_labels(clip, task):
    many = dataclasses.replace(task, classes=[*CLASSES, "dog", "cat", "blue"])

    assert {len(top) for top in predicted(clip, many)["val"]["top"].to_pylist()} == {5}


def test_one_model_evaluates_several_sets(clip, task):
    other = dataclasses.replace(task, name="sketch", classes=CLASSES[:3])

    tables = predicted(clip, task, other, workers=2)

    assert list(tables) == ["val", "sketch"]
    assert tables["sketch"] == predicted(clip, other)["sketch"]


def test_a_label_outside_the_set_is_refused(clip, task):
    part = dataclasses.replace(task, labels=[0, 1])

    with pytest.raises(
        InputError,
        match=r"val: 2 samples .* not one of its 2 classes, .* shard 0, row 2 \(label 2\)",
    ):
        predicted(clip, part)


def test_a_missing_label_is_refused(clip, task):
    column = task.samples.schema.get_field_index("label")
    bare = task.samples.set_column(column, "label", pa.nulls(9, pa.int32()))

    with pytest.raises(InputError, match=r"9 samples .* shard 0, row 0 \(no label\)"):
        predicted(clip, dataclasses.replace(task, samples=bare))


def test_a_subset_beyond_the_classes_is_refused(clip, task):
    with pytest.raises(InputError, match="its label set has 4 classes"):
        predicted(clip, dataclasses.replace(task, labels=[0, 4]))


def test_a_diverged_model_is_refused(clip, task):
    with torch.no_grad():
        clip.model.visual.conv1.weight.fill_(torch.nan)

    with pytest.raises(StepError, match=r"val: the model gives embeddings .* not finite"):
        predicted(clip, task)


def test_equal_classes_have_equal_similarities():
    rng = np.random.default_rng(0)
    images = rng.normal(size=(7, 33)).astype(np.float32)
    classes = np.repeat(rng.normal(size=(20, 33)).astype(np.float32), 2, axis=0)

    similarities = class_similarities(images, classes)

    order = rank_classes(similarities)
    np.testing.assert_array_equal(similarities[:, ::2], similarities[:, 1::2])
    np.testing.assert_array_equal(order[:, 1::2], order[:, ::2] + 1)
    np.testing.assert_allclose(similarities, images @ classes.T, rtol=1e-4)


# --- classifiers ----------------------------------------------------------------------------------


class Brightness(torch.nn.Module):
    """Known logits: class n gets the n-th of `weights`, times the mean of the image."""

    def __init__(self, weights):
        super().__init__()
        self.weights = torch.tensor(weights)

    def forward(self, images):
        return images.mean(dim=(1, 2, 3))[:, None] * self.weights


EIGHT_BY_EIGHT = Preparation(
    (lambda picture: picture.resize((8, 8)),), (0.0,) * 3, (1.0,) * 3, (8, 8)
)


def classified(task, weights, *tasks, workers=0, size=4, label_maps=None):
    classifier = ImageClassifier(Brightness(weights), EIGHT_BY_EIGHT, len(weights))
    running = Running(size, workers, torch.device("cpu"))
    return dict(evaluate_classifier(classifier, [task, *tasks], running, label_maps))


def test_a_classifier_ranks_by_its_logits(task):
    table = classified(task, [0.5, -1.0, 2.0, 1.0])["val"]

    assert table.schema == PREDICTIONS
    for name in ("shard", "row", "label"):
        assert table[name].to_pylist() == task.samples[name].to_pylist()
    assert set(map(tuple, table["top"].to_pylist())) == {(2, 3, 0, 1)}
    assert table["right_rank"].to_pylist() == [
        {0: 2, 1: 3, 2: 0}[label] for label in table["label"].to_pylist()
    ]


def test_the_similarity_of_a_classifier_is_the_logit_of_the_right_class(task):
    table = classified(task, [0.5, -1.0, 2.0, 1.0])["val"]

    brightness = classified(task, [1.0, 1.0, 1.0, 1.0])["val"]["right_similarity"].to_numpy()
    weights = np.array([0.5, -1.0, 2.0], np.float32)[table["label"].to_numpy()]
    np.testing.assert_allclose(table["right_similarity"].to_numpy(), weights * brightness)
    assert brightness.min() > 0.3


def test_equal_logits_give_the_lowest_label(task):
    table = classified(task, [1.0, 2.0, 1.0, 2.0])["val"]

    assert set(map(tuple, table["top"].to_pylist())) == {(1, 3, 0, 2)}


def test_a_classifier_predicts_only_labels_of_the_set(task):
    keep = pa.compute.not_equal(task.samples["label"], 1)
    part = dataclasses.replace(task, samples=task.samples.filter(keep), labels=[2, 0])

    table = classified(part, [0.5, 3.0, 2.0, 1.0])["val"]

    assert set(map(tuple, table["top"].to_pylist())) == {(2, 0)}
    whole = classified(task, [0.5, 3.0, 2.0, 1.0])["val"].filter(keep)
    assert table["right_similarity"] == whole["right_similarity"]


def test_a_classifier_ignores_templates(task):
    bare = dataclasses.replace(task, name="bare", templates=[])

    tables = classified(task, [0.5, -1.0, 2.0, 1.0], bare, workers=2)

    assert list(tables) == ["val", "bare"]
    assert tables["bare"] == tables["val"]


def test_a_classifier_with_another_number_of_classes_is_refused(task):
    with pytest.raises(
        InputError, match=r"val: its label set has 4 classes, but the classifier has 3 outputs"
    ):
        classified(task, [1.0, 2.0, 3.0])


def test_a_diverged_classifier_is_refused(task):
    with pytest.raises(StepError, match=r"val: the model gives logits that are not finite"):
        classified(task, [1.0, 2.0, float("inf"), 3.0])


# --- test sets with their own labels --------------------------------------------------------------

# like ObjectNet: labels 0 to 2 stand for some of the seven classes that a classifier learned
OWN_NAMES = ["blue cat", "red dog", "green photo"]
STANDS_FOR = [[4], [0, 3], [1, 2, 6]]


@pytest.fixture
def own(task):
    return dataclasses.replace(task, classes=OWN_NAMES)


def pictures(task):
    members = [sample.members for _, path in task.shards for sample in raw_samples(path)]
    return [Image.open(io.BytesIO(each["png"])).convert("RGB") for each in members]


def test_a_model_is_prompted_with_the_class_names_of_the_test_set(clip, cpu, own):
    table = predicted(clip, own)["val"]

    prompts = [class_embedding(clip.model, clip.tokenizer, each, TEMPLATES, device=cpu)
               for each in OWN_NAMES]  # fmt: skip
    prepare = image_transform_v2(clip.preprocessing, is_train=False)
    with torch.inference_mode():
        images = clip.model.encode_image(torch.stack([*map(prepare, pictures(own))])).numpy()
    scores = images / np.linalg.norm(images, axis=1, keepdims=True) @ np.array(prompts).T
    order = np.argsort(-scores, axis=1)
    right = own.samples["label"].to_numpy()
    assert table["top"].to_pylist() == order.tolist()
    assert table["right_rank"].to_pylist() == np.nonzero(order == right[:, None])[1].tolist()


class Linear(torch.nn.Module):
    """Logits of seven classes: a product of the pixels."""

    weights = np.random.default_rng(0).normal(size=(192, 7)).astype(np.float32)

    def forward(self, images):
        return images.flatten(1) @ torch.tensor(self.weights)


def classified_by_map(task):
    classifier = ImageClassifier(Linear(), EIGHT_BY_EIGHT, 7)
    running = Running(4, 0, torch.device("cpu"))
    return dict(evaluate_classifier(classifier, [task], running, {"val": STANDS_FOR}))["val"]


def test_a_label_is_right_if_the_best_mapped_class_belongs_to_it(own):
    table = classified_by_map(own)

    pixels = [np.asarray(each.resize((8, 8)), np.float32).transpose(2, 0, 1) / 255
              for each in pictures(own)]  # fmt: skip
    logits = np.array(pixels).reshape(9, 192) @ Linear.weights
    logits[:, 5] = -np.inf  # no label stands for it
    right = own.samples["label"].to_pylist()
    is_right = [
        best in STANDS_FOR[label] for best, label in zip(logits.argmax(1), right, strict=True)
    ]
    assert [rank == 0 for rank in table["right_rank"].to_pylist()] == is_right
    assert 0 < sum(is_right) < 9
    best = [row[STANDS_FOR[label]].max() for row, label in zip(logits, right, strict=True)]
    np.testing.assert_allclose(table["right_similarity"].to_numpy(), best, rtol=1e-4)


def test_renumbering_a_subset_does_not_change_its_predictions(clip, task):
    """ImageNet-A with labels 0 to 199 gives what it gives with 0 to 999 and `classes`."""
    keep = pa.compute.not_equal(task.samples["label"], 1)
    there = dataclasses.replace(task, samples=task.samples.filter(keep), labels=[0, 2])
    place = task.samples.schema.get_field_index("label")
    renumbered = pa.compute.divide(there.samples["label"], 2).cast(pa.int32())
    anew = dataclasses.replace(
        there,
        samples=there.samples.set_column(place, "label", renumbered),
        classes=[CLASSES[0], CLASSES[2]],
        labels=None,
    )

    by_number, by_map = predicted(clip, there)["val"], predicted(clip, anew)["val"]

    assert by_map["right_rank"] == by_number["right_rank"]
    assert by_map["right_similarity"] == by_number["right_similarity"]
    weights = [0.5, 3.0, 2.0, 1.0]
    mapped = classified(anew, weights, label_maps={"val": [[0], [2]]})["val"]
    assert mapped["right_rank"] == classified(there, weights)["val"]["right_rank"]
