"""grouped_linear and the modules beside a loop over experts in double."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import wgrad.torch as layers
from layer_case import COUNTS, NAN, Case, integers, make
from wgrad.torch import _matmul

LAYOUTS = {
    "packed": {},
    "transposed": {"transposed": True},
    "separate": {"separate": True},
    "separate transposed": {"separate": True, "transposed": True},
}


def layer_of(case: Case, **options) -> layers.GroupedLinear:
    """A module with the case's weights."""
    experts, m, n = case.weight.shape
    layer = layers.GroupedLinear(experts, m, n, dtype=case.weight.dtype, **options)
    with torch.no_grad():
        for parameter, value in zip(layer.weights(), case.weight if layer.separate else [case.weight]):
            parameter.copy_(value.transpose(-2, -1) if layer.transposed else value)
    return layer


def gradient(layer: layers.GroupedLinear) -> torch.Tensor:
    """(E, M, N) of whatever parameters the module has."""
    found = [p.grad.transpose(-2, -1) if layer.transposed else p.grad for p in layer.weights()]
    return torch.stack(found) if layer.separate else found[0]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("counts", COUNTS, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_loops_output_and_gradients(layout, counts, dtype):
    case = make(counts, tail=0 if sum(counts) == 0 else 3, dtype=dtype)
    layer = layer_of(case, **LAYOUTS[layout])
    x = case.run(layer)
    case.same(x.grad, case.input_gradient())
    assert torch.equal(gradient(layer).double(), case.weight_gradient())
    assert all(p.grad.dtype == dtype and p.grad.is_contiguous() for p in layer.weights())


def test_the_function_takes_views_and_lists_as_the_modules_do():
    case = make()
    weight = case.weight.clone().requires_grad_()
    case.run(lambda x, offsets: layers.grouped_linear(x, weight, offsets))
    turned = case.weight.transpose(1, 2).contiguous().requires_grad_()
    case.run(lambda x, offsets: layers.grouped_linear(x, turned.transpose(1, 2), offsets))
    parts = [part.clone().requires_grad_() for part in case.weight]
    case.run(lambda x, offsets: layers.grouped_linear(x, parts, offsets))
    for got in (weight.grad, turned.grad.transpose(1, 2), torch.stack([p.grad for p in parts])):
        assert torch.equal(got.double(), case.weight_gradient())


def test_a_list_of_slices_of_one_tensor_is_not_copied(monkeypatch):
    case = make()
    weight = case.weight.clone().requires_grad_()
    with monkeypatch.context() as patch:
        patch.setattr(torch, "stack", None)  # what a copy would call
        y = layers.grouped_linear(case.x, list(weight.unbind(0)), case.offsets)
        y.backward(case.dy)
    assert torch.equal(weight.grad.double(), case.weight_gradient())


@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_bias_and_its_gradient(counts):
    case = make(counts)
    layer = layer_of(case, bias=True)
    with torch.no_grad():
        layer.bias.copy_(integers(*layer.bias.shape, seed=9))
    x = case.x.clone().requires_grad_()
    y = layer(x, case.offsets)
    y.backward(case.dy)
    rows = [layer.bias[i].double().expand(e - b, -1) for i, (b, e) in case.experts()]
    case.same(y, case.output() + torch.cat(rows))
    case.same(x.grad, case.input_gradient())
    assert torch.equal(layer.bias.grad.double(), case.bias_gradient())
    assert torch.equal(gradient(layer).double(), case.weight_gradient())


def test_a_list_of_biases():
    case = make()
    biases = [integers(32, seed=i).requires_grad_() for i in range(3)]
    x = case.x.clone().requires_grad_()
    layers.grouped_linear(x, case.weight, case.offsets, biases).backward(case.dy)
    assert torch.equal(torch.stack([b.grad for b in biases]).double(), case.bias_gradient())


def expanded(case: Case) -> torch.Tensor:
    return torch.ones((), dtype=case.dy.dtype).expand_as(case.dy)


GRADIENTS = {
    "F146 expanded": expanded,
    "transposed": lambda case: case.dy.t().contiguous().t(),
    "column slice": lambda case: torch.cat([case.dy, case.dy], 1)[:, : case.dy.shape[1]],
    "slice at an odd place": lambda case: torch.cat([case.dy[:, :3], case.dy], 1)[:, 3:],
    "every second row": lambda case: case.dy.repeat_interleave(2, 0)[::2],
    "reversed memory": lambda case: case.dy.flip(0).contiguous().flip(0),
    "rows expanded": lambda case: case.dy[:1].expand_as(case.dy),
}


@pytest.mark.parametrize("form", GRADIENTS)
@pytest.mark.parametrize("transposed", [False, True])
def test_gradients_of_any_strides(form, transposed):
    case = make()
    case.dy = GRADIENTS[form](case)
    layer = layer_of(case, transposed=transposed)
    x = case.run(layer)
    case.same(x.grad, case.input_gradient())
    assert torch.equal(gradient(layer).double(), case.weight_gradient())


@pytest.mark.parametrize("tokens", [1, 9])
def test_a_sum_hands_over_an_expanded_gradient(tokens):
    case = make([tokens, 0, 0])
    layer = layer_of(case)
    layer(case.x, case.offsets).sum().backward()
    case.dy = torch.ones_like(case.dy)
    assert torch.equal(gradient(layer).double(), case.weight_gradient())


def test_activations_of_any_strides():
    case = make()
    for x in (case.x.t().contiguous().t(), torch.cat([case.x[:, :5], case.x], 1)[:, 5:]):
        layer = layer_of(case)
        layer(x, case.offsets).backward(case.dy)
        assert torch.equal(gradient(layer).double(), case.weight_gradient())


def test_f081_a_fused_gate_and_up_is_chunked():
    """The gradient of each half is strided where the halves are used one by one."""
    case = make(n=64)
    layer = layer_of(case)
    gate, up = layer(case.x, case.offsets).chunk(2, -1)
    torch.autograd.backward([gate, up], [case.dy[:, :32], case.dy[:, 32:]])
    assert torch.equal(gradient(layer).double(), case.weight_gradient())


def test_a_given_matmul_computes_output_and_input_gradient():
    seen = []

    def matmul(x, weight, offsets):
        seen.append((tuple(x.shape), tuple(weight.shape)))
        return _matmul.loop(x, weight, offsets)

    case = make()
    layer = layer_of(case, matmul=matmul)
    x = case.run(layer)
    case.same(x.grad, case.input_gradient())
    assert seen == [((9, 16), (3, 16, 32)), ((9, 32), (3, 32, 16))]


def test_the_loop_stands_in_where_torch_has_no_grouped_matmul(monkeypatch):
    monkeypatch.setattr(_matmul, "_has_grouped_mm", lambda device: False)
    case = make(tail=2)
    layer = layer_of(case)
    x = case.run(layer)
    case.same(x.grad, case.input_gradient())
    assert not layer(case.x, case.offsets)[9:].any(), "the loop leaves zeros in the tail"


@pytest.mark.parametrize("parameters", [torch.float32, torch.bfloat16])
def test_autocast_computes_in_16_bits_and_keeps_the_gradient_in_float32(parameters):
    case = make()
    case.x = case.x.float()
    layer = layer_of(case).to(parameters)
    x = case.x.clone().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(x, case.offsets)
    assert y.dtype == torch.bfloat16
    y.backward(case.dy)
    assert x.grad.dtype == torch.float32 and layer.weight.grad.dtype == parameters
    case.same(x.grad, case.input_gradient())
    assert torch.equal(layer.weight.grad.double(), case.weight_gradient())


def test_a_float32_gradient_under_autocast_is_not_rounded_to_16_bits():
    """257 is no bfloat16."""
    x = torch.ones(257, 8)
    weight = torch.zeros(1, 8, 8, requires_grad=True)
    offsets = torch.tensor([257], dtype=torch.int32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        layers.grouped_linear(x, weight, offsets).sum().backward()
    assert weight.grad.eq(257).all()


@pytest.mark.parametrize("reentrant", [False, True])
def test_activation_checkpointing(reentrant):
    case = make()
    layer = layer_of(case)
    x = case.run(lambda x, offsets: checkpoint(layer, x, offsets, use_reentrant=reentrant))
    case.same(x.grad, case.input_gradient())
    assert torch.equal(gradient(layer).double(), case.weight_gradient())


def test_a_second_derivative_is_refused_in_words():
    case = make()
    layer = layer_of(case, bias=True)
    x = case.x.clone().requires_grad_()
    (dx,) = torch.autograd.grad(
        layer(x, case.offsets), x, case.dy.clone().requires_grad_(), create_graph=True
    )
    case.same(dx.detach(), case.input_gradient())
    with pytest.raises(RuntimeError, match="grouped_linear is differentiated twice"):
        dx.sum().backward()


def test_only_what_is_asked_for_is_computed(monkeypatch):
    case = make()
    frozen = layer_of(case).requires_grad_(False)
    monkeypatch.setattr("wgrad.torch._linear.compute", None)  # would be called for a gradient
    x = case.run(frozen)
    case.same(x.grad, case.input_gradient())
    with torch.no_grad():
        assert not frozen(case.x, case.offsets).requires_grad


def test_modules_can_be_copied_saved_and_moved():
    case = make()
    layer = layer_of(case, bias=True, delay=True)
    twin = copy.deepcopy(layer)
    stored = io.BytesIO()
    torch.save(layer.state_dict(), stored)
    stored.seek(0)
    twin.load_state_dict(torch.load(stored))
    assert torch.equal(twin(case.x, case.offsets), layer(case.x, case.offsets))
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    assert "num_experts=3, in_features=16, out_features=32, bias=True" in repr(layer)


@pytest.mark.parametrize("fused", [True, False])
def test_ten_steps_of_a_network_equal_a_loop_in_double(fused):
    """SGD on both; every tensor of a step is overwritten with NaN and freed when it is over."""
    torch.manual_seed(0)
    model = layers.GroupedMLP(4, 32, 48, dtype=torch.bfloat16, bias=True, fused=fused)
    for p in model.parameters():
        p.data.mul_(3)
    judge = [p.detach().double().requires_grad_() for p in model.parameters()]
    names = [name for name, _ in model.named_parameters()]
    for step in range(10):
        counts = torch.multinomial(torch.ones(4), 40, True).bincount(minlength=4)
        counts[step % 4] = 0
        offsets = counts.cumsum(0, dtype=torch.int32)
        x = torch.randn(int(offsets[-1]), 32).bfloat16()
        dy = torch.randn_like(x)
        model(x, offsets).backward(dy)
        of = dict(zip(names, judge))
        network_in_double(of, x.double(), offsets.tolist(), fused).backward(dy.double())
        for name, p, q in zip(names, model.parameters(), judge):
            scale = q.grad.abs().max().clamp(min=1e-6)
            assert ((p.grad.double() - q.grad).abs() / scale).max() < 0.03, (step, name)
            assert not p.grad[step % 4].any(), "an expert without tokens has a gradient of zeros"
            p.data -= 0.01 * p.grad
            q.data.copy_(p.data)
            p.grad = q.grad = None
        x.fill_(NAN), dy.fill_(NAN), offsets.fill_(0)
        del x, dy, offsets


def network_in_double(of, x, ends, fused):
    def linear(name, rows, e):
        return rows @ of[f"{name}.weight"][e] + of[f"{name}.bias"][e]

    parts = []
    for e, (begin, end) in enumerate(zip([0, *ends], ends)):
        rows = x[begin:end]
        gate, up = (
            linear("gate_up", rows, e).chunk(2, -1) if fused
            else (linear("gate", rows, e), linear("up", rows, e))
        )
        parts.append(linear("down", torch.nn.functional.silu(gate) * up, e))
    return torch.cat(parts)


def test_separate_parameters_lie_in_one_memory():
    """So that no forward pass copies them. A copy of the module has them apart, and works."""
    case = make()
    layer = layer_of(case, separate=True)
    starts = [weight.data_ptr() for weight in layer.weights()]
    assert starts == [starts[0] + e * 16 * 32 * 2 for e in range(3)]
    for module in (layer, copy.deepcopy(layer)):
        case.run(module)
        assert torch.equal(gradient(module).double(), case.weight_gradient())
