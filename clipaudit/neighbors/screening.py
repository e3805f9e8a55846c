"""Computes low-precision similarities, orders them, and bounds their error.

Vectors are scaled to length 1 first: x. With xhat the low-precision copy of x, and r_x = x - xhat,
a computed similarity s~ obeys

    |s~ - x.y| <= ||r_x|| ||y|| + ||xhat|| ||r_y||
                  + (accumulation + result) ||xhat|| ||yhat|| + floor

`accumulation` is K 2^-24 for float32 sums of K products in any order, times 4: CPUs may truncate
instead of rounding, and tensor cores do not document their order. `result` and `floor` are the
rounding of the sum to the type of the result.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float16, Float64, Int, Shaped
from torch import Tensor

from clipaudit.errors import StepError

STRIP_ROWS = 4_096  # rows converted at once, so that they stay in the cache
_SLACK = 1.001  # norms are computed in float32
_SCALING = 2.0**-22  # scaling to length 1 in float32 rounds twice, by 2^-24 each time


@dataclass(frozen=True)
class Precision:
    """A floating type of screening products, and the integer type of the same width."""

    floating: torch.dtype
    integer: torch.dtype
    result: float  # unit roundoff of a result; float16 and bfloat16 keep 11 and 8 bits
    floor: float  # half the smallest step between results


PRECISIONS = {
    "float16": Precision(torch.float16, torch.int16, 2.0**-11, 2.0**-25),
    "bfloat16": Precision(torch.bfloat16, torch.int16, 2.0**-8, 2.0**-126),
    "float32": Precision(torch.float32, torch.int32, 2.0**-24, 2.0**-126),
}


def fastest(device: str) -> Precision:
    """Return the precision with the fastest products on this device: float16 if possible.

    On CPUs only AMX multiplies float16 with float32 sums at full speed; without it bfloat16
    instructions, and without these float32, are faster.
    """
    if torch.device(device).type == "cuda":
        return PRECISIONS["float16"]
    has = torch.cpu.get_capabilities()
    if has.get("amx_fp16"):
        return PRECISIONS["float16"]
    if has.get("amx_bf16") or has.get("avx512_bf16"):
        return PRECISIONS["bfloat16"]
    return PRECISIONS["float32"]


@dataclass(frozen=True)
class Rounded:
    """Vectors scaled to length 1, in screening precision, and the largest loss of one of them."""

    vectors: Float[Tensor, "n d"]
    residual: float


def rounded(
    vectors: Float16[Tensor, "n d"], squares: Float64[Tensor, " n"], precision: Precision
) -> Rounded:
    """Return vectors scaled to length 1 by their squared lengths, rounded; zeros stay zeros."""
    scales = torch.where(squares > 0, squares.rsqrt(), 0).float()[:, None]
    low = torch.empty(vectors.shape, dtype=precision.floating, device=vectors.device)
    lost = 0.0
    for start in range(0, len(vectors), STRIP_ROWS):
        part = slice(start, start + STRIP_ROWS)
        unit = vectors[part].float() * scales[part]
        low[part] = unit
        lost = max(lost, float(row_norms(unit - low[part].float()).max()))
    return Rounded(low, lost * _SLACK + _SCALING)


def row_norms(vectors: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    """Return each row's Euclidean length, computed in float32."""
    norms: Tensor = torch.linalg.vector_norm(vectors.float(), dim=1)
    return norms


def error_bound(rows: Rounded, queries: Rounded, precision: Precision) -> float:
    """Return how far a screening similarity can be from the exact one; see the module."""
    accumulation = 4 * rows.vectors.shape[1] * 2.0**-24
    product = (1 + rows.residual) * (1 + queries.residual)
    conversion = rows.residual + (1 + rows.residual) * queries.residual
    return conversion + (accumulation + precision.result) * 1.01 * product + precision.floor


def flip_negatives(codes: Shaped[Tensor, "*shape"]) -> None:
    """Turn the bits of floating numbers into integers of the same order, or back, in place.

    Non-negative numbers are already ordered as integers; the magnitude bits of the negative ones
    run the other way.
    """
    mask = codes >> (8 * codes.element_size() - 1)  # -1 where negative
    mask &= torch.iinfo(codes.dtype).max
    codes ^= mask


def values(codes: Int[Tensor, "*shape"], precision: Precision) -> Float64[Tensor, "*shape"]:
    """Return the numbers whose ordered codes are given."""
    bits = codes.clone()
    flip_negatives(bits)
    return bits.view(precision.floating).double()


def floor_codes(numbers: Float64[Tensor, "*shape"], precision: Precision) -> Int[Tensor, "*shape"]:
    """Return ordered codes at most those of `numbers`: no screening value >= one is below it."""
    codes = numbers.to(precision.floating).view(precision.integer)
    flip_negatives(codes)
    return codes - 1  # the conversion may have rounded up


@contextmanager
def strict_products(threads: int | None) -> Iterator[None]:
    """Sum half-precision products in float32 within this context, by `threads` CPU threads."""
    matmul, before = torch.backends.cuda.matmul, torch.get_num_threads()
    reduced = matmul.allow_fp16_reduced_precision_reduction
    accumulated = matmul.allow_fp16_accumulation
    matmul.allow_fp16_reduced_precision_reduction = False
    matmul.allow_fp16_accumulation = False
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        matmul.allow_fp16_reduced_precision_reduction = reduced
        matmul.allow_fp16_accumulation = accumulated
        torch.set_num_threads(before)


def check_bound(
    screened: Float64[Tensor, " m"], exact: Float64[Tensor, " m"], bound: float
) -> None:
    """Raise an error if a screening value was wrong by more than the bound.

    This device or a setting of torch then computes less exactly than `error_bound` assumes, and
    other neighbours may have been missed.
    """
    worst = float((screened - exact).abs().max()) if len(exact) else 0.0
    if worst > bound:
        raise StepError(
            f"screening: a low-precision similarity was wrong by {worst:.3g}, but the bound is "
            f"{bound:.3g}; this device or torch's precision settings break the bound, so use the "
            "numpy backend and report this"
        )
