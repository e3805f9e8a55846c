import numpy as np
import onnxruntime
import pytest

from clipaudit.parrot import spotters
from clipaudit.parrot.denormal_weights import without_denormals
from clipaudit.parrot.onnx_files import FLOAT, read_model, tensor_numbers


def model(task):
    return spotters._model_file(task).read_bytes()


@pytest.fixture(scope="module")
def line_finders():
    """Return rapidocr's line finder unmodified, and without denormal weights."""
    return model("Det"), without_denormals(model("Det"))


def started(file):
    return onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])


def weights(file):
    floats = [each for each in read_model(file).graph.initializer if each.data_type == FLOAT]
    return [tensor_numbers(each).ravel() for each in floats if each.HasField("raw_data")]


def test_denormal_weights_are_replaced_and_others_are_unchanged(line_finders):
    before, after = (np.concatenate(weights(file)) for file in line_finders)

    denormal = (before != 0) & (np.abs(before) < 2.0**-126)

    assert denormal.sum() > 200_000, "else this model needs no such care any more"
    assert not after[denormal].any()
    np.testing.assert_array_equal(after[~denormal], before[~denormal])


def test_the_line_finder_gives_the_same_bits(line_finders):
    shown = np.random.default_rng(0).uniform(-1, 1, (1, 3, 96, 64)).astype(np.float32)

    before, after = (started(file).run(None, {"x": shown})[0] for file in line_finders)

    np.testing.assert_array_equal(after, before)


def test_other_content_of_the_file_is_kept():
    file = model("Rec")

    before, after = started(file), started(without_denormals(file))

    characters = before.get_modelmeta().custom_metadata_map["character"]
    assert after.get_modelmeta().custom_metadata_map["character"] == characters
    assert len(characters) > 10_000


def test_a_tensor_without_raw_data_gets_none():
    parsed = read_model(b"")
    parsed.graph.initializer.add(data_type=FLOAT)

    assert without_denormals(parsed.SerializeToString()) == parsed.SerializeToString()


def test_a_model_without_denormals_keeps_its_bytes(line_finders):
    assert without_denormals(line_finders[1]) == line_finders[1]
