"""torch.compile and torch.export of whole training steps: one graph for any T and counts."""

from __future__ import annotations

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch._functorch.aot_autograd import aot_export_module

import wgrad
import wgrad.torch as layers
from layer_case import COUNTS, make
from test_grouped_linear import LAYOUTS, gradient, layer_of
from test_main_grad import give_main_grads, main_grad


if torch.__version__.startswith("2.4."):
    pytest.skip("torch 2.4 follows no attribute of a parameter", allow_module_level=True)


@pytest.fixture(autouse=True)
def afresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def compiled(layer, backend="aot_eager"):
    """The layer in one dynamic graph, and what counts its graphs."""
    counter = CompileCounterWithBackend(backend)
    return torch.compile(layer, fullgraph=True, dynamic=True, backend=counter), counter


def unmark(layer):
    """As trainers do before a step; torch 2.11 makes a second graph for a flag that is set."""
    for weight in layer.weights():
        weight.grad_added_to_main_grad = False


def cases():
    """One weight, counts and T that change; T of 2 or more, see the test of none and one."""
    weight = make().weight
    for seed, counts in enumerate(([4, 0, 5], [0, 0, 2], [30, 11, 40], [0, 9, 0])):
        case = make(counts, seed=10 * seed)
        case.weight = weight
        yield case


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_graph_for_all_counts(layout):
    layer = layer_of(make(), **LAYOUTS[layout])
    fast, counter = compiled(layer)
    for case in cases():
        layer.zero_grad()
        x = case.run(fast)
        case.same(x.grad, case.input_gradient())
        assert torch.equal(gradient(layer).double(), case.weight_gradient())
    assert counter.frame_count == 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_f084_one_graph_adds_to_main_grad_each_time(layout):
    layer = layer_of(make(), **LAYOUTS[layout])
    give_main_grads(layer, fill=1.0, grad_added_to_main_grad=False)
    fast, counter = compiled(layer)
    want = torch.ones(3, 16, 32, dtype=torch.float64)
    for case in cases():
        unmark(layer)
        case.run(fast)
        want += case.weight_gradient()
        assert torch.equal(main_grad(layer).double(), want)
        assert all(w.grad_added_to_main_grad and w.grad is not None for w in layer.weights())
    assert counter.frame_count == 1


def test_overwriting_is_a_graph_of_its_own():
    layer = layer_of(make())
    give_main_grads(layer, fill=float("nan"))
    fast, counter = compiled(layer)
    for first in (True, False, True, False):
        case = make()
        case.run(fast, first)
        times = 1 if first else 2
        assert torch.equal(main_grad(layer).double(), times * case.weight_gradient())
    assert counter.frame_count == 2 and layer.weight.grad is None


def test_a_network_with_biases_in_one_graph():
    torch.manual_seed(0)
    model = layers.GroupedMLP(3, 16, 32, bias=True, dtype=torch.bfloat16)
    judge = layers.GroupedMLP(3, 16, 32, bias=True, dtype=torch.bfloat16)
    judge.load_state_dict(model.state_dict())
    fast, counter = compiled(model)
    for case in cases():
        for module in (fast, judge):
            module.zero_grad()
            module(case.x, case.offsets).backward(case.dy[:, :16].contiguous())
        for p, q in zip(model.parameters(), judge.parameters()):
            scale = q.grad.float().abs().max().clamp(min=1e-6)
            assert ((p.grad.float() - q.grad.float()).abs() / scale).max() < 0.02
    assert counter.frame_count == 1


def test_autocast_in_one_graph():
    layer = layer_of(make()).float()

    def step(x, offsets):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return layer(x, offsets)

    fast, counter = compiled(step)
    for case in cases():
        layer.zero_grad()
        case.x = case.x.float()
        case.run(fast)
        assert torch.equal(layer.weight.grad.double(), case.weight_gradient())
    assert counter.frame_count == 1


@pytest.mark.parametrize("counts", [COUNTS[3], [0, 1, 0]], ids=["none", "one"])
def test_no_token_and_one_token(counts):
    """torch specialises on extents of 0 and 1: a graph of their own, the same results."""
    layer = layer_of(make())
    fast, _ = compiled(layer)
    for case in (make(), make(counts)):
        case.weight = make().weight
        layer.zero_grad()
        case.run(fast)
        assert torch.equal(gradient(layer).double(), case.weight_gradient())


@pytest.mark.parametrize("tokens", [2, 1000])
def test_f083_t_comes_out_of_a_tensor(tokens):
    layer = layer_of(make())

    def step(x, offsets, count):
        rows = count.item()
        torch._check(rows >= 2)
        torch._check(rows <= x.shape[0])
        return layer(x[:rows], offsets)

    case = make([tokens - 1, 0, 1])
    case.weight = make().weight
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        fast, counter = compiled(step)
        longer = torch.cat([case.x, case.x])
        y = fast(longer, case.offsets, torch.tensor(tokens))
        y.backward(case.dy)
    assert counter.frame_count == 1
    assert torch.equal(gradient(layer).double(), case.weight_gradient())


def test_inductor_computes_the_same():
    """The default backend, which generates code: once, since it is slow."""
    layer = layer_of(make(), transposed=True)
    give_main_grads(layer, grad_added_to_main_grad=False)
    fast, counter = compiled(layer, "inductor")
    want = 0
    for case in cases():
        unmark(layer)
        x = case.run(fast)
        case.same(x.grad, case.input_gradient())
        want = want + case.weight_gradient()
    assert torch.equal(main_grad(layer).double(), want) and counter.frame_count == 1


def test_bad_input_is_refused_in_words_in_a_graph():
    case = make()
    bad = case.offsets.long()
    compiled = torch.compile(layer_of(case), fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match="offsets is torch.int64; it must be int32"):
        compiled(case.x, bad)
    torch._dynamo.reset()
    with pytest.raises(ValueError, match="offsets is torch.int64; it must be int32"):
        torch.compile(layer_of(case), backend="aot_eager")(case.x, bad)


def test_a_queue_is_refused_in_a_graph():
    case = make()
    fast, _ = compiled(layer_of(case, delay=True))
    with pytest.raises(Exception, match="delay is given and a graph is recorded"):
        fast(case.x, case.offsets)


def test_a_patched_model_in_one_graph():
    case = make()
    weight = case.weight.clone().requires_grad_()
    with layers.patch_torch_grouped_mm():
        fast, counter = compiled(
            lambda x, offsets: torch.nn.functional.grouped_mm(x, weight, offs=offsets)
        )
        case.run(fast)
    assert counter.frame_count == 1
    assert torch.equal(weight.grad.double(), case.weight_gradient())


def test_export_of_a_forward_pass():
    case = make()
    layer = layer_of(case, bias=True)
    with torch.no_grad():
        layer.bias.zero_()
    tokens = torch.export.Dim("tokens", min=2)
    program = torch.export.export(
        layer, (case.x, case.offsets), dynamic_shapes={"x": {0: tokens}, "offsets": None}
    )
    for other in cases():
        other.same(program.module()(other.x, other.offsets), other.output())


def test_ahead_of_time_export_of_forward_and_backward():
    case = make()
    layer = layer_of(case)

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, x, offsets):
            return ((self.layer(x, offsets).float() ** 2).sum(),)

    graph, signature = aot_export_module(
        Loss(), (case.x, case.offsets), trace_joint=True, output_loss_index=0
    )
    targets = [str(node.target) for node in graph.graph.nodes]
    assert "wgrad.expert_wgrad.default" in targets and "wgrad.grouped_matmul.default" in targets
    assert list(signature.backward_signature.gradients_to_parameters.values()) == ["layer.weight"]
    loss, gradient_of_weight = graph(layer.weight, case.x, case.offsets)
    case.dy = (2 * case.output()).to(torch.bfloat16)
    assert loss == (case.output() ** 2).sum()
    assert torch.equal(gradient_of_weight.double(), case.weight_gradient().bfloat16().double())


def test_plain_calls_become_operators_of_the_graph():
    """grouped_wgrad itself, into new, stacked and separate outputs, in one graph."""

    def step(x, dy, offsets, out, parts):
        fresh = wgrad.grouped_wgrad(x * 1, dy, offsets, out_dtype=torch.float32)
        wgrad.grouped_wgrad(x, dy, offsets, out, accumulate=True)
        wgrad.grouped_wgrad(x, dy, offsets, parts)
        return fresh + wgrad.grouped_wgrad(x, dy, offsets, out, accumulate=True)

    fast, counter = compiled(step)
    for case in cases():
        out = torch.ones(3, 16, 32)
        parts = [torch.zeros(16, 32) for _ in range(3)]
        want = case.weight_gradient()
        got = fast(case.x, case.dy, case.offsets, out, parts)
        assert torch.equal(out.double(), 2 * want + 1) and torch.equal(got.double(), 3 * want + 1)
        assert torch.equal(torch.stack(parts).double(), want)
    assert counter.frame_count == 1


def test_what_no_operator_has_is_refused_under_compile():
    case = make()
    fast, _ = compiled(lambda x, dy, offsets: wgrad.grouped_wgrad(x, dy, offsets, backend="cpu"))
    with pytest.raises(Exception, match="backend is given and torch records a graph"):
        fast(case.x, case.dy, case.offsets)


def test_block_scaled_calls_become_operators_of_the_graph():
    ends = torch.tensor([32, 32, 64], dtype=torch.int32)
    x, dy = (wgrad.quantize(torch.randn(64, rows), ends) for rows in (32, 64))
    fast, counter = compiled(
        lambda a, b, sfa, sfb: wgrad.grouped_wgrad(a, b, ends, x_scale=sfa, dy_scale=sfb) * 2
    )
    got = fast(x.elements, dy.elements, x.scales, dy.scales)
    assert torch.equal(got, 2 * wgrad.grouped_wgrad(x, dy, ends)) and counter.frame_count == 1
