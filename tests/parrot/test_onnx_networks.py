import numpy as np
import onnxruntime
import pytest
import torch

from clipaudit.parrot import spotters
from clipaudit.parrot.onnx_files import read_model, tensor_numbers
from clipaudit.parrot.onnx_networks import OnnxNetwork

CPU = torch.device("cpu")


def file(task):
    return spotters._model_file(task).read_bytes()


@pytest.mark.parametrize(
    ("task", "shape"),
    [
        ("Det", (2, 3, 64, 96)),
        ("Det", (1, 3, 32, 32)),
        ("Rec", (2, 3, 48, 48)),
        ("Rec", (1, 3, 48, 331)),
    ],
)
def test_the_networks_compute_what_onnxruntime_does(task, shape):
    images = np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)
    session = onnxruntime.InferenceSession(file(task), providers=["CPUExecutionProvider"])

    [expected] = session.run(None, {"x": images})
    with torch.inference_mode():
        found = OnnxNetwork(file(task), CPU)(torch.from_numpy(images))

    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-3, atol=1e-5)


def test_an_unknown_operation_is_refused():
    model = read_model(file("Det"))
    model.graph.node[3].op_type = "Loop"

    with pytest.raises(ValueError, match="Loop: an operation that is not known here"):
        OnnxNetwork(model.SerializeToString(), CPU)


def test_a_tensor_of_another_type_is_refused():
    tensor = read_model(file("Det")).graph.initializer[0]
    tensor.data_type = 10  # float16

    with pytest.raises(ValueError, match="numbers of type 10, expected 1 or 7"):
        tensor_numbers(tensor)
