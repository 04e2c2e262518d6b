"""Past 2^31 elements and past every expert-count cap. Named after field faults."""

import pytest
import torch
import wgrad

from gpu_case import NAN, GpuCase, integers, make


def test_f001_empty_experts_at_full_size():
    case = make([162, 0, 2577, 446, 0, 83], 2048, 768)
    for dtype in (torch.bfloat16, torch.float32):
        out = case.output(dtype)
        wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out)
        case.expect(out)
        for e in (1, 4):
            assert not out[e].view(torch.uint8).any(), "not exact zeros"


def test_f068_more_than_2_31_elements_of_a():
    tokens = 262144 + 128
    counts = [tokens // 8] * 7 + [tokens - 7 * (tokens // 8)]
    case = make(counts, 8192, 256)
    assert case.x.numel() > 2**31
    out = case.output(torch.float32)
    wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out)
    case.expect(out)


def test_f069_k_major_past_2_31_elements():
    tokens = 16 * 4096 * 8 + 8
    case = make([tokens // 2, tokens - tokens // 2], 4096, 64, x_major="k")
    out = case.output(torch.float32)
    wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out)
    case.expect(out)


def test_f071_the_last_of_many_large_experts():
    case = make([3] * 256, 6144, 2048)
    out = case.output()
    assert out.numel() > 2**31
    wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out)
    case.expect(out)


@pytest.mark.parametrize("experts", [1, 2, 31, 32, 33, 64, 128, 256, 384, 512, 1024, 1025, 4096])
def test_f098_any_number_of_experts(experts):
    counts = torch.randint(0, 9, (experts,), generator=torch.Generator().manual_seed(experts))
    case = make(counts.tolist(), 64, 64)
    out = case.output()
    wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out)
    case.expect(out)


@pytest.mark.parametrize("m", [512, 768, 1536, 2048, 7168])
@pytest.mark.parametrize("n", [512, 768, 1536, 2048, 7168])
def test_f046_every_pair_of_widths(m, n):
    case = make([129, 0, 64], m, n)
    out = case.output()
    wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out)
    case.expect(out)


def test_f060_f066_widths_that_trapped_elsewhere():
    for counts, m, n in (([32] * 128, 2048, 768), ([100] * 8, 768, 1536), ([100] * 4, 2880, 2880),
                         ([100] * 4, 2880, 5760)):
        case = make(counts, m, n)
        out = case.output()
        wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out)
        case.expect(out)


def test_f108_long_k_does_not_drift():
    x = torch.ones(65536, 128, dtype=torch.bfloat16, device="cuda")
    dy = integers(65536, 128, torch.bfloat16, "cuda", 5, limit=1)
    dy.add_(2.0**-7)  # 1.0078125 and its like: exact in bf16, sums exact in float64
    offsets = torch.tensor([65536], dtype=torch.int32, device="cuda")
    out = torch.empty(1, 128, 128, device="cuda")
    wgrad.grouped_wgrad(x, dy, offsets, out=out)
    want = dy.double().sum(0).expand(128, 128)
    assert ((out[0].double() - want).abs().max() / want.abs().max()).item() < 1e-4


def padded(rows: int, width: int, seed: int) -> torch.Tensor:
    """(rows, width) integers in rows of whole 16 bytes, NaN in between."""
    t = torch.full((rows, -(-width // 8) * 8 + 8), NAN, dtype=torch.bfloat16, device="cuda")
    t[:, :width] = integers(rows, width, torch.bfloat16, "cuda", seed)
    return t[:, :width]


# Written without a GPU at hand; not run on one yet, as the test below.
@pytest.mark.parametrize("accumulate", [False, True], ids=["overwrite", "accumulate"])
def test_large_matrices_of_odd_widths(accumulate):
    """Columns stored one by one at offsets past 2^31 bytes, of operands past 2^31 elements."""
    counts = [70000, 0, 131071, 61001]
    ends = torch.tensor(counts).cumsum(0).tolist()
    x, dy = padded(ends[-1], 8191, 1), padded(ends[-1], 16381, 2)
    assert dy.stride(0) * dy.shape[0] > 2**31
    offsets = torch.tensor(ends, dtype=torch.int32, device="cuda")
    case = GpuCase(x, dy, offsets, ends)
    room = torch.full((4, 8191, 16384 + 8), 2.0, device="cuda")
    out = room[:, :, :16381]
    wgrad.grouped_wgrad(x, dy, offsets, out=out, accumulate=accumulate)
    case.expect(out, start=2.0 if accumulate else None)
    assert (room[:, :, 16381:] == 2.0).all(), "written past N"


def test_large_ragged_matrices():
    """K-major expert blocks, one after the other, past 2^31 elements; begins and k_e of any parity."""
    counts = [65537, 1, 65536, 0, 98303, 40001]
    case = make(counts, 8192, 192)
    assert case.x.numel() > 2**31
    a = torch.empty(case.x.numel(), dtype=torch.bfloat16, device="cuda")
    b = torch.empty(case.dy.numel(), dtype=torch.bfloat16, device="cuda")
    for begin, end in zip([0, *case.ends], case.ends):
        for flat, tokens in ((a, case.x), (b, case.dy)):
            width = tokens.shape[1]
            flat[begin * width : end * width] = tokens[begin:end].t().reshape(-1)
    out = case.output(torch.float32)
    total = case.ends[-1]
    operator = wgrad.GroupedGemmWgrad(
        a.view(8192, total), b.view(192, total).t(), None, None, case.offsets,
        sample_wgrad=out, input_order="tensor_ragged",
    )
    assert operator.check_support()
    operator.compile()
    operator.execute(
        a.view(8192, total), b.view(192, total).t(), None, None, case.offsets, wgrad_tensor=out
    )
    case.expect(out)
