"""Calls while torch records a graph, without torch.compile: F140, and the operators themselves."""

from __future__ import annotations

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.flop_counter import FlopCounterMode

import wgrad
import wgrad.torch as layers
from layer_case import make
from test_grouped_linear import layer_of

CASE, OTHER = make(), make(seed=30)
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.trace.*")


def fresh(x, dy, offsets):
    return wgrad.grouped_wgrad(x, dy, offsets, out_dtype=torch.float32) + 1


def added(x, dy, offsets, out):
    wgrad.grouped_wgrad(x, dy, offsets, out, accumulate=True)
    wgrad.grouped_wgrad(x, dy, offsets, out, accumulate=True)
    return out * 1


def operands(case):
    return case.x, case.dy, case.offsets


def traced(function, arguments, how):
    if how == "jit":
        return torch.jit.trace(function, arguments, check_trace=False)
    return make_fx(function, tracing_mode=how)(*arguments)


@pytest.mark.parametrize("how", ["jit", "real", "fake", "symbolic"])
def test_f140_a_trace_keeps_the_call_and_not_its_memory(how):
    graph = traced(fresh, operands(CASE), how)
    assert torch.equal(graph(*operands(OTHER)).double(), OTHER.weight_gradient() + 1)
    graph = traced(added, (*operands(CASE), torch.zeros(3, 16, 32)), how)
    out = torch.ones(3, 16, 32)
    result = graph(*operands(OTHER), out)
    assert torch.equal(out.double(), 2 * OTHER.weight_gradient() + 1)
    assert torch.equal(result, out)


def test_f140_a_trace_of_a_list_is_kept_or_refused():
    def each(x, dy, offsets, *outs):
        wgrad.grouped_wgrad(x, dy, offsets, list(outs))
        return outs[0] * 1

    def outs():
        return [torch.zeros(16, 32) for _ in range(3)]

    graph = traced(each, (*operands(CASE), *outs()), "real")
    got = outs()
    graph(*operands(OTHER), *got)
    assert torch.equal(torch.stack(got).double(), OTHER.weight_gradient())
    with pytest.raises(RuntimeError, match="out is a list of tensors and torch.jit.trace looks on"):
        traced(each, (*operands(CASE), *outs()), "jit")


@pytest.mark.parametrize(
    ("options", "name"),
    [({"backend": "cpu"}, "backend"), ({"mma_tiler_mn": (128, 128)}, "mma_tiler_mn"),
     ({"validate_device_data": True}, "validate_device_data")],
)
def test_what_no_operator_has_is_refused(options, name):
    with pytest.raises(RuntimeError, match=f"{name} is given and torch records a graph"):
        traced(lambda *of: wgrad.grouped_wgrad(*of, **options), operands(CASE), "real")


def test_functions_without_an_operator_are_refused():
    def class_call(x, dy, offsets):
        out = torch.zeros(3, 16, 32)
        operator = wgrad.GroupedGemmWgrad(x.t(), dy, None, None, offsets, out)
        operator.execute(x.t(), dy, None, None, offsets, out)

    functions = {
        "grouped_gemm_wgrad_wrapper_sm100":
            lambda x, dy, offsets: wgrad.grouped_gemm_wgrad_wrapper_sm100(x.t(), dy, None, None, offsets),
        r"execute\(\)": class_call,
        "wgrad_expert_ptrs": lambda x, dy, offsets: wgrad.wgrad_expert_ptrs(x[None]),
        "quantize": lambda x, dy, offsets: wgrad.quantize(x, offsets),
        "unswizzle_scales": lambda x, dy, offsets: wgrad.unswizzle_scales(x, 16, offsets, 32),
        "swizzle_scales": lambda x, dy, offsets: wgrad.swizzle_scales(x, offsets, 32),
    }
    for name, function in functions.items():
        with pytest.raises(RuntimeError, match=f"wgrad: {name} is called and torch records a graph"):
            traced(function, operands(CASE), "real")


def test_a_mode_that_only_looks_on_changes_nothing():
    with FlopCounterMode(display=False):
        assert torch.equal(fresh(*operands(CASE)).double(), CASE.weight_gradient() + 1)
        case = make()
        layer = layer_of(case)
        case.run(layer)
    assert torch.equal(layer.weight.grad.double(), case.weight_gradient())


def scaled():
    ends = torch.tensor([32, 32, 64], dtype=torch.int32)
    x, dy = torch.randn(64, 32), torch.randn(64, 64)
    return ends, wgrad.quantize(x, ends), wgrad.quantize(dy, ends)


def test_f140_block_scaled_operands_in_a_trace():
    ends, x, dy = scaled()
    want = wgrad.grouped_wgrad(x, dy, ends)

    def call(a, b, sfa, sfb, offsets, out):
        wgrad.grouped_wgrad(a, b, offsets, out, x_scale=sfa, dy_scale=sfb)
        return wgrad.grouped_wgrad(a, b, offsets, x_scale=sfa, dy_scale=sfb)

    arguments = (x.elements, dy.elements, x.scales, dy.scales, ends)
    graph = traced(call, (*arguments, torch.zeros_like(want)), "real")
    out = torch.zeros_like(want)
    assert torch.equal(graph(*arguments, out), want) and torch.equal(out, want)


def test_every_operator_passes_opcheck():
    ops = torch.ops.wgrad
    x, dy, offsets = operands(CASE)
    checked = [
        (ops.grouped_matmul, (x, CASE.weight, offsets)),
        (ops.grouped_wgrad, (x, dy, offsets)),
        (ops._grouped_wgrad_out, (x, dy, offsets, torch.zeros(3, 16, 32), True)),
        (ops.expert_wgrad, (x, dy, offsets, torch.float32)),
        (ops.expert_wgrad_out, (x, dy, offsets, torch.zeros(3, 16, 32), True)),
        (ops.grouped_linear, (x, CASE.weight, offsets)),
        (ops.grouped_linear, (
            x.clone().requires_grad_(), CASE.weight.clone().requires_grad_(), offsets,
            torch.zeros(3, 32, dtype=torch.bfloat16, requires_grad=True))),
    ]
    for operator, arguments in checked:
        torch.library.opcheck(operator.default, arguments)


@pytest.mark.skipif(
    torch.__version__.startswith("2.4."), reason="torch 2.4 compiles no operator that writes to lists"
)
def test_the_operator_of_separate_outputs_passes_opcheck():
    outs = [torch.zeros(16, 32) for _ in range(3)]
    torch.library.opcheck(torch.ops.wgrad.expert_wgrad_outs.default, (*operands(CASE), outs, True))


def test_block_scaled_operators_pass_opcheck():
    """All but test_schema, which multiplies every tensor: torch has no product of float8."""
    ends, a, b = scaled()
    arguments = (a.elements, b.elements, ends, a.scales, b.scales)
    tests = ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    ops = torch.ops.wgrad
    torch.library.opcheck(
        ops.block_scaled_wgrad.default, (*arguments, torch.float32), test_utils=tests
    )
    out = torch.zeros(3, 32, 64)
    torch.library.opcheck(ops.block_scaled_wgrad_out.default, (*arguments, out), test_utils=tests)


@pytest.mark.parametrize("name", ["grouped_wgrad", "expert_wgrad"])
def test_a_gradient_operator_has_no_gradient_of_its_own(name):
    x, dy, offsets = operands(CASE)
    extra = (torch.float32,) if name == "expert_wgrad" else ()
    result = getattr(torch.ops.wgrad, name)(x.clone().requires_grad_(), dy, offsets, *extra)
    with pytest.raises(RuntimeError, match="the result of a gradient operator is differentiated"):
        result.sum().backward()


def test_the_operator_of_a_layer_has_its_gradients():
    case = make()
    weight = case.weight.clone().requires_grad_()
    bias = torch.zeros(3, 32, dtype=torch.bfloat16, requires_grad=True)
    x = case.run(lambda x, offsets: torch.ops.wgrad.grouped_linear(x, weight, offsets, bias))
    case.same(x.grad, case.input_gradient())
    assert torch.equal(weight.grad.double(), case.weight_gradient())
    assert torch.equal(bias.grad.double(), case.bias_gradient())


def test_fake_kernels_need_no_value():
    """Neither the offsets' nor T's, which may come out of a tensor."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        tokens = mode.shape_env.create_unbacked_symint()
        x = torch.empty(tokens, 16, dtype=torch.bfloat16)
        weight, offsets = torch.empty(3, 16, 32, dtype=torch.bfloat16), torch.empty(3, dtype=torch.int32)
        y = layers.grouped_linear(x, weight, offsets)
        gradient = torch.ops.wgrad.expert_wgrad(x, y, offsets, torch.float32)
        torch.ops.wgrad.expert_wgrad_out(x, y, offsets, gradient)
        assert y.shape == (tokens, 32) and gradient.shape == weight.shape
