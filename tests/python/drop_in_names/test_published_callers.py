"""Calls as public trainers make them: TransformerEngine's fused experts, torchao's MXFP8 experts,
Megatron's BF16 experts. The same arguments, names and layouts; on a CPU the stream is None."""

from __future__ import annotations

import numpy as np
import pytest

import frameworks
import operands
import reference
import wgrad.compat.cudnn as cudnn

pytestmark = pytest.mark.torch
OUT, IN = 256, 128  # both multiples of 128, as those callers need
COUNTS = [256, 0, 512]


def kernel(**arguments):
    assert cudnn.grouped_gemm_wgrad_wrapper_sm100.supports_canonical_layouts
    return cudnn.grouped_gemm_wgrad_wrapper_sm100(**arguments)


def mxfp8(slack=0):
    """dy (T, OUT) and x (T, IN), quantised along tokens, token-major, beside the expected result."""
    framework, rng = frameworks.Torch(), np.random.default_rng(3)
    ends = reference.offsets(COUNTS)
    dy, x = (
        operands.block_scaled(framework, rng, ends, rows, "mxfp8", major="mn", slack=slack)
        for rows in (OUT, IN)
    )
    return dy, x, framework.tensor(ends, "int32"), reference.product(dy.values, x.values, ends)


def transformer_engine(dy, x, offsets, accumulate, dense, outputs):
    """The keyword arguments of its weight gradient, from flat column-wise data and scales."""
    import torch

    tokens = dy.tokens.shape[0]
    data = [side.tokens.contiguous().view(torch.uint8).reshape(-1) for side in (dy, x)]
    scales = [side.scales.view(torch.uint8).reshape(-1) for side in (dy, x)]
    common = {
        "a_tensor": data[0].view(dtype=torch.float8_e4m3fn).view(tokens, OUT).T,
        "b_tensor": data[1].view(dtype=torch.float8_e4m3fn).view(tokens, IN),
        "sfa_tensor": scales[0].view(OUT, -1).view(dtype=torch.float8_e8m0fnu),
        "sfb_tensor": scales[1].view(IN, -1).view(dtype=torch.float8_e8m0fnu),
        "offsets_tensor": offsets,
        "acc_dtype": torch.float32,
        "sf_vec_size": 32,
        "accumulate_on_output": accumulate,
        "current_stream": None,
    }
    return common | written_into(dense, outputs)


def written_into(dense, outputs):
    import torch

    if dense:
        return {"output_mode": "dense", "wgrad_tensor": outputs, "wgrad_dtype": outputs.dtype}
    table = torch.tensor([out.data_ptr() for out in outputs], dtype=torch.int64)
    return {"output_mode": "discrete", "wgrad_ptrs": table, "wgrad_dtype": outputs[0].dtype}


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("dense", [True, False])
def test_transformer_engine_mxfp8(dense, accumulate):
    import torch

    dy, x, offsets, expected = mxfp8()
    fill = 1.0 if accumulate else float("nan")
    if dense:
        outputs = torch.full((3, OUT, IN), fill)
    else:
        outputs = [torch.full((OUT, IN), fill) for _ in COUNTS]
    kernel(**transformer_engine(dy, x, offsets, accumulate, dense, outputs))
    got = outputs if dense else torch.stack(outputs)
    np.testing.assert_array_equal(got.numpy(), (expected + accumulate).astype(np.float32))


@pytest.mark.parametrize("format", ["mxfp8", "nvfp4"])
def test_transformer_engine_without_a_token(format):
    """It hands over tensors of no token with strides of its own, and zeros as global scales."""
    import torch

    data, scale, vec, extra = torch.float8_e4m3fn, torch.float8_e8m0fnu, 32, {}
    if format == "nvfp4":
        data, scale, vec = torch.float4_e2m1fn_x2, torch.float8_e4m3fn, 16
        zeros = torch.zeros(3)
        extra = {"global_scale_a": zeros, "global_scale_b": zeros.clone(), "input_order": "tensor_ragged"}
    out = torch.full((3, OUT, IN), float("nan"))
    kernel(
        a_tensor=torch.empty_strided((OUT, 0), (16, 1), dtype=data),
        b_tensor=torch.empty_strided((0, IN), (IN, 1), dtype=data),
        sfa_tensor=torch.empty_strided((OUT, 0), (16, 1), dtype=scale),
        sfb_tensor=torch.empty_strided((IN, 0), (16, 1), dtype=scale),
        offsets_tensor=torch.zeros(3, dtype=torch.int32), acc_dtype=torch.float32,
        sf_vec_size=vec, accumulate_on_output=False, current_stream=None, **extra,
        **written_into(True, out),
    )
    assert not out.any()


def test_transformer_engine_nvfp4():
    """Packed along each expert's tokens, expert after expert; (E,) global scales."""
    import torch

    framework, rng = frameworks.Torch(), np.random.default_rng(4)
    ends = reference.offsets(COUNTS)
    dy, x = (
        operands.block_scaled(framework, rng, ends, rows, "nvfp4", ragged=True)
        for rows in (OUT, IN)
    )
    packed = int(ends[-1]) // 2
    flat = [side.tokens.T.contiguous().view(torch.uint8).reshape(-1) for side in (dy, x)]
    out = torch.full((3, OUT, IN), float("nan"))
    kernel(
        a_tensor=flat[0].view(dtype=torch.float4_e2m1fn_x2).view(OUT, packed),
        b_tensor=flat[1].view(dtype=torch.float4_e2m1fn_x2).view(IN, packed).T,
        sfa_tensor=dy.scales.view(torch.uint8).reshape(OUT, -1).view(torch.float8_e4m3fn),
        sfb_tensor=x.scales.view(torch.uint8).reshape(IN, -1).view(torch.float8_e4m3fn),
        offsets_tensor=framework.tensor(ends, "int32"), acc_dtype=torch.float32, sf_vec_size=16,
        accumulate_on_output=False, current_stream=None, input_order="tensor_ragged",
        global_scale_a=dy.global_scale, global_scale_b=x.global_scale, **written_into(True, out),
    )
    expected = reference.product(dy.values, x.values, ends)
    np.testing.assert_array_equal(out.numpy(), expected.astype(np.float32))


@pytest.mark.parametrize("major", ["token", "feature"])
def test_torchao_mxfp8(major):
    """Either major, flat scales of each group, dead scale bytes for rows past the last offset."""
    import torch

    dy, x, offsets, expected = mxfp8(slack=256)
    rows = dy.tokens.shape[0]

    def operand(side):
        memory = side.tokens.contiguous()
        return memory if major == "token" else memory.t().contiguous().t()

    def scales(side, features):
        flat = side.scales.view(torch.uint8).reshape(-1)
        dead = torch.full((features * rows // 32 - flat.numel(),), 0xFF, dtype=torch.uint8)
        return torch.cat([flat, dead]).view(torch.float8_e8m0fnu).view(features, -1)

    dw = torch.full((3, OUT, IN), float("nan"), dtype=torch.bfloat16)
    kernel(
        a_tensor=operand(dy).t(), b_tensor=operand(x), sfa_tensor=scales(dy, OUT),
        sfb_tensor=scales(x, IN), offsets_tensor=offsets, acc_dtype=torch.float32, sf_vec_size=32,
        accumulate_on_output=False, output_mode="dense", wgrad_tensor=dw,
        wgrad_dtype=torch.bfloat16, current_stream=None,
    )
    want = torch.from_numpy(expected).to(torch.bfloat16)
    assert torch.equal(dw, want)


def test_expert_parallel_operands_with_a_given_tile():
    """Another caller's: BF16 result, a tile and a cluster of its own choice, by name."""
    import torch

    dy, x, offsets, expected = mxfp8()
    result = kernel(
        a_tensor=dy.tokens.t(), b_tensor=x.tokens, sfa_tensor=dy.scales, sfb_tensor=x.scales,
        offsets_tensor=offsets, output_mode="dense", wgrad_tensor=None, wgrad_dtype=torch.bfloat16,
        acc_dtype=torch.float32, mma_tiler_mn=(128, 128), cluster_shape_mn=(1, 1), sf_vec_size=32,
        accumulate_on_output=False, input_order="tensor2d", current_stream=None,
    )["wgrad_tensor"]
    assert torch.equal(result, torch.from_numpy(expected).to(torch.bfloat16))


def test_megatrons_bf16_experts():
    """One flat parameter for all experts, viewed for each product, with main_grad and the hook of
    its data-parallel wrapper."""
    import torch

    import wgrad.torch as layers

    experts, hidden, inner = 3, 16, 24
    generator = torch.Generator().manual_seed(0)

    def integers(*shape):
        return torch.randint(-2, 3, shape, generator=generator).bfloat16()

    weight1 = torch.nn.Parameter(integers(hidden, inner * experts))
    weight1.main_grad = torch.zeros(weight1.shape)
    weight1.grad_added_to_main_grad = False
    reduced = []

    def hook(parameter):
        assert parameter.grad is not None
        if not parameter.grad_added_to_main_grad or getattr(parameter, "zero_out_wgrad", False):
            parameter.main_grad.add_(parameter.grad)
        parameter.grad = None
        reduced.append(parameter)

    weight1.register_post_accumulate_grad_hook(hook)
    want = torch.zeros(experts, hidden, inner, dtype=torch.float64)
    for counts in ([4, 0, 5], [0, 9, 1]):
        tokens_per_expert = torch.tensor(counts)
        x, dy = integers(sum(counts), hidden), integers(sum(counts), inner)
        w1 = weight1.view(experts, hidden, -1)
        offsets = tokens_per_expert.cumsum(0, dtype=torch.int32)
        layers.grouped_linear(x, w1, offsets).backward(dy)
        for e, (end, k) in enumerate(zip(offsets.tolist(), counts)):
            want[e] += x[end - k : end].double().T @ dy[end - k : end].double()
    assert torch.equal(weight1.main_grad.view(experts, hidden, inner).double(), want)
    assert len(reduced) == 2 and weight1.grad_added_to_main_grad is True
