"""Backward passes that ask for some gradients alone, as pipelines do that divide them in two."""

from __future__ import annotations

import pytest
import torch

import wgrad
import wgrad.torch as layers
from layer_case import NAN, make
from test_grouped_linear import LAYOUTS, gradient, layer_of
from test_main_grad import give_main_grads, main_grad
from wgrad.torch import _linear


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_input_gradient_alone_leaves_main_grad_as_it_is(layout):
    case = make()
    layer = layer_of(case, **LAYOUTS[layout])
    give_main_grads(layer, fill=NAN, grad_added_to_main_grad=False)
    x = case.x.clone().requires_grad_()
    (dx,) = torch.autograd.grad(layer(x, case.offsets), [x], case.dy)
    case.same(dx, case.input_gradient())
    y = layer(x, case.offsets)
    y.backward(case.dy, inputs=[x])
    case.same(x.grad, case.input_gradient())
    assert main_grad(layer).isnan().all()
    assert not any(weight.grad_added_to_main_grad for weight in layer.weights())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_autograd_grad_returns_the_weight_gradient_and_accumulates_nothing(layout):
    case = make()
    layer = layer_of(case, **LAYOUTS[layout])
    give_main_grads(layer, fill=NAN)
    got = torch.autograd.grad(layer(case.x, case.offsets), layer.weights(), case.dy)
    assert main_grad(layer).isnan().all()
    for weight, each in zip(layer.weights(), got):
        weight.grad = each
    assert torch.equal(gradient(layer).double(), case.weight_gradient())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_backward_into_the_weights_alone_adds_to_main_grad(layout):
    case = make()
    layer = layer_of(case, **LAYOUTS[layout])
    give_main_grads(layer, fill=1.0)
    x = case.x.clone().requires_grad_()
    layer(x, case.offsets).backward(case.dy, inputs=layer.weights())
    assert torch.equal(main_grad(layer).double(), 1 + case.weight_gradient()) and x.grad is None


def test_nothing_is_computed_that_nobody_asked_for(monkeypatch):
    case = make()
    layer = layer_of(case)
    x = case.x.clone().requires_grad_()
    y = layer(x, case.offsets)
    monkeypatch.setattr(_linear, "compute", None)
    y.backward(case.dy, inputs=[x])
    case.same(x.grad, case.input_gradient())


def test_a_pipelines_two_halves_of_a_backward_pass():
    pipelining = pytest.importorskip("torch.distributed.pipelining._backward")
    case = make()
    layer = layer_of(case)
    give_main_grads(layer, fill=NAN)
    x = case.x.clone().requires_grad_()
    y = layer(x, case.offsets)
    (dx,), groups = pipelining.stage_backward_input([y], [case.dy], [x], iter(layer.parameters()))
    case.same(dx, case.input_gradient())
    pipelining.stage_backward_weight(iter(layer.parameters()), groups)
    assert torch.equal(layer.weight.grad.double(), case.weight_gradient())
    assert main_grad(layer).isnan().all()


@pytest.mark.parametrize("delay", [False, True])
@pytest.mark.parametrize("buffers", [False, True], ids=["grad", "main_grad"])
def test_frozen_experts_get_nothing(delay, buffers):
    case = make()
    layer = layer_of(case, separate=True, delay=delay)
    if buffers:
        give_main_grads(layer, fill=1.0, grad_added_to_main_grad=False)
    frozen, _, trained = layer.weights()
    frozen.requires_grad_(False)
    trained.grad = None if buffers else torch.zeros_like(trained)
    case.run(layer)
    layer.backward_dw()
    assert frozen.grad is None
    if buffers:
        assert frozen.main_grad.eq(1).all() and not frozen.grad_added_to_main_grad
        assert torch.equal(trained.main_grad.double(), 1 + case.weight_gradient()[2])
    else:
        assert torch.equal(trained.grad.double(), case.weight_gradient()[2])


def test_a_buffer_may_lie_the_other_way():
    case = make()
    weight = case.weight.clone().requires_grad_()
    for buffer in (torch.zeros(3, 32, 16).transpose(1, 2), torch.zeros(3, 16, 32)):
        weight.main_grad = buffer
        case.run(lambda x, o: layers.grouped_linear(x, weight, o))
        assert torch.equal(buffer.double(), case.weight_gradient())


def test_torch_func_is_refused_in_words():
    case = make()

    def loss(weight):
        return layers.grouped_linear(case.x, weight, case.offsets).float().sum()

    for transform in (torch.func.grad, torch.func.vmap, lambda f: lambda w: torch.func.vjp(f, w)):
        with pytest.raises(wgrad.RuntimeError, match=r"called under torch.func \(grad, vjp, jvp, vmap\)"):
            transform(loss)(case.weight[None] if transform is torch.func.vmap else case.weight)
