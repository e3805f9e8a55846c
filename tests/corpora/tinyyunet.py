"""A hand-written ONNX file: a YuNet that sees the same faces in every image."""

import numpy as np

STRIDES = (8, 16, 32)
WIDTHS = {"cls": 1, "obj": 1, "bbox": 4, "kps": 10}


def field(number, value):
    """Return a field of a protobuf message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value):
    low, high = value & 127, value >> 7
    return bytes([low | 128]) + varint(high) if high else bytes([low])


def tensor(name, values):
    kind, dtype = (1, "<f4") if values.dtype.kind == "f" else (7, "<i8")
    dims = b"".join(field(1, length) for length in values.shape)
    return field(
        5, dims + field(2, kind) + field(8, name) + field(9, values.astype(dtype).tobytes())
    )


def node(operator, inputs, output):
    names = b"".join(field(1, name) for name in inputs)
    return field(1, names + field(2, output) + field(3, output) + field(4, operator))


def placeholder(name, shape):
    dims = b"".join(field(1, field(1, length)) for length in shape)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))


def tiny_yunet(side, scores):
    """Return a YuNet for images of `side` pixels; `scores` are of faces, by cell at stride 8.

    The face of a cell is centred in it, 16 pixels wide and 24 high.
    """
    nodes = node("GlobalAveragePool", ["input"], "means") + node("Conv", ["means", "no"], "none")
    nodes += node("Reshape", ["none", "shape"], "zero")  # an output must depend on the input
    tensors = tensor("no", np.zeros((1, 3, 1, 1))) + tensor("shape", np.ones(3, np.int64))
    outputs = b""
    for stride in STRIDES:
        for kind, width in WIDTHS.items():
            values = np.zeros((1, (side // stride) ** 2, width))
            for cell, score in scores.items() if stride == 8 else []:
                box = [0.5, 0.5, np.log(16 / stride), np.log(24 / stride)]
                values[0, cell] = {"cls": score, "obj": score, "bbox": box, "kps": 0}[kind]
            name = f"{kind}_{stride}"
            nodes += node("Add", ["zero", f"of {name}"], name)
            tensors += tensor(f"of {name}", values)
            outputs += field(12, placeholder(name, values.shape))
    graph = field(11, placeholder("input", (1, 3, side, side))) + outputs
    graph = nodes + field(2, "tiny") + tensors + graph
    return field(1, 8) + field(8, field(1, "") + field(2, 13)) + field(7, graph)
