"""Repeatability under the shapes that raced elsewhere. Named after field faults."""

import pytest
import torch
import wgrad

from gpu_case import NAN, make

REPEATS = 100
K_MAJOR = {"x_major": "k", "dy_major": "k"}


def repeat_bitwise(case, dtype=torch.bfloat16, *, start=NAN, discrete=False, **options):
    first = None
    for i in range(REPEATS + 1):
        out = case.output(dtype, start)
        target = list(out.unbind()) if discrete else out
        wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=target, **options)
        first = out if first is None else first
        assert torch.equal(first, out), f"repeat {i} differs"
    return first


@pytest.mark.parametrize(
    "m,n,ks",
    [
        (768, 2048, [128, 128, 256, 256, 128, 256, 256, 256]),
        (768, 2048, [256, 128, 128, 256]),
        (768, 2048, [64] * 32),
        (768, 2048, [32] * 32),  # one k tile an expert
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
    memory = case.output()
    outs = [memory[(e * 9) % experts] for e in range(experts)]  # in no order of addresses
    for _ in range(20):
        memory.fill_(NAN)
        wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=outs)
        case.expect(outs)


@pytest.mark.parametrize("way", ["k-major", "ragged", "discrete", "accumulate"])
@pytest.mark.parametrize("ks", [[64] * 32, [700, 0, 33, 1]], ids=["one-stage", "odd"])
def test_f106_every_way_repeats_bitwise(way, ks):
    torch.manual_seed(0)
    case = make(ks, 768, 2048, **(K_MAJOR if way == "k-major" else {}))
    if way == "ragged":  # random data are as good in one order as in the other
        case.x, case.dy = (t.t().contiguous().t() for t in (case.x, case.dy))
    case.x.copy_(torch.randn_like(case.x))
    case.dy.copy_(torch.randn_like(case.dy))
    options = {
        "ragged": {"input_order": "tensor_ragged"},
        "discrete": {"discrete": True},
        "accumulate": {"accumulate": True, "start": 0.375},
    }
    repeat_bitwise(case, torch.float32, **options.get(way, {}))


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
