"""Read ONNX files: the part of the format that rapidocr's models use.

The package onnx would add 60 MB for the same.
"""

from functools import cache
from typing import Any

import numpy as np
from google.protobuf import text_format
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

FLOAT, INT64 = 1, 7  # onnx.TensorProto

# Fields of onnx.proto, by message: name, number, type, whether repeated. Others stay in a file
# unchanged when it is written again.
_FIELDS = {
    "Tensor": [
        ("dims", 1, "INT64", True),
        ("data_type", 2, "INT32", False),
        ("float_data", 4, "FLOAT", True),
        ("int64_data", 7, "INT64", True),
        ("name", 8, "STRING", False),
        ("raw_data", 9, "BYTES", False),
    ],
    "Attribute": [
        ("name", 1, "STRING", False),
        ("f", 2, "FLOAT", False),
        ("i", 3, "INT64", False),
        ("s", 4, "BYTES", False),
        ("ints", 8, "INT64", True),
    ],
    "Node": [
        ("input", 1, "STRING", True),
        ("output", 2, "STRING", True),
        ("op_type", 4, "STRING", False),
        ("attribute", 5, "Attribute", True),
    ],
    "Value": [("name", 1, "STRING", False)],
    "Graph": [
        ("node", 1, "Node", True),
        ("initializer", 5, "Tensor", True),
        ("input", 11, "Value", True),
        ("output", 12, "Value", True),
    ],
    "Model": [("graph", 7, "Graph", False)],
}


def read_model(file: bytes) -> Any:  # noqa: ANN401  # protobuf makes its class
    """Return the model of an ONNX file, as a protobuf message with the fields above.

    Raises google.protobuf.message.DecodeError for bytes that are not a protobuf message.
    """
    return _model_class().FromString(file)


def tensor_numbers(tensor: Any) -> np.ndarray:  # noqa: ANN401
    """Return a tensor's numbers, float32 or int64, in its shape.

    Raises ValueError for another type.
    """
    if tensor.data_type not in {FLOAT, INT64}:
        raise ValueError(f"{tensor.name}: numbers of type {tensor.data_type}, expected 1 or 7")
    single = tensor.data_type == FLOAT
    if tensor.HasField("raw_data"):
        numbers = np.frombuffer(tensor.raw_data, "<f4" if single else "<i8")
    elif single:
        numbers = np.array(tensor.float_data, np.float32)
    else:
        numbers = np.array(tensor.int64_data, np.int64)
    return numbers.reshape(tuple(tensor.dims))


@cache
def _model_class() -> Any:  # noqa: ANN401
    """Return the class of an ONNX model's messages."""
    pool = DescriptorPool()
    pool.Add(text_format.Parse(_messages(), FileDescriptorProto()))
    return GetMessageClass(pool.FindMessageTypeByName("part_of_onnx.Model"))


def _messages() -> str:
    """Return the description of the messages in protobuf's text format."""
    lines = ['name: "part_of_onnx.proto" package: "part_of_onnx"']
    for message, fields in _FIELDS.items():
        lines.append(f'message_type {{ name: "{message}"')
        for name, number, kind, repeated in fields:
            label = "REPEATED" if repeated else "OPTIONAL"
            own = f'TYPE_MESSAGE type_name: ".part_of_onnx.{kind}"'
            held = own if kind in _FIELDS else f"TYPE_{kind}"
            lines.append(
                f'field {{ name: "{name}" number: {number} label: LABEL_{label} type: {held} }}'
            )
        lines.append("}")
    return "\n".join(lines)
