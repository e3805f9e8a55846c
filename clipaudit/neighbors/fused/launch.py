"""Launches the fused kernel: its buffers, the number of programs, and the pairs found."""

from dataclasses import dataclass

import torch
from jaxtyping import Float16, Float32, Int32
from torch import Tensor

from clipaudit.neighbors.fused.kernel import screen
from clipaudit.neighbors.tiles import Found

_CODE_OF_NOTHING = -(2**31) + (1 << 23) - 1  # -inf as an ordered integer
_INTERPRETED_PROGRAMS = 3  # in Triton's interpreter, one after the other
_WARPS = 8  # of 255 registers a thread: as many as a multiprocessor has registers for


@dataclass(frozen=True)
class Tiling:
    """How a launch is cut; it does not affect results. All but `stages` are powers of two.

    A program multiplies `step` columns of `rows` x `queries` at once, in `warps` warps, with
    `stages` such steps in flight. With 4 warps, a multiprocessor holds two programs: while one
    compares its scores, the other multiplies.
    """

    rows: int = 128
    queries: int = 128
    step: int = 64
    warps: int = 4
    stages: int = 3


def find(
    rows: Float16[Tensor, "n p"],
    queries: Float16[Tensor, "q p"],
    floors: Float32[Tensor, " q"],
    gaps: Float32[Tensor, " q"] | None,
    margin: float,
    buffer: Int32[Tensor, "3 capacity"],
    tiling: Tiling,
) -> Found | None:
    """Return the pairs whose score reaches its floor or comes close to the best of its row.

    Close means within `margin`. With gaps, pairs whose excess over the gap comes close to the row's
    highest and above -margin / 2 are also returned. The pairs come in any order, each once. The
    result is None if the buffer has too few places. p must be a multiple of `tiling.step`; there
    must be a row and a query.
    """
    n, dimension = rows.shape
    count = torch.zeros(1, dtype=torch.int64, device=rows.device)
    seen = torch.full((2, n), _CODE_OF_NOTHING, dtype=torch.int32, device=rows.device)
    with torch.cuda.device_of(rows):  # type: ignore[no-untyped-call]
        screen[(_programs(rows.device, tiling),)](
            rows,
            queries,
            floors,
            floors if gaps is None else gaps,
            seen,
            buffer,
            count,
            n,
            len(queries),
            buffer.shape[1],
            margin,
            DIMENSION=dimension,
            GAPS=gaps is not None,
            ROWS=tiling.rows,
            QUERIES=tiling.queries,
            STEP=tiling.step,
            num_warps=tiling.warps,
            num_stages=tiling.stages,
            enable_fp_fusion=False,
        )
    m = int(count)
    if m > buffer.shape[1]:
        return None
    return Found(
        buffer[0, :m].long(), buffer[1, :m].long(), buffer[2, :m].view(torch.float32).double()
    )


def _programs(device: torch.device, tiling: Tiling) -> int:
    """Return how many programs fill the device."""
    if device.type != "cuda":
        return _INTERPRETED_PROGRAMS
    processors: int = torch.cuda.get_device_properties(device).multi_processor_count
    return processors * max(1, _WARPS // tiling.warps)
