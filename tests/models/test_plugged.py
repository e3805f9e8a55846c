"""A plug-in encoder's valid results, and the errors for invalid ones."""

import subprocess
import sys

import numpy as np
import pytest
from examplepackage import install

from clipaudit.errors import StepError
from clipaudit.models.plugged import PluggedEncoder
from clipaudit.steps.plugins import planned

PICTURES = [np.full((5 + number, 7, 3), number, np.uint8) for number in range(3)]
ENCODER = """
import numpy as np
class Colours:
    def __init__(self, *, device): pass
    def embed(self, pictures): return {}
"""
ROWS = "np.zeros((len(pictures), 4), np.float32)"


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A function: the encoder of the example package, its module being another text."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(text=None, **options):
        for name in ("colourtools", "colourtools.encoder"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        install(tmp_path, **({} if text is None else {"encoder": text}))
        return PluggedEncoder(planned("encoders", "colours"), options, "cpu")

    return make


def test_rows_equal_those_of_the_plugin(made):
    encoder = made(bins=2)

    found = encoder.features(PICTURES)

    assert encoder.dimension == 8
    assert found.dtype == np.float32
    assert found[:, 0].tolist() == [35, 42, 49]  # all pixels are dark


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("np.zeros((len(pictures), 4), int)", r"int64 of shape \(1, 4\)"),
        ("np.zeros((2, 4))", r"float64 of shape \(2, 4\)"),
        ("np.zeros(len(pictures))", r"float64 of shape \(1,\)"),
        ("np.zeros((len(pictures), 0))", r"float64 of shape \(1, 0\)"),
        ("[[0.0]]", "an object of type list"),
        ("np.full((len(pictures), 4), np.nan)", "NaN or infinity"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_an_invalid_embedding_gives_an_error_with_the_plugin_and_the_value(made, given, found):
    with pytest.raises(
        StepError, match=rf"colourtools\.encoder:Colours of colourtools 1.0.*{found}"
    ):
        made(ENCODER.format(given))


def test_a_change_of_embedding_length_is_refused(made):
    encoder = made(ENCODER.format("np.zeros((len(pictures), 3 + len(pictures)))"))

    with pytest.raises(StepError, match=r"expected a float array of shape \(3, 4\), found .*3, 6"):
        encoder.features(PICTURES)


def test_a_module_that_cannot_be_imported_gives_one_message(made):
    with pytest.raises(StepError, match=r"failed while importing it: ModuleNotFoundError.*nowhere"):
        made("import nowhere")


def test_an_option_that_the_plugin_does_not_accept_gives_one_message(made):
    with pytest.raises(StepError, match=r"failed while making it: TypeError.*'shade'"):
        made(shade=3)


def test_a_plugin_changed_after_the_plan_is_refused(made, tmp_path):
    encoder = made()
    install(tmp_path, version="1.1")

    with pytest.raises(StepError, match=r"is colourtools 1\.1 .* now, colourtools 1\.0 .* then"):
        encoder.plugin.make({}, device="cpu")


def test_a_job_with_a_plugged_encoder_does_not_import_open_clip():
    """It takes four seconds: these are the modules that embed.py imports."""
    program = (
        "import sys, clipaudit.embeddings.embedding, clipaudit.models.device\n"
        "import clipaudit.models.encoders, clipaudit.models.pictures\n"
        "print(sorted(sys.modules.keys() & {'open_clip', 'timm', 'torch', 'torchvision'}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout == "['torch']\n", done.stderr
