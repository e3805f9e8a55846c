"""Remove weights of an ONNX model that are too small to matter and slow to compute with.

Processors multiply denormal numbers, those below 1.2e-38, up to a hundred times slower than others.
rapidocr's line finder holds 256,000 of them, which make it 3.5 times slower.
"""

import numpy as np

from clipaudit.parrot.onnx_files import FLOAT, read_model, tensor_numbers


def without_denormals(model: bytes) -> bytes:
    """Return an ONNX file with denormal float32 weights set to 0 and everything else unchanged.

    It checks the graph's initializers that are stored as raw data, as exporters write them. The
    order of the file's fields may change. Raises google.protobuf.message.DecodeError for bytes that
    are not a protobuf message.
    """
    parsed = read_model(model)
    for tensor in parsed.graph.initializer:
        if tensor.data_type != FLOAT or not tensor.HasField("raw_data"):
            continue  # setting the field would make it present
        weights = tensor_numbers(tensor).copy()
        weights[np.abs(weights) < np.finfo(np.float32).tiny] = 0
        tensor.raw_data = weights.tobytes()
    written: bytes = parsed.SerializeToString()
    return written
