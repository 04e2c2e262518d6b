"""torch's grouped matmul with weight gradients by wgrad."""

from __future__ import annotations

import pytest
import torch

import wgrad
import wgrad.torch as layers
from layer_case import make

if not hasattr(torch.nn.functional, "grouped_mm"):
    pytest.skip("this torch has no grouped_mm to be patched", allow_module_level=True)

from torch.nn.functional import grouped_mm  # a name that was imported before the patch


def loss_of(weight, case, product=None):
    """As torchtitan and transformers call it."""
    x = case.x.clone().requires_grad_()
    y = (product or torch.nn.functional.grouped_mm)(x, weight, offs=case.offsets)
    y.backward(case.dy)
    return x


@pytest.fixture
def patch():
    with wgrad.patch_torch_grouped_mm() as patch:
        yield patch


@pytest.mark.parametrize("product", [torch.nn.functional.grouped_mm, grouped_mm, None])
def test_the_weight_gradient_comes_from_wgrad(patch, product, monkeypatch):
    calls = []
    inner = layers._linear.compute

    def spy(*arguments):
        calls.append(arguments)
        return inner(*arguments)

    monkeypatch.setattr("wgrad.torch._linear.compute", spy)
    case = make()
    for weight in (case.weight.clone().requires_grad_(),
                   case.weight.transpose(1, 2).contiguous().requires_grad_()):
        view = weight if weight.shape == case.weight.shape else weight.transpose(-2, -1)
        x = loss_of(view, case, product or torch._grouped_mm)
        case.same(x.grad, case.input_gradient())
        got = weight.grad if view is weight else weight.grad.transpose(1, 2)
        assert torch.equal(got.double(), case.weight_gradient())
    assert len(calls) == 2
    assert patch.taken == {"tokens by weights, whose gradient is to come": 2} and not patch.left


def test_an_expanded_gradient_works_which_torch_refuses(patch):
    case = make()
    weight = case.weight.clone().requires_grad_()
    torch.nn.functional.grouped_mm(case.x, weight, offs=case.offsets).sum().backward()
    case.dy = torch.ones_like(case.dy)
    assert torch.equal(weight.grad.double(), case.weight_gradient())


def test_a_weight_gradient_that_a_model_computes_itself(patch):
    case = make()
    with torch.no_grad():
        got = torch._grouped_mm(case.x.t(), case.dy, offs=case.offsets)
        wide = torch._grouped_mm(case.x.t(), case.dy, offs=case.offsets, out_dtype=torch.float32)
    for result, dtype in ((got, torch.bfloat16), (wide, torch.float32)):
        assert result.dtype == dtype and torch.equal(result.double(), case.weight_gradient())
    assert patch.taken == {"a weight gradient itself, two 2-D operands": 2}


def test_main_grad_is_honoured(patch):
    case = make()
    parameter = torch.nn.Parameter(case.weight.transpose(1, 2).contiguous())
    parameter.main_grad = torch.zeros(parameter.shape)
    loss_of(parameter.transpose(-2, -1), case)
    assert parameter.grad is None
    assert torch.equal(parameter.main_grad.transpose(1, 2).double(), case.weight_gradient())


def test_what_it_leaves_to_torch_is_counted_by_reason(patch):
    case = make()
    weight = case.weight.clone().requires_grad_()
    mm = torch.nn.functional.grouped_mm
    with torch.no_grad():
        mm(case.x, weight, offs=case.offsets)
    mm(case.x.float(), weight.float(), offs=case.offsets)
    mm(case.weight, torch.ones(3, 32, 16, dtype=torch.bfloat16))
    rows = case.x.new_ones(16, 8, requires_grad=True)
    mm(rows, case.x.new_ones(8, 24), offs=torch.tensor([8], dtype=torch.int32))
    mm(case.weight, case.x.new_ones(32, 24), offs=torch.tensor([8, 16, 24], dtype=torch.int32))
    assert patch.left == {
        "no gradient of the weight is recorded": 1,
        "the dtypes are not bfloat16 or float16": 1,
        "an operand or the offsets are no plain tensor": 1,
        "gradients of two 2-D operands are recorded": 1,
        "the operands are neither 2-D by 3-D nor 2-D by 2-D": 1,
    }
    assert not patch.taken and "left 1 times: the dtypes are not" in str(patch)


def test_torch_func_is_left_to_torch(patch):
    case = make()
    loss = lambda w: (torch._grouped_mm(case.x, w, offs=case.offsets).float() * case.dy.float()).sum()
    got = torch.func.grad(loss)(case.weight)
    assert torch.equal(got.double(), case.weight_gradient())
    assert patch.left == {"torch.func transforms the call": 1}


def test_torchs_own_errors_stay_torchs(patch):
    case = make()
    with pytest.raises(RuntimeError) as ours:
        torch._grouped_mm(case.x, case.weight.requires_grad_()[:2], offs=case.offsets)
    assert "wgrad" not in str(ours.value)


def test_it_can_be_undone():
    own = torch._grouped_mm
    assert "not called" in str(layers.GroupedMmPatch())
    patch = wgrad.patch_torch_grouped_mm()
    assert torch._grouped_mm is not own
    with pytest.raises(ValueError, match="patch_torch_grouped_mm is called twice"):
        wgrad.patch_torch_grouped_mm()
    patch.undo()
    patch.undo()
    assert torch._grouped_mm is own
    with pytest.raises(ZeroDivisionError), wgrad.patch_torch_grouped_mm():
        raise ZeroDivisionError
    assert torch._grouped_mm is own
