"""Past 2^31 elements and past every expert-count cap. Named after field faults."""

import pytest
import torch
import wgrad

from gpu_case import integers, make


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
