"""Weight gradients kept for later. Side streams are a GPU's: tests/gpu/test_layer.py."""

from __future__ import annotations

import pytest
import torch

import wgrad.torch as layers
from layer_case import NAN, make
from test_grouped_linear import LAYOUTS, gradient, layer_of
from test_main_grad import give_main_grads, main_grad


@pytest.mark.parametrize("layout", LAYOUTS)
def test_backward_computes_the_input_gradient_and_backward_dw_the_rest(layout):
    case = make()
    layer = layer_of(case, delay=True, **LAYOUTS[layout])
    x = case.run(layer)
    case.same(x.grad, case.input_gradient())
    assert all(weight.grad is None for weight in layer.weights()) and len(layer.delayed) == 1
    assert layer.backward_dw() == 1 and layer.backward_dw() == 0
    assert torch.equal(gradient(layer).double(), case.weight_gradient())
    assert all(p.grad.shape == p.shape and p.grad.is_contiguous() for p in layer.weights())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_that_are_there_are_added_to(layout):
    layer = layer_of(make(), delay=True, **LAYOUTS[layout])
    want = 0
    for seed in (0, 10, 20):
        case = make(seed=seed)
        case.weight = make().weight
        case.run(layer)
        want = want + case.weight_gradient()
    layer.weights()[0].grad = torch.zeros_like(layer.weights()[0])  # one is there, others are not
    assert layer.backward_dw() == 3
    assert torch.equal(gradient(layer).double(), want)


def test_the_oldest_come_first_and_as_many_as_asked_for():
    layer = layer_of(make(), delay=True)
    give_main_grads(layer, fill=NAN)
    cases = [make(seed=seed) for seed in (0, 10)]
    for case, first in zip(cases, (True, False)):
        case.weight = make().weight
        case.run(layer, is_first_microbatch=first)
    assert main_grad(layer).isnan().all(), "nothing is written before it is time"
    assert layer.backward_dw(1) == 1
    assert torch.equal(main_grad(layer).double(), cases[0].weight_gradient())
    layer.backward_dw()
    both = cases[0].weight_gradient() + cases[1].weight_gradient()
    assert torch.equal(main_grad(layer).double(), both)


def test_the_flag_and_the_hooks_come_with_the_gradient():
    case = make()
    layer = layer_of(case, delay=True)
    give_main_grads(layer, grad_added_to_main_grad=False)
    assert layer.weight.skip_backward_post_hook is True
    seen = []
    layer.register_wgrad_accumulation_and_reduce_hooks(
        lambda *_: seen.append(torch.equal(main_grad(layer).double(), case.weight_gradient()))
    )
    case.run(layer)
    assert layer.weight.grad_added_to_main_grad is False and not seen
    layer.backward_dw()
    assert layer.weight.grad_added_to_main_grad is True and seen == [True]
    layer.backward_dw()
    assert seen == [True], "nothing was computed, so no hook runs"


def test_hooks_of_an_accumulated_gradient_run_later():
    case = make()
    layer = layer_of(case, delay=True)
    seen = []
    layer.weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    case.run(layer)
    assert not seen
    layer.backward_dw()
    assert torch.equal(seen[0].double(), case.weight_gradient())


def test_one_queue_for_several_layers():
    queue = layers.DelayedGradients()
    torch.manual_seed(1)
    model = layers.GroupedMLP(3, 16, 24, dtype=torch.bfloat16, delay=queue)
    judge = layers.GroupedMLP(3, 16, 24, dtype=torch.bfloat16)
    judge.load_state_dict(model.state_dict())
    case = make()
    dy = case.dy[:, :16].contiguous()
    for module in (model, judge):
        module(case.x, case.offsets).backward(dy)
    assert len(queue) == 2 and queue.backward_dw() == 2 and len(queue) == 0
    queue.wait()
    for p, q in zip(model.parameters(), judge.parameters()):
        assert torch.equal(p.grad, q.grad)


def test_the_operands_are_freed_once_used():
    case = make()
    layer = layer_of(case, delay=True)
    x = case.x.clone()
    layer(x, case.offsets).backward(case.dy)
    layer.backward_dw()
    x.fill_(NAN)
    assert torch.equal(gradient(layer).double(), case.weight_gradient())
    assert len(layer.delayed) == 0


def test_a_weight_that_is_no_parameter_cannot_wait():
    case = make()
    weight = case.weight.clone().requires_grad_() * 1
    with pytest.raises(RuntimeError, match="delay is given and weight is computed from parameters"):
        layers.grouped_linear(case.x, weight, case.offsets, delay=layers.DelayedGradients())


@pytest.mark.parametrize("there", [False, True], ids=["new grad", "grad that is there"])
def test_views_of_a_parameter_can_wait(there):
    """A square transpose, one flat parameter reshaped, and a leaf that is stored turned."""
    case = make(n=16)
    turned = torch.nn.Parameter(case.weight.transpose(1, 2).contiguous())
    flat = torch.nn.Parameter(case.weight.reshape(-1))
    leaf = case.weight.transpose(1, 2).contiguous().transpose(1, 2).requires_grad_()
    views = {"turned": (turned, lambda p: p.transpose(1, 2)),
             "flat": (flat, lambda p: p.view(3, 16, 16)), "leaf": (leaf, lambda p: p)}
    for parameter, view in views.values():
        queue = layers.DelayedGradients()
        case.run(lambda x, o: layers.grouped_linear(x, view(parameter), o, delay=queue))
        if there:
            parameter.grad = torch.zeros_like(parameter)
        queue.backward_dw()
        assert parameter.grad.shape == parameter.shape
        assert torch.equal(view(parameter.grad).double(), case.weight_gradient())


def test_parameters_that_fsdp_holds_cannot_wait():
    """FSDP2 marks the modules whose parameters it gathers, and frees them after a backward pass."""
    layer = layer_of(make(), delay=True)
    layer._is_fsdp_managed_module = True
    with pytest.raises(RuntimeError, match="delay is given and FSDP holds the layer's parameters"):
        make().run(layer)
    weight = make().weight.clone().requires_grad_()
    queue = layers.DelayedGradients()
    make().run(lambda x, o: layers.grouped_linear(x, weight, o, delay=queue))
    weight.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match="the memory of a parameter was freed since the backward"):
        queue.backward_dw()
