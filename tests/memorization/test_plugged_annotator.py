"""A plug-in annotator's valid results, and the errors for invalid ones."""

import sys

import numpy as np
import pytest
import torch
from examplepackage import install
from tinyclip import index, text_shards

from clipaudit.corpora.drops import Drops
from clipaudit.errors import StepError
from clipaudit.memorization.plugged_annotator import PluggedAnnotator, annotate_objects
from clipaudit.models.pictures import Running
from clipaudit.steps.plugins import planned

WHITE = np.full((4, 6, 3), 255, np.uint8)
ANNOTATOR = """
class Lights:
    names = {0: "light"}
    def __init__(self, *, device): pass
    def annotate(self, pictures): return RETURNED
"""


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A function: the annotator of the example package, or one that returns something else."""
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("colourtools", "colourtools.annotator"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def make(returned=None):
        text = ANNOTATOR.replace("RETURNED", returned or "")
        install(tmp_path, **({"annotator": text} if returned else {}))
        return PluggedAnnotator(planned("annotators", "lights"), {}, device="cpu")

    return make


def test_every_image_has_its_objects(made, tmp_path):
    shards = text_shards(tmp_path, [5, 3])
    running, drops = Running(4, 0, torch.device("cpu")), Drops("annotate")

    tables = list(annotate_objects(shards, index(shards), made(), running, drops=drops))

    assert [len(table) for table in tables] == [4, 1, 3]
    assert tables[0]["scores"].to_pylist() == [[1.0]] * 4


def test_a_label_may_be_an_integer_of_numpy_and_a_box_may_start_outside(made):
    returned = "[[(__import__('numpy').int64(0), 1.0, (-2, -1, 3, 0))]]"

    assert made(returned).objects([WHITE]) == [[(0, 1.0, (-2.0, -1.0, 3.0, 0.0))]]


def test_an_object_may_have_no_box(made):
    ((label, score, box),) = made("[[(0, 0.5, None)]]").objects([WHITE])[0]

    assert (label, score) == (0, 0.5)
    assert np.isnan(box).all()


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        ("None", "TypeError"),
        ("[]", "found 0"),
        ("[[(7, 1.0, None)]]", r"found \(7"),
        ("[[(0, 2.0, None)]]", r"found \(0, 2"),
        ("[[(False, 1.0, None)]]", r"found \(False, 1"),
        ("[[(0.0, 1.0, None)]]", r"found \(0\.0, 1"),
        ("[[(0, True, None)]]", r"found \(0, True"),
        ("[[(0, 1.0, (5, 5, -3, 2))]]", r"\(5, 5, -3, 2\)"),
        ("[[(0, 1.0, (5, 5, 3, -2))]]", r"\(5, 5, 3, -2\)"),
        ("[[(0, 1.0, (0, 0, 1, 10**400))]]", r"found \(0, 1"),
        ("[[(0, 1.0, (0, 0, 1))]]", r"\(0, 0, 1\)"),
        ("[[(0, 1.0, (0, 0, 1, float('nan')))]]", "nan"),
        ("[['light']]", "found 'light'"),
    ],
)
def test_an_invalid_object_gives_an_error_with_the_plugin_and_the_value(made, returned, found):
    with pytest.raises(StepError, match=rf"lights .* of colourtools 1\.0.*{found}"):
        made(returned).objects([WHITE])
