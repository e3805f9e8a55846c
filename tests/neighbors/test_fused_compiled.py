"""The code that Triton compiles from the fused kernel for GPUs, also on machines without one."""

import re

import pytest

triton = pytest.importorskip("triton", reason="there is no Triton for this platform")

TYPES = {
    **dict.fromkeys(("rows", "queries"), "*fp16"),
    **dict.fromkeys(("floors", "gaps"), "*fp32"),
    **dict.fromkeys(("seen", "found"), "*i32"),
    "count": "*i64",
    **dict.fromkeys(("n", "q", "capacity"), "i32"),
    "margin": "fp32",
}


def compiled(capability):
    """The kernel for d = 640 with gaps, its pointers aligned as torch's are."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from clipaudit.neighbors.fused.kernel import screen
    from clipaudit.neighbors.fused.launch import Tiling

    tiling = Tiling()
    sizes = {"ROWS": tiling.rows, "QUERIES": tiling.queries, "STEP": tiling.step}
    constants = {"DIMENSION": 640, "GAPS": True, **sizes}
    source = ASTSource(
        fn=screen,
        signature=TYPES | dict.fromkeys(constants, "constexpr"),
        constexprs={(len(TYPES) + i,): value for i, value in enumerate(constants.values())},
        attrs={(i,): [["tt.divisibility", 16]] for i in range(7)},
    )
    options = {"num_warps": tiling.warps, "num_stages": tiling.stages, "enable_fp_fusion": False}
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)


@pytest.mark.parametrize(
    ("capability", "product", "shared"),  # KB that an A100 and an H100 give their programs
    [(80, "mma.sync.aligned.m16n8k16", 163), (90, "wgmma.mma_async.sync.aligned.m64n128k16", 227)],
)
def test_sums_use_float32_and_two_programs_fit_at_the_same_time(
    capability, product, shared, monkeypatch, tmp_path
):
    """One program compares while the other multiplies."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))

    kernel = compiled(capability)

    code = kernel.asm["ptx"]
    products = set(re.findall(r"(?:wg)?mma[._][\w.]*\.f(?:16|32)\b[\w.]*", code))
    assert products
    assert all(name.startswith(product) and ".f32.f16.f16" in name for name in products)
    assert "tf32" not in code
    assert 2 * kernel.metadata.shared <= shared * 1024
