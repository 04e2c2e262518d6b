"""Faults that users of neighbouring libraries reported, each a small input with the right answer.

Named after the rows of docs/design/field-faults.md; the rows that show in Python on a CPU.
"""

from __future__ import annotations

import dataclasses
import threading

import ml_dtypes
import numpy as np
import pytest

import wgrad

import frameworks
import operands
import package
import reference


def integers(framework, counts, m, n, slack=0, **kind):
    rng = np.random.default_rng(0)
    ends = reference.offsets(counts)
    x = operands.sixteen_bit(framework, rng, ends, m, slack=slack, **kind)
    dy = operands.sixteen_bit(framework, rng, ends, n, slack=slack, **kind)
    expected = reference.product(np.nan_to_num(x.values), np.nan_to_num(dy.values), ends)
    return x.tokens, dy.tokens, framework.tensor(ends, "int32"), expected


@pytest.mark.parametrize("counts", [[64, 0, 64], [0, 0, 128], [128, 0, 0], [0, 0, 0]])
def test_f006_f009_empty_experts_become_zeros(framework, counts):
    x, dy, offsets, expected = integers(framework, counts, 16, 24)
    out = framework.full((3, 16, 24), np.nan, "bfloat16")
    wgrad.grouped_wgrad(x, dy, offsets, out)
    np.testing.assert_array_equal(
        framework.to_numpy(out), reference.round_to(expected, np.dtype(ml_dtypes.bfloat16))
    )
    for e, count in enumerate(counts):
        assert count > 0 or not framework.raw(out[e]).any()


def test_f008_accumulate_leaves_an_empty_expert_bit_identical(framework):
    x, dy, offsets, _ = integers(framework, [32, 0, 32], 16, 24)
    out = framework.full((3, 16, 24), 7.0, "float32")
    out[1, 0, 0] = -0.0
    before = framework.raw(out[1]).copy()
    wgrad.grouped_wgrad(x, dy, offsets, out, accumulate=True)
    np.testing.assert_array_equal(framework.raw(out[1]), before)


def test_f011_any_stride_of_an_empty_token_axis():
    for strides in ((2, 2), (1, 1), (64, 34), (0, 0)):
        x = np.lib.stride_tricks.as_strided(np.zeros(64, ml_dtypes.bfloat16), (0, 224), strides)
        out = wgrad.grouped_wgrad(x, np.zeros((0, 32), ml_dtypes.bfloat16), np.zeros(2, np.int32))
        assert out.shape == (2, 224, 32) and not out.astype(np.float32).any()


def test_f017_null_data_with_no_tokens(torch_device):
    import torch

    of = {"dtype": torch.bfloat16, "device": torch_device}
    x, dy = torch.empty((0, 16), **of), torch.empty((0, 24), **of)
    assert x.data_ptr() == 0
    out = [torch.full((16, 24), float("nan"), device=torch_device) for _ in range(2)]
    wgrad.grouped_wgrad(x, dy, torch.zeros(2, dtype=torch.int32, device=torch_device), out)
    assert all((w == 0).all() for w in out)


@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_f018_f020_rows_past_the_last_offset_are_never_read(framework, poison):
    x, dy, offsets, expected = integers(framework, [25, 0, 12], 16, 24, slack=11)
    x[37:], dy[37:] = poison, poison
    for _ in range(2):
        out = framework.full((3, 16, 24), np.nan, "float32")
        wgrad.grouped_wgrad(x, dy, offsets, out)
        np.testing.assert_array_equal(framework.to_numpy(out), expected)


@pytest.mark.parametrize("counts", [[44, 16, 5], [13], [5, 8], [1, 1, 1, 1]])
def test_f034_f040_any_count_of_token_major_rows(framework, counts):
    x, dy, offsets, expected = integers(framework, counts, 16, 24)
    out = wgrad.grouped_wgrad(x, dy, offsets, out_dtype="float32")
    np.testing.assert_array_equal(framework.to_numpy(out), expected)


@pytest.mark.torch
def test_f043_a_misaligned_storage_offset_is_refused_before_any_work():
    import torch

    x = torch.ones(1 + 24 * 16, dtype=torch.bfloat16)[1:].view(24, 16)
    out = torch.full((1, 16, 16), 7.0)
    with pytest.raises(ValueError, match="x is at address 0x.*; it must be aligned to 16 bytes"):
        wgrad.grouped_wgrad(x, torch.ones(24, 16).bfloat16(), np.array([24], np.int32), out)
    assert (out == 7).all()


def test_f072_the_gradient_has_the_layout_of_one_grouped_parameter(framework):
    """E 2, hidden 16, ffn 32, 4 tokens."""
    x, dy, offsets, expected = integers(framework, [3, 1], 16, 32)
    weight = framework.full((2, 16, 32), 0.0, "bfloat16")
    gradient = wgrad.grouped_wgrad(x, dy, offsets)
    assert tuple(gradient.shape) == tuple(weight.shape)
    np.testing.assert_array_equal(framework.to_numpy(gradient), expected)


def test_f073_accumulate_is_an_argument_of_each_call(framework):
    """32 micro-batches of ones: 32 times the sum; no state between calls."""
    x, dy = framework.full((8, 16), 1.0, "bfloat16"), framework.full((8, 24), 1.0, "bfloat16")
    offsets = framework.tensor(np.array([8]), "int32")
    main_grad = framework.full((1, 16, 24), np.nan, "float32")
    for step in range(32):
        wgrad.grouped_wgrad(x, dy, offsets, main_grad, accumulate=step > 0)
    assert (framework.to_numpy(main_grad) == 32 * 8).all()
    wgrad.grouped_wgrad(x, dy, offsets, main_grad)
    assert (framework.to_numpy(main_grad) == 8).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_f074_overwrite_never_reads_the_destination(framework, dtype):
    x, dy, offsets, _ = integers(framework, [9, 0, 4], 16, 24)
    main_grad = framework.full((3, 16, 24), np.nan, dtype)
    wgrad.grouped_wgrad(x, dy, offsets, main_grad, accumulate=False)
    assert np.isfinite(framework.to_numpy(main_grad)).all()


def test_f075_main_grad_and_its_flag_stay_the_parameters_own(torch_device):
    """The framework's hook finds main_grad itself, written once and without a copy; the flag and
    the dummy gradient are its autograd function's to give, and wgrad leaves both alone."""
    import torch

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, offsets):
            ctx.save_for_backward(x, offsets)
            ctx.weight = weight  # the original parameter: a saved copy would have no main_grad
            return x @ weight[0]

        @staticmethod
        def backward(ctx, dy):
            x, offsets = ctx.saved_tensors
            out = wgrad.grouped_wgrad(
                x, dy.contiguous(), offsets, ctx.weight.main_grad, accumulate=True
            )
            assert out is ctx.weight.main_grad
            ctx.weight.grad_added_to_main_grad = True
            return None, torch.zeros_like(ctx.weight), None

    of = {"dtype": torch.bfloat16, "device": torch_device}
    offsets = torch.tensor([8], dtype=torch.int32, device=torch_device)
    x = torch.ones(8, 16, **of)
    weight = torch.nn.Parameter(torch.ones(1, 16, 24, **of))
    weight.main_grad = torch.full((1, 16, 24), 0.5, device=torch_device)
    weight.grad_added_to_main_grad = False
    main_grad, address = weight.main_grad, weight.main_grad.data_ptr()
    seen = []
    weight.register_post_accumulate_grad_hook(
        lambda p: seen.append((p.grad_added_to_main_grad, p.main_grad is main_grad, p.grad.sum()))
    )
    for step in (1, 2):
        weight.grad_added_to_main_grad = False
        Linear.apply(x, weight, offsets).sum().backward()
        assert (weight.main_grad == 0.5 + 8 * step).all()
    assert seen == [(True, True, 0), (True, True, 0)]
    assert weight.main_grad.data_ptr() == address and not weight.main_grad.requires_grad
    assert sorted(vars(weight)) == ["grad_added_to_main_grad", "main_grad"]


def test_f076_two_threads_accumulate_one_after_the_other(framework):
    x, dy, offsets, expected = integers(framework, [16, 8], 16, 24)
    main_grad = framework.full((2, 16, 24), 0.0, "float32")
    for _ in range(2):
        thread = threading.Thread(
            target=wgrad.grouped_wgrad, args=(x, dy, offsets, main_grad, True)
        )
        thread.start()
        thread.join()
    np.testing.assert_array_equal(framework.to_numpy(main_grad), 2 * expected)


def test_f078_small_additions_reach_a_float32_gradient(framework):
    x = framework.full((1, 16), 1.0, "bfloat16")
    dy = framework.full((1, 16), 1.0, "bfloat16")
    offsets = framework.tensor(np.array([1]), "int32")
    main_grad = framework.full((1, 16, 16), 256.0, "float32")
    wgrad.grouped_wgrad(x, dy, offsets, main_grad, accumulate=True)
    assert (framework.to_numpy(main_grad) == 257).all()
    small = framework.full((1, 16), 2.0**-10, "bfloat16")
    for _ in range(1000):
        wgrad.grouped_wgrad(small, dy, offsets, main_grad, accumulate=True)
    assert (framework.to_numpy(main_grad) == 257 + 1000 * 2.0**-10).all()


def test_f080_accumulation_needs_no_compiler_and_no_driver():
    """A fresh container: an empty PATH and no CUDA folder."""
    program = """
        import numpy as np, wgrad
        x, out = np.ones((4, 8), np.float16), np.full((1, 8, 8), 256.0, np.float32)
        wgrad.grouped_wgrad(x, x, np.array([4], np.int32), out, accumulate=True)
        print(out[0, 0, 0])
        """
    result = package.run_python(program, environment={"PATH": "", "CUDA_HOME": ""})
    assert result.stdout.strip() == "260.0", result.stderr


def test_f080_a_missing_extension_names_the_one_thing_to_install(tmp_path):
    """The sources alone, as in a checkout that was never built."""
    for path in package.PACKAGE.glob("*.py"):
        (tmp_path / "wgrad").mkdir(exist_ok=True)
        (tmp_path / "wgrad" / path.name).write_text(path.read_text())
    result = package.run_python("import wgrad", environment={"PYTHONPATH": str(tmp_path)})
    assert result.returncode == 1
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: wgrad: its compiled part, wgrad._core, cannot be loaded (")
    assert last.endswith("install it with: pip install <the wgrad source folder>")


def test_f081_strided_gradients_of_a_chunked_output(torch_device):
    import torch

    torch.manual_seed(0)
    tokens, hidden, inner = 96, 32, 40
    x = torch.randint(-2, 3, (tokens, hidden)).bfloat16().to(torch_device)
    w13 = torch.randint(-2, 3, (hidden, 2 * inner)).bfloat16().to(torch_device).requires_grad_()
    gate, up = (x @ w13).chunk(2, -1)
    gradients = torch.autograd.grad((gate * up).float().sum(), [gate, up])
    both = torch.cat(gradients, -1)
    offsets = torch.tensor([40, 96], dtype=torch.int32, device=torch_device)
    for half in both.chunk(2, -1):
        assert not half.is_contiguous()
        out = wgrad.grouped_wgrad(x, half, offsets, out_dtype=torch.float32)
        for e, rows in enumerate((slice(0, 40), slice(40, 96))):
            assert torch.equal(out[e].double(), x[rows].double().T @ half[rows].double())


def test_f082_wrong_metadata_is_refused_by_name(framework):
    x, dy, _, _ = integers(framework, [8, 8, 8], 16, 24)
    out = framework.full((3, 16, 24), 0.0, "bfloat16")
    four = framework.tensor(np.array([0, 8, 16, 24]), "int32")
    with pytest.raises(ValueError, match=r"offsets is of shape \(4,\); it must be \(3,\), one end"):
        wgrad.grouped_wgrad(x, dy, four, out)
    wide = framework.tensor(np.array([8, 16, 24]), "int64")
    with pytest.raises(ValueError, match="offsets is int64; it must be int32"):
        wgrad.grouped_wgrad(x, dy, wide, out)


def test_f083_data_dependent_token_counts_under_torch_compile(torch_device):
    import torch

    import wgrad.torch_frontend

    @torch.compile(fullgraph=True, dynamic=True, backend="aot_eager")
    def step(x, dy, offsets):
        return torch.ops.wgrad.grouped_wgrad(x * 1, dy * 1, offsets)

    for tokens in (1000, 1, 0):
        x = torch.randint(-2, 3, (tokens, 16)).bfloat16().to(torch_device)
        dy = torch.randint(-2, 3, (tokens, 24)).bfloat16().to(torch_device)
        offsets = torch.tensor([tokens // 2, tokens], dtype=torch.int32, device=torch_device)
        expected = wgrad.grouped_wgrad(x, dy, offsets)
        assert torch.equal(step(x, dy, offsets), expected)


def test_f084_a_mutated_output_counts_twice_under_torch_compile(torch_device):
    import torch

    import wgrad.torch_frontend

    x = torch.randint(-2, 3, (24, 16)).bfloat16().to(torch_device)
    dy = torch.randint(-2, 3, (24, 24)).bfloat16().to(torch_device)
    offsets = torch.tensor([10, 24], dtype=torch.int32, device=torch_device)

    def step(out):
        torch.ops.wgrad.grouped_wgrad_out(x, dy, offsets, out, True)
        torch.ops.wgrad.grouped_wgrad_out(x, dy, offsets, out, True)
        return out + 0

    eager, compiled = (torch.ones(2, 16, 24, device=torch_device) for _ in range(2))
    expected = step(eager)
    got = torch.compile(step, fullgraph=True, backend="aot_eager")(compiled)
    once = wgrad.grouped_wgrad(x, dy, offsets, out_dtype="float32")
    assert torch.equal(expected, 1 + 2 * once)
    assert torch.equal(got, expected) and torch.equal(compiled, eager)


@pytest.mark.parametrize("api", ["natural", "wrapper", "class", "operator"])
@pytest.mark.parametrize("which", ["x", "dy", "out"])
def test_f086_f087_never_detaches_silently(torch_device, api, which):
    import torch

    import wgrad.torch_frontend

    tensors = {
        "x": torch.ones(8, 16, dtype=torch.bfloat16, device=torch_device),
        "dy": torch.ones(8, 24, dtype=torch.bfloat16, device=torch_device),
        "out": torch.zeros(1, 16, 24, device=torch_device),
    }
    tensors[which].requires_grad_()
    x, dy, out = tensors.values()
    offsets = torch.tensor([8], dtype=torch.int32, device=torch_device)
    names = {"x": "a_tensor", "dy": "b_tensor", "out": "wgrad_tensor"}

    def call():
        if api == "natural":
            wgrad.grouped_wgrad(x, dy, offsets, out)
        elif api == "operator":
            torch.ops.wgrad.grouped_wgrad_out(x, dy, offsets, out)
        elif api == "wrapper":
            wgrad.grouped_gemm_wgrad_wrapper_sm100(x.T, dy, None, None, offsets, wgrad_tensor=out)
        else:
            operator = wgrad.GroupedGemmWgrad(x.T, dy, None, None, offsets, out)
            operator(x.T, dy, None, None, offsets, out)

    name = which if api in ("natural", "operator") else names[which]
    with pytest.raises(ValueError, match=f"{name} is a tensor that requires grad; it must be"):
        call()
    with torch.no_grad():
        call()
    assert (out == 8).all()


@pytest.mark.parametrize("output", ["stacked", "list", "operator"])
def test_f087_a_written_output_is_known_to_autograd(torch_device, output):
    """A backward pass that kept the old values must not use the new ones."""
    import torch

    import wgrad.torch_frontend

    x = torch.ones(8, 16, dtype=torch.bfloat16, device=torch_device)
    offsets = torch.tensor([3, 8], dtype=torch.int32, device=torch_device)
    saved = torch.ones(2, 16, 16, device=torch_device)
    loss = (torch.ones_like(saved, requires_grad=True) * saved).sum()
    if output == "stacked":
        wgrad.grouped_wgrad(x, x, offsets, saved)
    elif output == "operator":
        torch.ops.wgrad.grouped_wgrad_out(x, x, offsets, saved)
    else:
        wgrad.grouped_wgrad(x, x, offsets, list(saved.unbind()))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_f087_a_list_beside_a_stacked_output_is_known_to_autograd(torch_device):
    """The results go to the list; the stacked tensor is only looked at."""
    import torch

    x = torch.ones(16, 16, dtype=torch.bfloat16, device=torch_device)
    offsets = torch.tensor([8, 16], dtype=torch.int32, device=torch_device)
    stacked = torch.ones(2, 16, 16, dtype=torch.bfloat16, device=torch_device)
    outs = [torch.ones(16, 16, dtype=torch.bfloat16, device=torch_device) for _ in range(2)]
    loss = sum((torch.ones_like(o, requires_grad=True) * o).sum() for o in outs)
    wgrad.grouped_gemm_wgrad_wrapper_sm100(
        x.T, x, None, None, offsets, "discrete", wgrad_tensor=stacked, wgrad_ptrs=outs
    )
    assert all((o == 8).all() for o in outs)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_f087_outputs_of_inference_mode_have_no_version(torch_device):
    import torch

    with torch.inference_mode():
        x = torch.ones(8, 16, dtype=torch.bfloat16, device=torch_device)
        out = torch.zeros(1, 16, 16, device=torch_device)
        offsets = torch.tensor([8], dtype=torch.int32, device=torch_device)
        wgrad.grouped_wgrad(x, x, offsets, out)
    assert (out == 8).all()


def grouped_matmul(x, weight, ends, offsets, gradient):
    """x @ weight[e] for the tokens of each expert; weight's gradient by `gradient(x, dy, offsets)`."""
    import torch

    class GroupedMatmul(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight):
            ctx.save_for_backward(x)
            rows = zip([0, *ends], ends)
            return torch.cat([x[begin:end] @ w for (begin, end), w in zip(rows, weight)])

        @staticmethod
        def backward(ctx, dy):
            return None, gradient(ctx.saved_tensors[0], dy.contiguous(), offsets)

    return GroupedMatmul.apply(x, weight)


def test_f087_a_parameter_trains_through_an_autograd_function(torch_device):
    """The use that wgrad is for: the backward pass of a grouped matmul."""
    import torch

    of = {"dtype": torch.bfloat16, "device": torch_device}
    weight = torch.zeros(3, 16, 24, **of, requires_grad=True)
    x = torch.randint(-2, 3, (20, 16)).to(**of)
    offsets = torch.tensor([6, 6, 20], dtype=torch.int32, device=torch_device)
    grouped_matmul(x, weight, [6, 6, 20], offsets, wgrad.grouped_wgrad).float().sum().backward()
    assert weight.grad.shape == weight.shape
    ones = torch.ones(6, 24, dtype=torch.float64, device=torch_device)
    assert torch.equal(weight.grad[0].double(), x[:6].double().T @ ones)
    assert (weight.grad[1] == 0).all() and (weight.grad[2] != 0).any()


def test_f010_an_empty_rank_still_has_a_gradient_for_every_expert(torch_device):
    """The gradient hook fires, or the ranks that have tokens would wait for ever."""
    import torch

    of = {"dtype": torch.bfloat16, "device": torch_device}
    weight = torch.ones(3, 16, 24, **of, requires_grad=True)
    fired = []
    weight.register_post_accumulate_grad_hook(lambda p: fired.append(p.grad.clone()))
    offsets = torch.zeros(3, dtype=torch.int32, device=torch_device)
    x = torch.ones(0, 16, **of)
    grouped_matmul(x, weight, [0, 0, 0], offsets, wgrad.grouped_wgrad).float().sum().backward()
    assert len(fired) == 1 and fired[0].shape == (3, 16, 24) and not fired[0].any()


def test_f064_five_steps_equal_those_of_a_loop_over_experts(torch_device):
    """Activations are freed and their memory overwritten right after each backward pass."""
    import torch

    def loop(x, dy, offsets):
        ends = offsets.tolist()
        parts = [x[b:e].float().T @ dy[b:e].float() for b, e in zip([0, *ends], ends)]
        return torch.stack(parts).to(x.dtype)

    def weights(gradient):
        generator = torch.Generator().manual_seed(0)
        weight = torch.zeros(3, 16, 24, device=torch_device)
        for _ in range(5):
            ends = torch.randint(0, 60, (3,), generator=generator).sort().values.tolist()
            x = torch.randint(-2, 3, (ends[-1], 16), generator=generator)
            x = x.to(torch_device, torch.bfloat16)
            offsets = torch.tensor(ends, dtype=torch.int32, device=torch_device)
            step = weight.bfloat16().requires_grad_()
            out = grouped_matmul(x, step, ends, offsets, gradient)
            target = torch.randint(-1, 2, out.shape, generator=generator).to(torch_device)
            (out.float() - target).square().mean().backward()
            weight -= 8 * step.grad.float()
            shapes = [x.shape, out.shape]
            del x, out, offsets
            junk = [torch.full(s, float("nan"), device=torch_device).bfloat16() for s in shapes]
            del junk
        return weight

    expected = weights(loop)
    got = weights(wgrad.grouped_wgrad)
    assert expected.abs().max() > 0.1
    assert torch.isfinite(got).all()
    assert (got - expected).abs().max() <= 2**-6 * expected.abs().max()


@pytest.mark.block_scaled
@pytest.mark.parametrize("dtype", ["uint8", "float8_e8m0fnu"])
def test_f088_e8m0_scales_as_bytes_and_as_their_own_dtype(framework, dtype):
    rng = np.random.default_rng(0)
    ends = reference.offsets([64, 32])
    x = operands.block_scaled(framework, rng, ends, 16, "mxfp8", scale_tensor_dtype=dtype)
    dy = operands.block_scaled(framework, rng, ends, 32, "mxfp8", scale_tensor_dtype=dtype)
    out = wgrad.grouped_wgrad(
        x.tokens,
        dy.tokens,
        framework.tensor(ends, "int32"),
        x_scale=x.scales,
        dy_scale=dy.scales,
        out_dtype="float32",
    )
    expected = reference.product(x.values, dy.values, ends)
    np.testing.assert_array_equal(framework.to_numpy(out), expected)


@pytest.mark.parametrize("experts", [1, 2, 31, 32, 33, 128, 384, 1025])
def test_f098_any_number_of_experts(experts):
    counts = [(7 * e) % 3 for e in range(experts)]
    x, dy, offsets, expected = integers(frameworks.Numpy(), counts, 8, 8)
    out = wgrad.grouped_wgrad(x, dy, offsets, out_dtype="float32")
    np.testing.assert_array_equal(out, expected)


def test_f106_repeats_are_bit_identical_and_experts_do_not_meet(framework):
    rng = np.random.default_rng(0)
    counts = [40, 7, 0, 130]
    ends = reference.offsets(counts)
    x = framework.tensor(rng.standard_normal((int(ends[-1]), 32)), "bfloat16")
    dy = framework.tensor(rng.standard_normal((int(ends[-1]), 48)), "bfloat16")
    offsets = framework.tensor(ends, "int32")
    first = framework.raw(wgrad.grouped_wgrad(x, dy, offsets, out_dtype="float32"))
    for _ in range(20):
        again = framework.raw(wgrad.grouped_wgrad(x, dy, offsets, out_dtype="float32"))
        np.testing.assert_array_equal(again, first)
    last = framework.tensor(np.array([130]), "int32")
    alone = wgrad.grouped_wgrad(x[47:], dy[47:], last, out_dtype="float32")
    np.testing.assert_array_equal(framework.raw(alone)[0], first[3])


@pytest.mark.block_scaled
@pytest.mark.parametrize("format", ["mxfp8", "mxfp4", "nvfp4"])
def test_f141_what_a_quantized_operand_knows_reaches_the_call(framework, format):
    """uint8 scale factors, as where a framework has no dtype of theirs."""
    if framework.name == "cuda":
        pytest.skip("quantize() takes CPU tensors")
    ends = framework.tensor(np.array([32, 64]), "int32")
    values = np.random.default_rng(0).normal(size=(64, 32)).astype(np.float32)
    known = wgrad.quantize(framework.tensor(values, "float32"), ends, format)
    bytes_of = known.scales.view(np.uint8 if framework.name == "numpy" else framework.torch.uint8)
    plain = dataclasses.replace(known, scales=bytes_of)
    want = wgrad.grouped_wgrad(known, known, ends)
    got = wgrad.grouped_wgrad(plain, plain, ends)
    np.testing.assert_array_equal(framework.to_numpy(got), framework.to_numpy(want))
    assert wgrad.support(plain, plain, ends)
