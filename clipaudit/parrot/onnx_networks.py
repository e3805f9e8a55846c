"""Compute ONNX networks with torch, on a GPU: the operations that rapidocr's models use.

onnxruntime's own GPU library plans each convolution again whenever the shape of its input changes,
which takes about a second for each line of text. Torch keeps its plans; most convolutions of these
networks, those of one pixel and of one channel, need none here.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as nn
from jaxtyping import Float32
from torch import Tensor

from clipaudit.parrot.onnx_files import read_model, tensor_numbers

Attributes = Mapping[str, Any]
Operation = Callable[..., Tensor]


class OnnxNetwork:
    """An ONNX file's network with one input and one output, on a device."""

    def __init__(self, file: bytes, device: torch.device) -> None:
        """Raise ValueError for a network with an operation that is not known here."""
        graph = read_model(file).graph
        self._weights = {each.name: _placed(each, device) for each in graph.initializer}
        [self._input] = [each.name for each in graph.input if each.name not in self._weights]
        [self._output] = [each.name for each in graph.output]
        self._steps = [_step(node) for node in graph.node]
        self._last_use = {name: at for at, step in enumerate(self._steps) for name in step[1]}

    def __call__(self, images: Float32[Tensor, "n c h w"]) -> Tensor:
        """Return the output for images on the device, there too, with as many rows."""
        values = {self._input: images}
        for at, (compute, inputs, output) in enumerate(self._steps):
            given = [values[name] if name in values else self._weight(name) for name in inputs]
            values[output] = compute(*given)
            for name in inputs:
                if self._last_use[name] == at:
                    values.pop(name, None)
        return values[self._output]

    def _weight(self, name: str) -> Tensor | None:
        return self._weights[name] if name else None  # "" is an input left out


def _placed(tensor: Any, device: torch.device) -> Tensor:  # noqa: ANN401
    """Return an initializer; whole numbers are shapes and places, which stay on the CPU."""
    numbers = torch.from_numpy(tensor_numbers(tensor).copy())
    return numbers.to(device) if numbers.is_floating_point() else numbers


def _step(node: Any) -> tuple[Operation, list[str], str]:  # noqa: ANN401
    """Return what a node computes, and the names of its inputs and of its output."""
    if node.op_type not in _OPERATIONS:
        raise ValueError(f"{node.op_type}: an operation that is not known here")
    attributes = {each.name: _value(each) for each in node.attribute}
    operation = _OPERATIONS[node.op_type]

    def compute(*inputs: Tensor) -> Tensor:
        return operation(attributes, *inputs)

    return compute, list(node.input), node.output[0]


def _value(attribute: Any) -> Any:  # noqa: ANN401
    """Return the value of the field that is set."""
    if attribute.ints:
        return list(attribute.ints)
    for field in ("f", "i", "s"):
        if attribute.HasField(field):
            return getattr(attribute, field)
    return []


# --- operations, as opset 11 of ONNX defines them -------------------------------------------------


def _convolution(
    said: Attributes, images: Tensor, weights: Tensor, bias: Tensor | None = None
) -> Tensor:
    strides, groups = said.get("strides", [1, 1]), said.get("group", 1)
    images = _padded(said, images, list(weights.shape[2:]))
    if weights.shape[2:] == (1, 1) and strides == [1, 1] and groups == 1:
        return _pointwise(images, weights[:, :, 0, 0], bias)
    dilations = said.get("dilations", 1)
    return nn.conv2d(images, weights, bias, strides, dilation=dilations, groups=groups)


def _pointwise(images: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
    """Convolve with kernels of one pixel by a product, since cuDNN plans each shape for 2 ms."""
    numbers = weights @ images.flatten(2)
    if bias is not None:
        numbers += bias[:, None]
    return numbers.view(len(images), -1, *images.shape[2:])


def _transposed(
    said: Attributes, images: Tensor, weights: Tensor, bias: Tensor | None = None
) -> Tensor:
    if any(said.get("pads", ())) or any(said.get("output_padding", ())):
        raise ValueError("ConvTranspose with padding is not known here")
    return nn.conv_transpose2d(
        images, weights, bias, said.get("strides", 1), groups=said.get("group", 1)
    )


def _largest(said: Attributes, images: Tensor) -> Tensor:
    images = _padded(said, images, said["kernel_shape"], value=-torch.inf)
    return nn.max_pool2d(images, said["kernel_shape"], said.get("strides", 1))


def _average(said: Attributes, images: Tensor) -> Tensor:
    if any(said.get("pads", ())):
        raise ValueError("AveragePool with padding is not known here")
    return nn.avg_pool2d(images, said["kernel_shape"], said.get("strides", 1))


def _padded(said: Attributes, images: Tensor, kernel: list[int], value: float = 0.0) -> Tensor:
    """Return the images padded as `pads` or `auto_pad` says, for a kernel of the given size."""
    pads = said.get("pads", [0, 0, 0, 0])
    if said.get("auto_pad", b"NOTSET") == b"SAME_UPPER":
        pads = [0, 0, 0, 0]
        steps = said.get("strides", [1, 1])
        for axis, (size, step) in enumerate(zip(kernel, steps, strict=True)):
            side = images.shape[2 + axis]
            lacking = max(0, (-(-side // step) - 1) * step + size - side)
            pads[axis], pads[axis + 2] = lacking // 2, lacking - lacking // 2
    top, left, bottom, right = pads
    return nn.pad(images, (left, right, top, bottom), value=value) if any(pads) else images


def _resized(said: Attributes, images: Tensor, _region: Tensor, scales: Tensor) -> Tensor:
    *kept, down, right = scales.tolist()
    if said.get("mode") != b"nearest" or any(scale != 1 for scale in kept):
        raise ValueError("Resize is known here for the nearest pixel and two dimensions")
    return nn.interpolate(images, scale_factor=(down, right), mode="nearest")


def _normalized(
    said: Attributes, images: Tensor, scale: Tensor, shift: Tensor, mean: Tensor, variance: Tensor
) -> Tensor:
    return nn.batch_norm(images, mean, variance, scale, shift, eps=said.get("epsilon", 1e-5))


def _hard_sigmoid(said: Attributes, numbers: Tensor) -> Tensor:
    scaled: Tensor = said.get("alpha", 0.2) * numbers + said.get("beta", 0.5)
    return scaled.clamp(0, 1)


def _mean(said: Attributes, numbers: Tensor) -> Tensor:
    return numbers.mean(said["axes"], keepdim=bool(said.get("keepdims", 1)))


def _reshaped(_: Attributes, numbers: Tensor, shape: Tensor) -> Tensor:
    sides = [numbers.shape[at] if side == 0 else side for at, side in enumerate(shape.tolist())]
    return numbers.reshape(sides)


def _sliced(
    _: Attributes,
    numbers: Tensor,
    starts: Tensor,
    ends: Tensor,
    axes: Tensor | None = None,
    steps: Tensor | None = None,
) -> Tensor:
    places = range(len(starts)) if axes is None else axes.tolist()
    strides = [1] * len(starts) if steps is None else steps.tolist()
    whole = [slice(None)] * numbers.dim()
    for axis, *ends_of_slice in zip(places, starts.tolist(), ends.tolist(), strides, strict=True):
        whole[axis] = slice(*ends_of_slice)
    return numbers[tuple(whole)]


def _squeezed(said: Attributes, numbers: Tensor) -> Tensor:
    return numbers.squeeze(tuple(said["axes"]))


def _unsqueezed(said: Attributes, numbers: Tensor) -> Tensor:
    for axis in sorted(said["axes"]):
        numbers = numbers.unsqueeze(axis)
    return numbers


_OPERATIONS: Mapping[str, Operation] = {
    "Add": lambda _, a, b: a + b,
    "AveragePool": _average,
    "BatchNormalization": _normalized,
    "Concat": lambda said, *parts: torch.cat(parts, said["axis"]),
    "Conv": _convolution,
    "ConvTranspose": _transposed,
    "Div": lambda _, a, b: a / b,
    "Erf": lambda _, a: torch.erf(a),
    "GlobalAveragePool": lambda _, a: a.mean((2, 3), keepdim=True),
    "HardSigmoid": _hard_sigmoid,
    "Identity": lambda _, a: a,
    "MatMul": lambda _, a, b: a @ b,
    "MaxPool": _largest,
    "Mul": lambda _, a, b: a * b,
    "Pow": lambda _, a, b: a**b,
    "ReduceMean": _mean,
    "Relu": lambda _, a: a.relu(),
    "Reshape": _reshaped,
    "Resize": _resized,
    "Shape": lambda _, a: torch.tensor(a.shape),
    "Sigmoid": lambda _, a: a.sigmoid(),
    "Slice": _sliced,
    "Softmax": lambda said, a: a.softmax(said["axis"]),
    "Sqrt": lambda _, a: a.sqrt(),
    "Squeeze": _squeezed,
    "Sub": lambda _, a, b: a - b,
    "Transpose": lambda said, a: a.permute(said["perm"]),
    "Unsqueeze": _unsqueezed,
}
