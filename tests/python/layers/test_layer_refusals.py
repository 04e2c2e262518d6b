"""Bad input of the layers: refused by name before anything is computed."""

from __future__ import annotations

import pytest
import torch

import wgrad
import wgrad.torch as layers
from layer_case import make

CASE = make()
META = "meta"


def other(**change):
    """The call's arguments with some changed."""
    return {"x": CASE.x, "weight": CASE.weight, "offsets": CASE.offsets, **change}


def with_main_grad(buffer):
    weight = CASE.weight.clone().requires_grad_()
    weight.main_grad = buffer
    return other(weight=weight)


def view_with_main_grad():
    parameter = torch.nn.Parameter(torch.zeros(6, 16, 32, dtype=torch.bfloat16))
    parameter.main_grad = torch.zeros(6, 16, 32)
    return other(weight=parameter[::2])


ends = torch.tensor
REFUSED = {
    "offsets on another device": (
        other(offsets=CASE.offsets.to(META)), "offsets is on meta; it must be on cpu, as x is"),
    "F082 a leading zero": (
        other(offsets=ends([0, 4, 4, 9], dtype=torch.int32)),
        r"offsets is of shape \(4,\); it must be \(3,\), one end an expert, without a leading zero"),
    "too few offsets": (
        other(offsets=CASE.offsets[:2]), r"offsets is of shape \(2,\); it must be \(3,\)"),
    "int64 offsets": (
        other(offsets=CASE.offsets.long()), "offsets is torch.int64; it must be int32"),
    "strided offsets": (
        other(offsets=ends([4, 0, 4, 0, 9, 0], dtype=torch.int32)[::2]),
        "offsets is strided; it must be contiguous"),
    "offsets that are a list": (
        other(offsets=[4, 4, 9]), "offsets is a list; it must be a torch tensor"),
    "a weight of another dtype": (
        other(weight=CASE.weight.half()), "weight is torch.float16; it must be torch.bfloat16"),
    "a float32 weight": (
        other(weight=CASE.weight.float()), "weight is torch.float32; .* torch.autocast"),
    "a weight elsewhere": (other(weight=CASE.weight.to(META)), "weight is on meta"),
    "a flat weight": (other(weight=CASE.weight[0]), r"weight is of shape \(16, 32\); .* 3-D"),
    "no weight": (other(weight=[]), "weight is an empty list"),
    "weights that differ": (
        other(weight=[CASE.weight[0], CASE.weight[1][:, :16], CASE.weight[2]]),
        r"weight is \(16, 16\) torch.bfloat16; it must be \(16, 32\) torch.bfloat16, as the first"),
    "no expert": (
        other(weight=CASE.weight[:0], offsets=CASE.offsets[:0]),
        r"weight is of shape \(0, 16, 32\); it must be of one expert or more"),
    "an odd width": (
        other(weight=torch.zeros(3, 16, 12, dtype=torch.bfloat16)), "multiples of 8"),
    "a strided weight": (
        other(weight=torch.zeros(3, 16, 64, dtype=torch.bfloat16)[:, :, ::2]), "weight is strided"),
    "x of another width": (other(x=CASE.dy), "x is 32 wide; it must be as wide as the weight"),
    "a float32 x": (
        other(x=CASE.x.float()), "x is torch.float32; it must be bfloat16 or float16"),
    "x in three dimensions": (other(x=CASE.x[None]), r"x is of shape \(1, 9, 16\); .* 2-D"),
    "a numpy x": (other(x=CASE.x.float().numpy()), "x is a ndarray; it must be a torch tensor"),
    "main_grad of another shape": (
        with_main_grad(torch.zeros(3, 32, 16)),
        r"main_grad is of shape \(3, 32, 16\); it must be of the weight's shape, \(3, 16, 32\)"),
    "main_grad of another dtype": (
        with_main_grad(torch.zeros(3, 16, 32, dtype=torch.float64)),
        "main_grad is torch.float64; it must be float32, bfloat16 or float16"),
    "main_grad elsewhere": (
        with_main_grad(torch.zeros(3, 16, 32, device=META)), "main_grad is on meta"),
    "main_grad whose rows share memory": (
        with_main_grad(torch.zeros(1, 16, 32).expand(3, 16, 32)),
        r"main_grad is strided by \(0, 32, 1\); it must be of contiguous rows that lie apart"),
    "main_grad of every second column": (
        with_main_grad(torch.zeros(3, 16, 64)[:, :, ::2]), "main_grad is strided by"),
    "main_grad at an odd place": (
        with_main_grad(torch.zeros(3, 16, 36)[:, :, 1:33]),
        "main_grad is strided by .* from byte 4 on; it must be of rows that begin at multiples of 16"),
    "main_grads that lie differently": (
        other(weight=list(CASE.weight.clone().requires_grad_().unbind(0)),
              main_grad=[torch.zeros(16, 32)] * 2 + [torch.zeros(32, 16).t()]),
        "main_grad is in part transposed; it must be of one orientation for all weights"),
    "main_grad of a slice": (view_with_main_grad(), "weight is a view of a parameter"),
    "a bias of another shape": (
        other(bias=CASE.weight[0]), r"bias is of shape \(16, 32\); it must be of shape \(3, 32\)"),
    "a bias of integers": (
        other(bias=torch.zeros(3, 32, dtype=torch.int32)), "bias is torch.int32"),
    "a bias that is no tensor": (other(bias=True), "bias is True; it must be a tensor"),
    "a matmul that is none": (other(matmul=3), "matmul is 3; it must be a function"),
    "a delay that is no queue": (other(delay=True), "delay is True; it must be a DelayedGradients"),
    "owners of other weights": (other(owners=[CASE.weight] * 2), "owners is 2 tensors; it must be 1"),
    "a first micro-batch in words": (
        other(is_first_microbatch="yes"), "is_first_microbatch is 'yes'; it must be True, False or None"),
    "a limit on a CPU": (other(sm_limit=4), "sm_limit is 4; it must be None: x is on a CPU"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_by_name(what):
    arguments, text = REFUSED[what]

    def matmul(*_):
        raise AssertionError("computed before the refusal")

    if not {"bias", "matmul"} & arguments.keys():
        arguments = {**arguments, "matmul": matmul}
    with pytest.raises(wgrad.ValueError, match=text):
        layers.grouped_linear(**arguments)


def test_main_grads_of_some_weights_only():
    weights = [part.clone().requires_grad_() for part in CASE.weight]
    weights[1].main_grad = torch.zeros(16, 32)
    with pytest.raises(ValueError, match="main_grad is of 1 weights; it must be of all 3"):
        layers.grouped_linear(CASE.x, weights, CASE.offsets)
    with pytest.raises(ValueError, match="main_grad is 2 tensors; it must be 3"):
        layers.grouped_linear(CASE.x, weights, CASE.offsets, main_grad=[weights[1].main_grad] * 2)


def test_a_layer_of_nothing():
    for name, shape, need in (("num_experts", (0, 8, 8), "1 or more"),
                              ("num_experts", (2.5, 8, 8), "1 or more"),
                              ("in_features", (1, 0, 8), "a multiple of 8, 8 or more"),
                              ("out_features", (1, 8, -8), "a multiple of 8, 8 or more")):
        with pytest.raises(ValueError, match=f"{name} is {min(shape, key=float)}; it must be {need}"):
            layers.GroupedLinear(*shape)
    with pytest.raises(ValueError, match="out_features is 12; it must be a multiple of 8"):
        layers.GroupedLinear(1, 8, 12)
    with pytest.raises(ValueError, match="delay is 'later'; it must be True, False or"):
        layers.GroupedLinear(1, 8, 8, delay="later")


def test_f119_tensors_whose_memory_was_freed():
    for name in ("x", "weight", "offsets"):
        tensors = {"x": CASE.x, "weight": CASE.weight, "offsets": CASE.offsets}
        freed = tensors[name].clone()
        freed.untyped_storage().resize_(0)
        with pytest.raises(ValueError, match=f"{name} is without memory; it must be a tensor whose"):
            layers.grouped_linear(**{**tensors, name: freed})


def test_shapes_alone_are_inferred_on_the_meta_device():
    layer = layers.GroupedLinear(3, 16, 32, bias=True, device=META, dtype=torch.bfloat16)
    x = CASE.x.to(META).requires_grad_()
    y = layer(x, CASE.offsets.to(META))
    y.sum().backward()
    assert y.shape == (9, 32) and layer.weight.grad.is_meta and x.grad.shape == x.shape
