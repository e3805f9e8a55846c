"""The tasks of DataComp whose metric is WILDS's or that of the worst group."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_suite import BY_NAME, CLASSES, picture, run, values, wds

from clipaudit.errors import InputError
from clipaudit.evaluation.suite_metrics import macro_f1, worst_group

numbers = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20)


def vector(*numbers):
    file = io.BytesIO()
    np.save(file, np.array(numbers))
    return file.getvalue()


def grouped_folder(folder, groups, *, classes=CLASSES, **changed):
    rng = np.random.default_rng(0)
    samples = [
        {
            "cls": str(at % len(classes)).encode(),
            "png": picture(rng),
            "npy": vector(group, 7, at),
        }
        for at, group in enumerate(groups)
    ]
    samples[1] |= changed
    files = {
        "classnames.txt": "\n".join(classes),
        "zeroshot_classification_templates.txt": "a {c}",
    }
    return wds(
        folder, [{k: v for k, v in each.items() if v is not None} for each in samples], files
    )


@given(numbers)
def test_macro_f1_is_the_mean_over_the_classes_that_occur(pairs):
    predicted, labels = np.array(pairs).T

    scores = []
    for label in set(labels.tolist()):
        both = int(((predicted == label) & (labels == label)).sum())
        scores.append(2 * both / int((predicted == label).sum() + (labels == label).sum()))
    assert macro_f1(predicted, labels) == pytest.approx(sum(scores) / len(scores))


@given(numbers)
def test_the_worst_group_has_the_lowest_share_of_right_answers(pairs):
    groups, right = np.array(pairs)[:, 0], np.array(pairs)[:, 1] > 1

    shares = [right[groups == group].mean() for group in range(4) if (groups == group).any()]
    assert worst_group(right, groups) == min(shares)


@pytest.mark.parametrize(
    ("name", "metric"), [("wilds/fmow", "acc_worst_region"), ("fairness/geode", "acc_wg")]
)
def test_a_single_group_of_all_images_gives_the_accuracy(clip, tmp_path, name, metric):
    table = run(clip, BY_NAME[name], grouped_folder(tmp_path / "set", [2] * 12))

    found = values(table)
    assert found[metric] == pytest.approx(found["acc1"])
    assert table["metric"].to_pylist()[table["main"].to_pylist().index(True)] == metric


def test_groups_of_single_images_make_the_worst_group_0_or_1(clip, tmp_path):
    found = values(run(clip, BY_NAME["wilds/fmow"], grouped_folder(tmp_path / "set", range(12))))

    assert found["acc_worst_region"] == float(found["acc1"] == 1)


def test_dollar_street_counts_the_top_five_classes(clip, tmp_path):
    folder = grouped_folder(tmp_path / "set", [0] * 12)

    found = values(run(clip, BY_NAME["fairness/dollar_street"], folder))

    assert found["acc_top5_wg"] == pytest.approx(found["acc5"])
    assert found["acc5"] > found["acc1"]


def test_top_five_is_always_right_with_fewer_than_five_classes(clip, tmp_path):
    folder = grouped_folder(tmp_path / "set", [0] * 12, classes=CLASSES[:3])

    assert values(run(clip, BY_NAME["fairness/dollar_street"], folder))["acc_top5_wg"] == 1


@pytest.mark.parametrize(
    ("name", "main"), [("wilds/iwildcam", "F1-macro_all"), ("wilds/camelyon17", "acc1")]
)
def test_tasks_without_groups_read_no_groups(clip, tmp_path, name, main):
    table = run(clip, BY_NAME[name], grouped_folder(tmp_path / "set", [0] * 12, npy=None))

    assert values(table)[main] is not None
    assert table["main"].to_pylist().count(True) == 1


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        (None, r"0.tar: row 1, 00001: no .npy with the group"),
        (b"no array", "unusable .npy"),
        (vector(), "unusable .npy"),
        (vector(1.5), "unusable .npy: 1.5 is not the number of a group"),
        (vector(-1), "unusable .npy: -1 is not the number of a group"),
        (vector(np.nan), "unusable .npy"),
        (vector({"a": 1}), "unusable .npy"),
    ],
)
def test_a_sample_without_a_group_is_refused(clip, tmp_path, stated, message):
    folder = grouped_folder(tmp_path / "set", [0] * 12, npy=stated)

    with pytest.raises(InputError, match=message):
        run(clip, BY_NAME["wilds/fmow"], folder)
