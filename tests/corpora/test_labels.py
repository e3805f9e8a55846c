import logging

import pyarrow as pa
import pytest

from clipaudit.corpora.classes import read_classes
from clipaudit.corpora.drops import Drops
from clipaudit.corpora.labels import LabelSettings, map_by_names, read_label_map
from clipaudit.corpora.reasons import BAD_LABEL, UNKNOWN_CLASS
from clipaudit.errors import InputError

LEARNED = ("chair", "crane", "apple", "rocking chair", "crane")


def mapped(*lines, labels=2):
    return read_label_map("own", lines, labels=labels, learned=LEARNED)


def mapped_by_file(path):
    return read_label_map("own", path, labels=2, learned=LEARNED)


def test_a_line_names_or_numbers_the_classes_of_a_label(tmp_path):
    (tmp_path / "map.txt").write_text("rocking chair;chair\n 4 ; 2 \n")

    assert mapped("rocking chair;chair", "4; 2") == [[0, 3], [2, 4]]
    assert mapped_by_file(tmp_path / "map.txt") == [[0, 3], [2, 4]]


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ((0,), "1 lines, but the corpus has 2 classes"),
        ((0, 5), "label 1: '5' is neither the name nor the number of one of 5 classes"),
        ((0, ""), "label 1: '' is neither the name"),
        ((0, "aple"), r"label 1: 'aple' is .* Did you mean apple\?"),
        ((0, "crane"), "label 1: 'crane' names the classes 1 or 4. Give one number."),
        (("0; 1", 1), r"labels 0 and 1 both stand for class 1 \(crane\)"),
    ],
)
def test_an_invalid_map_gives_the_reason(lines, fault):
    with pytest.raises(InputError, match=rf"corpora\.own\.label_map: {fault}"):
        mapped(*lines)


def test_a_missing_map_file_is_one_message(tmp_path):
    with pytest.raises(InputError, match=r"gone\.txt: the label map cannot be read"):
        mapped_by_file(tmp_path / "gone.txt")


# --- labels against classes -----------------------------------------------------------------------


def check(folder, labels, *, used=None, label_map=None, drops=None, whole=False):
    """Check a corpus of three classes whose map leads to five."""
    (folder / "own.txt").write_text("a\nb\nc\n")
    (folder / "learned.txt").write_text("\n".join(LEARNED))
    rows = pa.table({"shard": [0] * len(labels), "row": range(len(labels)),
                     "label": pa.array(labels, pa.int32())})  # fmt: skip
    settings = LabelSettings("own", used, label_map, whole)
    settings.check(rows, folder / "own.txt", [folder / "learned.txt"], drops)


def test_valid_labels_are_counted(tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        check(tmp_path, [2, 1, 1], label_map=[0, 1, 2])

    assert caplog.messages == ["own: 2 of 3 classes occur, labels 1 to 2"]


def test_a_label_beyond_the_classes_is_refused_with_the_next_step(tmp_path):
    drops = Drops("index")
    drops.add(0, 6, "g", BAD_LABEL, "-1 is outside 0 to 2")
    drops.add(0, 7, "h", UNKNOWN_CLASS, "3 is outside 0 to 2")

    message = r"own: 1 samples .* its 3 classes, 0 to 2; .* shard 0, row 7 \(3 .*label_map"
    with pytest.raises(InputError, match=message):
        check(tmp_path, [0, 1], drops=drops.table())


@pytest.mark.parametrize(("label", "said"), [(0, "label 0"), (None, "no label")])
def test_a_label_that_the_setting_classes_excludes_is_refused(tmp_path, label, said):
    with pytest.raises(InputError, match=rf"its 2 classes, 1 to 2; .*row 1 \({said}\)"):
        check(tmp_path, [1, label], used=[1, 2])


def test_a_map_that_does_not_fit_is_refused_when_labels_are_checked(tmp_path):
    with pytest.raises(InputError, match=r"own\.label_map: 2 lines, but the corpus has 3"):
        check(tmp_path, [0], label_map=[0, 1])


def test_names_shared_by_two_classes_are_resolved_by_their_order():
    assert map_by_names(["apple", "crane"], LEARNED) == [2, 4]
    assert map_by_names(["crane"], LEARNED) is None
    assert map_by_names(["apple", "chair"], LEARNED) is None


def test_labels_limited_to_the_first_few_classes_are_refused_as_another_list(tmp_path):
    """ObjectNet's labels 0 to 112 look like ImageNet's first classes."""
    with pytest.raises(InputError, match=r"own: its labels are 0 to 1, .* 4 images .* 3 classes"):
        check(tmp_path, [0, 1, 1, 0], whole=True)


@pytest.mark.parametrize(
    ("labels", "settings"),
    [
        ([0, 1, 1, 0], {"whole": False}),  # a part of a test set, sorted by class
        ([0, 1, 2, 0, 1, 2], {"whole": True}),
        ([0, 2, 2, 0], {"whole": True}),
        ([0, 1, 1], {"whole": True}),  # too few images to decide
    ],
)
def test_other_labels_are_accepted(tmp_path, labels, settings):
    check(tmp_path, labels, **settings)


def test_a_byte_order_mark_is_no_part_of_the_first_class_name(tmp_path):
    path = tmp_path / "classes.txt"
    path.write_text("tench\ngoldfish\n", encoding="utf-8-sig")

    assert read_classes(path) == ("tench", "goldfish")
