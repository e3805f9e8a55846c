import logging

import numpy as np
import pytest
import torch
from tinyclip import index, picture, write_shard

from clipaudit.errors import InputError, StepError, TooSmall
from clipaudit.evaluation.evaluation import ZeroShotTask, evaluate
from clipaudit.evaluation.pair_retrieval import IMAGE_TO_TEXT, TEXT_TO_IMAGE, retrieve_pairs
from clipaudit.evaluation.suite import CLASSIFICATION_METRICS, METRICS, RETRIEVAL_METRICS, run_task
from clipaudit.evaluation.suite_tasks import TASKS, available_tasks
from clipaudit.models.pictures import Running

CLASSES = ["red cat", "green dog", "blue photo", "cat of a dog", "photo", "green"]
BY_NAME = {task.name: task for task in TASKS}
COLOURS = BY_NAME["vtab/flowers"]
PAIRS = BY_NAME["retrieval/flickr_1k_test_image_text_retrieval"]
CPU = torch.device("cpu")


def wds(folder, samples, files):
    """Two shards, the second a little longer, beside the text files of CLIP_benchmark's form."""
    (folder / "test").mkdir(parents=True)
    for name, text in {"test/nshards.txt": "2", **files}.items():
        (folder / name).write_text(text, encoding="utf-8")
    cut = len(samples) // 2
    for number, some in enumerate([samples[:cut], samples[cut:]]):
        write_shard(folder / "test" / f"{number}.tar", some)
    return folder


def classified_folder(folder, count=13, classes=CLASSES, labels=None):
    rng = np.random.default_rng(0)
    labels = [(at * 5) % len(classes) for at in range(count)] if labels is None else labels
    samples = [{"cls": str(label).encode(), "png": picture(rng)} for label in labels]
    files = {
        "classnames.txt": "\n".join(classes),
        "zeroshot_classification_templates.txt": "a photo of a {c}\na {c}",
    }
    return wds(folder, samples, files)


def paired_folder(folder, captions):
    rng = np.random.default_rng(0)
    samples = [{"png": picture(rng), "txt": "\n".join(own).encode()} for own in captions]
    return wds(folder, samples, {"dataset_type.txt": "retrieval\n"})


def captions_of(count):
    words = ["red", "green", "blue", "cat", "dog", "photo"]
    pairs = [f"{first} {second}" for first in words for second in words]
    return [[pairs[at], f"a {pairs[at + 12]}"][: 1 + at % 2] for at in range(count)]


def run(clip, task, folder, workers=0, size=4):
    return run_task(clip, task, folder, Running(size, workers, CPU))


def values(table):
    return dict(zip(table["metric"].to_pylist(), table["value"].to_pylist(), strict=True))


# --- which tasks there are ------------------------------------------------------------------------


def test_tasks_are_the_38_of_datacomp_and_two_without_a_main_metric():
    assert len(TASKS) == len(BY_NAME) == len({task.title for task in TASKS}) == 40
    assert sum(task.main is not None for task in TASKS) == 38


def test_tracks_equal_those_of_datacomp():
    counts = {task.track: 0 for task in TASKS}
    for task in TASKS:
        counts[task.track] += task.main is not None

    assert counts == {
        "ImageNet": 1,
        "ImageNet dist. shifts": 6,
        "VTAB": 13,
        "Retrieval": 3,
        "Others": 15,
    }


@pytest.mark.parametrize(
    "name", ["vtab/flowers", "vtab-flowers", "wds_vtab-flowers", "wds_vtab-flowers_test"]
)
def test_a_task_is_found_under_its_usual_names(tmp_path, name):
    (tmp_path / name).mkdir(parents=True)

    found, _ = available_tasks(tmp_path)

    assert found == {COLOURS: tmp_path / name}


@pytest.mark.parametrize("name", ["wds_vtab-cifar10", "wds_cifar10_test"])
def test_a_task_with_different_names_in_both_libraries_is_found(tmp_path, name):
    (tmp_path / name).mkdir()

    assert available_tasks(tmp_path)[0] == {BY_NAME["cifar10"]: tmp_path / name}


def test_flickr_is_the_task_of_datacomp_with_the_1000_test_images(tmp_path):
    (tmp_path / "wds_flickr30k").mkdir()

    (task,) = available_tasks(tmp_path)[0]

    assert task.name == "retrieval/flickr_1k_test_image_text_retrieval"


def test_every_task_not_found_is_listed_with_a_reason(tmp_path):
    (tmp_path / "vtab/flowers").mkdir(parents=True)

    found, skipped = available_tasks(tmp_path)

    assert [*found, *skipped] == [COLOURS, *(task for task in TASKS if task != COLOURS)]
    assert "no main metric" in skipped[BY_NAME["fairness/utkface"]]
    assert skipped[PAIRS] == (
        f"no folder flickr30k or wds_flickr30k or wds_flickr30k_test in {tmp_path}"
    )


def test_a_task_that_exists_twice_is_refused(tmp_path):
    (tmp_path / "cars").mkdir()
    (tmp_path / "wds_cars").mkdir()

    with pytest.raises(InputError, match=r"Stanford Cars is there twice, .*Remove one of them"):
        available_tasks(tmp_path)


def test_a_root_that_is_not_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"none: no such folder\. Give the folder of CLIP_bench"):
        available_tasks(tmp_path / "none")


# --- classification -------------------------------------------------------------------------------


def test_accuracies_equal_those_of_our_own_evaluation(clip, tmp_path):
    folder = classified_folder(tmp_path / "set")

    found = values(run(clip, COLOURS, folder))

    shards = [(number, folder / "test" / f"{number}.tar") for number in (0, 1)]
    task = ZeroShotTask("set", shards, index(shards), CLASSES, ["a photo of a {}", "a {}"])
    table = dict(evaluate(clip, [task], Running(4, 0, CPU)))["set"]
    ranks, labels = table["right_rank"].to_numpy(), table["label"].to_numpy()
    recalls = [(ranks[labels == label] == 0).mean() for label in range(len(CLASSES))]
    assert found["acc1"] == pytest.approx((ranks == 0).mean())
    assert found["acc5"] == pytest.approx((ranks < 5).mean())
    assert found["mean_per_class_recall"] == pytest.approx(np.mean(recalls))


def test_metrics_have_a_fixed_order_and_one_is_the_main_metric(clip, tmp_path):
    table = run(clip, COLOURS, classified_folder(tmp_path / "set"))

    assert table.schema == METRICS
    assert table["metric"].to_pylist() == list(CLASSIFICATION_METRICS)
    assert table["main"].to_pylist() == [False, False, True]
    assert set(table["task"].to_pylist()) == {"vtab/flowers"}


def test_fewer_than_five_classes_have_no_acc5(clip, tmp_path):
    folder = classified_folder(tmp_path / "set", classes=CLASSES[:3])

    assert values(run(clip, COLOURS, folder))["acc5"] is None


def test_a_class_without_images_is_ignored(clip, tmp_path):
    folder = classified_folder(tmp_path / "set", labels=[0, 0, 1, 1])

    assert 0 <= values(run(clip, COLOURS, folder))["mean_per_class_recall"] <= 1


def test_progress_bars_go_to_the_log_and_nothing_is_printed(clip, tmp_path, capfd, caplog):
    caplog.set_level(logging.DEBUG, "clipaudit")

    run(clip, COLOURS, classified_folder(tmp_path / "set"))

    assert capfd.readouterr() == ("", "")
    assert "clip_benchmark: 100%" in caplog.text
    assert "evaluating on vtab/flowers: 13 of 13 images" in caplog.text


def test_the_number_of_workers_does_not_matter(clip, tmp_path):
    folder = classified_folder(tmp_path / "set")

    assert run(clip, COLOURS, folder, workers=2) == run(clip, COLOURS, folder)


# --- retrieval ------------------------------------------------------------------------------------


def test_recalls_follow_from_our_own_ranks(clip, tmp_path):
    captions = captions_of(11)
    folder = paired_folder(tmp_path / "set", captions)

    table = run(clip, PAIRS, folder)

    shards = [(number, folder / "test" / f"{number}.tar") for number in (0, 1)]
    running = Running(4, 0, CPU)
    own = retrieve_pairs(clip, "set", shards, index(shards), running, several=True)
    found = values(table)
    for side, direction in (("text", IMAGE_TO_TEXT), ("image", TEXT_TO_IMAGE)):
        ranks = own.filter(np.array(own["direction"].to_pylist()) == direction)["rank"].to_numpy()
        # ours are float16: one or two of the 11 or 16 queries may rank differently
        for k in (1, 5, 10):
            expected = (ranks < k).mean()
            assert found[f"{side}_retrieval_recall@{k}"] == pytest.approx(expected, abs=0.2)


def test_the_main_metric_of_retrieval_is_the_mean_of_both_directions(clip, tmp_path):
    table = run(clip, PAIRS, paired_folder(tmp_path / "set", captions_of(10)))

    found = values(table)
    both = found["image_retrieval_recall@1"], found["text_retrieval_recall@1"]
    assert list(found) == list(RETRIEVAL_METRICS)
    assert table["main"].to_pylist() == [False] * 6 + [True]
    assert found["mean_recall@1"] == pytest.approx(sum(both) / 2)


def test_a_retrieval_set_of_few_images_is_refused(clip, tmp_path):
    folder = paired_folder(tmp_path / "set", captions_of(9))

    with pytest.raises(TooSmall, match=r"9 images, but recall@10 needs 10 or more"):
        run(clip, PAIRS, folder)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "classnames.txt",
            None,
            r"classnames.txt: the class names cannot be read: .*one class name per line",
        ),
        ("classnames.txt", "a\n\nb", r"classnames.txt: line 2 is empty"),
        ("classnames.txt", "red cat", r"0.tar: row 1, 00001: unknown class: 5 is outside 0 to 0"),
        (
            "zeroshot_classification_templates.txt",
            None,
            r"cannot be read: .*clip_benchmark_export_wds writes it",
        ),
        ("zeroshot_classification_templates.txt", "", "the file is empty. Write one prompt"),
        ("zeroshot_classification_templates.txt", "{c}\na {}", r"line 2 is 'a \{\}'"),
        ("zeroshot_classification_templates.txt", "a photo", "line 1 is 'a photo'"),
        ("zeroshot_classification_templates.txt", "{c.x}", "line 1 is"),
        ("dataset_type.txt", "multilabel", r"says 'multilabel', but Oxford .* of classification"),
        ("test/nshards.txt", None, "nshards.txt: cannot be read"),
        ("test/nshards.txt", "some", "'some', expected the number of shards"),
        ("test/nshards.txt", "0", "'0', expected the number"),
        ("test/nshards.txt", "3", "2.tar: the shard cannot be opened"),
    ],
)
def test_a_malformed_folder_is_refused(clip, tmp_path, name, text, message):
    folder = classified_folder(tmp_path / "set")
    if text is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(text, encoding="utf-8")

    with pytest.raises(InputError, match=message):
        run(clip, COLOURS, folder)


def test_a_sample_without_a_label_is_refused(clip, tmp_path):
    folder = classified_folder(tmp_path / "set")
    write_shard(folder / "test/1.tar", [{"png": picture(np.random.default_rng(0))}])

    with pytest.raises(InputError, match=r"1.tar: row 0, 00000: no label\. A test set is used"):
        run(clip, COLOURS, folder)


def test_an_image_that_cannot_be_decoded_is_refused(clip, tmp_path):
    folder = classified_folder(tmp_path / "set")
    write_shard(folder / "test/1.tar", [{"png": b"no picture", "cls": b"0"}])

    with pytest.raises(InputError, match=r"vtab/flowers: shard 1, row 0: corrupt image"):
        run(clip, COLOURS, folder)


def test_an_image_without_a_caption_is_refused(clip, tmp_path):
    folder = paired_folder(tmp_path / "set", [*captions_of(10), []])

    with pytest.raises(InputError, match=r"1.tar: row 5, 00005: no caption"):
        run(clip, PAIRS, folder)


def test_a_diverged_model_is_refused(clip, tmp_path):
    with torch.no_grad():
        clip.model.visual.conv1.weight.fill_(torch.nan)

    with pytest.raises(StepError, match=r"vtab/flowers: the model gives embeddings .* not finite"):
        run(clip, COLOURS, classified_folder(tmp_path / "set"))
