"""Few outputs: CTAs of a cluster share an expert's tokens. Named after field faults."""

import pytest
import torch
import wgrad

from gpu_case import make

# M, N of which a few experts are split so.
SPLIT_IN_FOUR, SPLIT_IN_TWO = (640, 128), (128, 256)


@pytest.mark.parametrize("sm_limit", [None, 4, 9])
@pytest.mark.parametrize(
    ("shape", "counts"),
    [
        (SPLIT_IN_FOUR, [0, 0]),
        (SPLIT_IN_FOUR, [0, 700, 0]),
        (SPLIT_IN_FOUR, [1, 0, 63]),
        (SPLIT_IN_FOUR, [0, 0, 0, 5000]),
        (SPLIT_IN_TWO, [0] * 16),
        (SPLIT_IN_TWO, [0] * 7 + [129] + [0] * 8),
        (SPLIT_IN_TWO, [0, 1, 0, 0, 0, 64, 0, 0, 0, 0, 300, 0, 0, 0, 65, 0]),
    ],
)
def test_f003_runs_of_empty_experts_whose_tokens_are_shared(shape, counts, sm_limit):
    """A cluster of a limited launch takes several empty tiles in a row."""
    case = make(counts, *shape)
    out = case.output()
    assert "sharing tokens" in case.operator(out, sm_limit=sm_limit)._stacked.plan
    for _ in range(20):
        out.fill_(float("nan"))
        wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out, sm_limit=sm_limit)
        case.expect(out)
    for dtype in (torch.bfloat16, torch.float32):
        out = case.output(dtype, 3.0)
        wgrad.grouped_wgrad(
            case.x, case.dy, case.offsets, out=out, accumulate=True, sm_limit=sm_limit
        )
        case.expect(out, 3.0)


def test_f106_bits_follow_neither_the_history_of_calls_nor_the_sm_limit():
    generator = torch.Generator("cuda").manual_seed(3)
    draw = lambda *shape: torch.randn(
        *shape, generator=generator, device="cuda", dtype=torch.bfloat16
    )
    x, dy = draw(9000, 512), draw(9000, 512)
    few = torch.tensor([300], device="cuda", dtype=torch.int32)
    all_of_them = torch.tensor([9000], device="cuda", dtype=torch.int32)
    results = []
    for first in (few, all_of_them):
        for sm_limit in (None, 8, 60):
            wgrad.clear_caches()
            rows = int(first[-1])
            wgrad.grouped_wgrad(x[:rows], dy[:rows], first, sm_limit=sm_limit)
            results.append(wgrad.grouped_wgrad(x, dy, all_of_them, sm_limit=sm_limit))
            one = wgrad.grouped_wgrad(x[:300], dy[:300], few, sm_limit=sm_limit)
            assert torch.equal(one, wgrad.grouped_wgrad(x, dy, few, sm_limit=sm_limit))
    for other in results[1:]:
        assert torch.equal(other, results[0])


def test_a_cluster_of_the_callers_shares_no_tokens():
    case = make([3000], 512, 512)
    made = case.operator(case.output(), mma_tiler_mn=(128, 128), cluster_shape_mn=(1, 1))
    assert "sharing" not in made._stacked.plan


# Calls that take their result from torch's allocator take a workspace from it too, where few
# outputs of many tokens want one.
PARTS = (65536, 512, 384)


def parts_case(seed):
    tokens, m, n = PARTS
    generator = torch.Generator("cuda").manual_seed(seed)
    draw = lambda *shape: torch.randint(
        -2, 3, shape, generator=generator, device="cuda", dtype=torch.int8
    ).to(torch.bfloat16)
    x, dy = draw(tokens, m), draw(tokens, n)
    return x, dy, torch.tensor([tokens], device="cuda", dtype=torch.int32)


def exact(x, dy):
    return (x.double().t() @ dy.double()).float().unsqueeze(0)


def test_parts_meet_in_a_workspace_in_graphs_and_on_streams():
    """Each launch has its own counters and its own sums, also where several run side by side."""
    x, dy, offsets = parts_case(1)
    want = exact(x, dy)
    out = torch.empty_like(want)
    wgrad.grouped_wgrad(x, dy, offsets, out=out)
    assert torch.equal(out, want)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        wgrad.grouped_wgrad(x, dy, offsets, out=out)
        wgrad.grouped_wgrad(x, dy, offsets, out=out, accumulate=True)
    for _ in range(10):
        out.fill_(float("nan"))
        graph.replay()
        assert torch.equal(out, 2 * want)
    streams = [torch.cuda.Stream() for _ in range(4)]
    outs = [torch.empty_like(want) for _ in streams]
    torch.cuda.synchronize()
    for _ in range(10):
        for stream, each in zip(streams, outs):
            with torch.cuda.stream(stream):
                each.fill_(float("nan"))
                wgrad.grouped_wgrad(x, dy, offsets, out=each)
        torch.cuda.synchronize()
        assert all(torch.equal(each, want) for each in outs)


@pytest.mark.parametrize("sm_limit", [None, 5, 40])
@pytest.mark.parametrize("counts", [[0, 65536], [0, 0], [30000, 1, 20000], [70, 9, 33, 50000]])
def test_parts_of_any_counts_are_exact(counts, sm_limit):
    case = make(counts, 520, 200)
    for dtype in (torch.bfloat16, torch.float32):
        for start in (None, 3.0):
            out = case.output(dtype, *([] if start is None else [start]))
            wgrad.grouped_wgrad(
                case.x, case.dy, case.offsets, out=out, accumulate=start is not None,
                sm_limit=sm_limit,
            )
            case.expect(out, *([] if start is None else [start]))
