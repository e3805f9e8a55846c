import dataclasses
import json

import pyarrow as pa
import pytest
import torch
from tinyclip import index, text_shards

from clipaudit.errors import InputError
from clipaudit.evaluation.evaluation import ZeroShotTask, evaluate
from clipaudit.models.pictures import Running
from clipaudit.models.transforms import evaluation_preparation
from clipaudit.parrot.attack import ATTACKED, AttackedPictures, attack, attack_stated
from clipaudit.parrot.printed_names import PRINTS, Printing
from clipaudit.parrot.synthetic import dejavu_sans

CLASSES = ["red cat", "green dog", "blue photo"]
TEMPLATES = ["a photo of a {}"]


@pytest.fixture
def task(tmp_path):
    shards = text_shards(tmp_path, [5, 4])
    return ZeroShotTask("val", shards, index(shards), CLASSES, TEMPLATES)


def running(workers=0):
    return Running(4, workers, torch.device("cpu"))


def attacked(clip, task, *, workers=0, seed=0):
    options = {"typeface": dejavu_sans(), "type_size": (0.2, 0.3), "seed": seed}
    return attack(clip, task, running(workers), **options)


def stated(task, *values):
    """The task with these values as field `word` of its samples' JSON."""
    texts = [json.dumps({"word": value}) for value in values]
    at = task.samples.schema.get_field_index("metadata")
    return dataclasses.replace(
        task, samples=task.samples.set_column(at, "metadata", pa.array(texts))
    )


def test_each_sample_has_its_three_variants_in_order(clip, task):
    table = attacked(clip, task)

    assert table.schema == ATTACKED
    assert table["variant"].to_pylist() == ["plain", "control", "attacked"] * 9
    assert table["row"].to_pylist() == [row for n in (5, 4) for row in range(n) for _ in range(3)]


def test_predictions_of_plain_images_equal_those_without_the_attack(clip, task):
    plain = attacked(clip, task).filter(pa.compute.field("variant") == "plain")

    (predictions,) = dict(evaluate(clip, [task], running())).values()
    assert plain["predicted"].to_pylist() == [top[0] for top in predictions["top"].to_pylist()]
    assert plain["right_similarity"].equals(predictions["right_similarity"])
    assert plain["text"].null_count == 9


def test_the_printed_class_differs_from_the_right_class(clip, task):
    rows = attacked(clip, task).to_pylist()

    assert all(row["printed"] != row["label"] for row in rows)
    assert all(
        row["text"] == CLASSES[row["printed"]] for row in rows if row["variant"] == "attacked"
    )


def test_printed_text_changes_the_model_input(clip, task):
    seen = attacked(clip, task)["right_similarity"].to_numpy().reshape(9, 3)

    assert (seen[:, 0] != seen[:, 1]).all()
    assert (seen[:, 1] != seen[:, 2]).any()


def test_the_number_of_workers_does_not_matter(clip, task):
    assert attacked(clip, task, workers=2).equals(attacked(clip, task))


def test_a_batch_has_the_pixels_of_each_variant_and_then_black_images(clip, task):
    preparation = evaluation_preparation(clip.preprocessing)
    prints = pa.Table.from_pylist(
        [
            {"shard": shard, "row": row, "printed": 1, "name": "green dog", "control": "gno dreek"}
            | {"type_size": 0.2, "x": 0.0, "y": 1.0, "black": True}
            for shard, row in zip(
                *(task.samples[n].to_pylist() for n in ("shard", "row")), strict=True
            )
        ],
        schema=PRINTS,
    )
    printing = Printing(prints, dejavu_sans())
    source = AttackedPictures(task.shards, task.samples, preparation, printing, batch_size=4)

    last = list(source.batches(0, 1))[1]  # the fifth image of the first shard

    pixels = last.pixels.numpy().reshape(3, 4, *last.pixels.shape[1:])
    assert last.rows == [4]
    assert pixels[:, 0].reshape(3, -1).any(axis=1).all()
    assert not pixels[:, 1:].any()


def test_a_font_without_the_letters_of_a_class_is_refused(clip, task):
    chinese = dataclasses.replace(task, classes=["red cat", "\u732b", "blue photo"])

    with pytest.raises(InputError, match=r"val: the font lacks 1 letters .* parrot\.probe\.font"):
        attacked(clip, chinese)


def test_stated_names_and_numbers_select_classes_without_random_draws(clip, task):
    right = task.samples["label"].to_pylist()
    others = [(label + 1) % 3 for label in right]
    values = [CLASSES[other] if row % 2 else other for row, other in enumerate(others)]

    table = attack_stated(clip, stated(task, *values), running(), field="word")

    (predictions,) = dict(evaluate(clip, [task], running())).values()
    assert table.schema == ATTACKED
    assert table["variant"].to_pylist() == ["attacked"] * 9
    assert table["printed"].to_pylist() == others
    assert table["text"].null_count == 9
    assert table["right_similarity"].equals(predictions["right_similarity"])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("green dgo", r'row 1: word is "green dgo", which is neither .* Did you mean green dog'),
        (7, r"row 1: word is 7, which is neither the name nor the number of one of its 3 classes"),
        (None, "row 1: word is null"),
        ([1], r"row 1: word is \[1\]"),
        (True, "row 1: word is true"),
        (1, "row 1: word is 1, which is the right class"),
    ],
)
def test_a_sample_that_states_no_wrong_class_is_refused(clip, task, value, message):
    values = [1, value, *[0] * 7]

    with pytest.raises(InputError, match=f"val: shard 0, {message}"):
        attack_stated(clip, stated(task, *values), running(), field="word")
