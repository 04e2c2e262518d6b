"""Repeatability under the shapes that raced elsewhere. Named after field faults."""

import pytest
import torch
import wgrad

from gpu_case import make

REPEATS = 100


def repeat_bitwise(case, dtype=torch.bfloat16, **options):
    first = case.output(dtype)
    wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=first, **options)
    again = torch.empty_like(first)
    for i in range(REPEATS):
        again.fill_(float("nan"))
        wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=again, **options)
        assert torch.equal(first, again), f"repeat {i} differs"
    return first


@pytest.mark.parametrize(
    "m,n,ks",
    [
        (768, 2048, [128, 128, 256, 256, 128, 256, 256, 256]),
        (768, 2048, [256, 128, 128, 256]),
        (768, 2048, [64] * 32),  # one k tile an expert
        (2048, 768, [1, 64, 63, 65] * 16),
    ],
)
def test_f048_experts_of_one_block(m, n, ks):
    case = make(ks, m, n)
    case.expect(repeat_bitwise(case))


@pytest.mark.parametrize("k", [32, 64, 128])
def test_f054_many_tiles_of_short_k(k):
    case = make([k] * 4, 4096, 4096)
    case.expect(repeat_bitwise(case))


def test_f057_discrete_outputs_with_more_experts_than_sms():
    experts = 700
    case = make([5] * experts, 64, 64)
    outs = [torch.full((64, 64), float("nan"), dtype=torch.bfloat16, device="cuda") for _ in range(experts)]
    for _ in range(20):
        wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=outs)
    case.expect(outs)


def test_f106_random_data_repeats_bitwise_beside_other_load():
    torch.manual_seed(0)
    case = make([700, 0, 333, 1500, 1], 1024, 2048)
    case.x.normal_()
    case.dy.normal_()
    side = torch.cuda.Stream()
    noise = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    with torch.cuda.stream(side):
        for _ in range(50):
            noise @ noise
    repeat_bitwise(case, torch.float32)


@pytest.mark.parametrize("m, n", [(1024, 2048), (128, 256)], ids=["many", "few"])
def test_f106_replays_of_a_graph_give_the_bits_of_eager_calls(m, n):
    torch.manual_seed(0)
    case = make([700, 0, 333, 1500, 1], m, n)
    case.x.normal_()
    case.dy.normal_()
    eager, out = case.output(torch.float32), case.output(torch.float32)
    wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=eager)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out)
    for i in range(50):
        out.fill_(float("nan"))
        graph.replay()
        assert torch.equal(out, eager), f"replay {i} differs"


@pytest.mark.parametrize("experts_beside", ["without tokens", "none"])
@pytest.mark.parametrize("m, n", [(512, 768), (256, 128)])
def test_f106_an_expert_does_not_depend_on_the_others(m, n, experts_beside):
    torch.manual_seed(0)
    ks = [300, 17, 1024, 0, 555]
    case = make(ks, m, n)
    case.x.normal_()
    case.dy.normal_()
    # How many experts there are may decide whether CTAs share tokens; a cluster of the caller's
    # forbids that.
    whole_tiles = {"mma_tiler_mn": (128, 128), "cluster_shape_mn": (1, 1)}
    options = whole_tiles if experts_beside == "none" else {}
    whole = case.output(torch.float32)
    wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=whole, **options)
    begin = 0
    for e, end in enumerate(case.ends):
        counts = [end - begin] if experts_beside == "none" else [0] * len(ks)
        at = e % len(counts)
        counts[at] = end - begin
        alone = torch.full_like(whole[: len(counts)], float("nan"))
        offsets = torch.tensor(counts, device="cuda").cumsum(0, dtype=torch.int32)
        x, dy = case.x[begin:end].clone(), case.dy[begin:end].clone()
        wgrad.grouped_wgrad(x, dy, offsets, out=alone, **options)
        assert torch.equal(alone[at], whole[e]), f"expert {e}"
        begin = end
