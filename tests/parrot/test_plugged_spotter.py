"""A plug-in spotter's valid results, and the errors for invalid ones."""

import sys

import numpy as np
import pytest
from examplepackage import install

from clipaudit.errors import StepError
from clipaudit.parrot.plugged_spotter import PluggedSpotter
from clipaudit.parrot.spans import Span, Word
from clipaudit.steps.plugins import planned

WHITE = np.full((4, 6, 3), 255, np.uint8)
SPOTTER = """
IMPORTS
from clipaudit.parrot.spans import Span, Word
class Shades:
    recipe = RECIPE
    def __init__(self, *, device): pass
    def spot(self, pixels): return RETURNED
"""


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A function: the spotter of the example package, or one that returns something else."""
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("colourtools", "colourtools.spotter"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def make(returned=None, *, imports="", recipe="{}", **options):
        text = SPOTTER.replace("IMPORTS", imports).replace("RECIPE", recipe)
        text = text.replace("RETURNED", returned or "")
        install(tmp_path, **({"spotter": text} if returned else {}))
        return PluggedSpotter(planned("spotters", "shades"), options, device="cpu", files=["f"])

    return make


def test_spans_and_recipe_come_from_the_plugin(made):
    spotter = made(word="pale")

    assert spotter.spot(WHITE) == [Span("pale", 0.9, (0, 0, 6, 0, 6, 4, 0, 4))]
    assert spotter.recipe["own"] == {"version": "1", "word": "pale"}
    assert spotter.recipe["plugin"]["version"] == "1.0"


@pytest.mark.parametrize(
    "score",
    ["torch.tensor(0.5)", "np.float32(0.5)", "decimal.Decimal('0.5')", "fractions.Fraction(1, 2)"],
)
def test_numbers_of_a_library_become_those_of_python(made, score):
    imports = "import decimal, fractions, torch, numpy as np"
    polygon = f"[{score}, 0, 1, 0, 1, 1]"
    words = f"(Word('a', {polygon}) for _ in range(2))"
    spotter = made(f"[Span('a', {score}, {polygon}, {words})]", imports=imports)

    corners = (0.5, 0, 1, 0, 1, 1)
    assert spotter.spot(WHITE) == [Span("a", 0.5, corners, (Word("a", corners),) * 2)]
    assert type(spotter.spot(WHITE)[0].score) is float


@pytest.mark.parametrize(
    ("recipe", "fault"),
    [("{'weights': Path('a')}", "TypeError"), ("{'size': float('nan')}", "ValueError")],
)
def test_a_recipe_that_json_cannot_hold_is_refused(made, recipe, fault):
    with pytest.raises(StepError, match=f"shades .* failed while reading its recipe: {fault}"):
        made("[]", imports="from pathlib import Path", recipe=recipe)


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        ("None", "an object of type NoneType"),
        ("['word']", "an item of type str"),
        ("[Span(3, 1.0, (0, 0, 1, 0, 1, 1))]", "a text that is no valid string"),
        (r"[Span('\ud800', 1.0, (0, 0, 1, 0, 1, 1))]", "a text that is no valid string"),
        ("[Span('a', 1.0, (0,) * 6, (Word(3, (0,) * 6),))]", "a text that is no valid string"),
        ("[Span('a', 2.0, (0, 0, 1, 0, 1, 1))]", "a score outside 0 to 1"),
        ("[Span('a', None, (0, 0, 1, 0, 1, 1))]", "TypeError"),
        ("[Span('a', 1.0, (0, 0, 1, 0))]", "2 corners"),
    ],
)
def test_an_invalid_span_gives_an_error_with_the_plugin_and_the_value(made, returned, found):
    with pytest.raises(StepError, match=rf"shades .* of colourtools 1\.0.*{found}"):
        made(returned).spot(WHITE)
