"""grouped_wgrad: the right numbers in every format, layout, output and dtype."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wgrad

import frameworks
import operands
import reference

COUNTS = [5, 0, 37, 1, 21]
M, N = 24, 40


def check(framework, out, x, dy, ends, before=0.0):
    expected = reference.product(np.nan_to_num(x.values), np.nan_to_num(dy.values), ends) + before
    got = framework.to_numpy(out)
    rounded = reference.round_to(expected, frameworks.np_dtype(dtype_name(out)))
    np.testing.assert_array_equal(got, rounded)


def dtype_name(tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def ends_of(counts):
    ends = reference.offsets(counts)
    return ends


@pytest.mark.parametrize("slack", [0, 9])
def test_plain(framework, slack):
    rng = np.random.default_rng(0)
    ends = ends_of(COUNTS)
    x = operands.sixteen_bit(framework, rng, ends, M, slack=slack)
    dy = operands.sixteen_bit(framework, rng, ends, N, slack=slack)
    out = wgrad.grouped_wgrad(x.tokens, dy.tokens, framework.tensor(ends, "int32"))
    assert type(out) is type(x.tokens)
    assert tuple(out.shape) == (len(COUNTS), M, N)
    assert out.dtype == x.tokens.dtype
    check(framework, out, x, dy, ends)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("a_major", ["k", "mn"])
@pytest.mark.parametrize("b_major", ["k", "mn"])
@pytest.mark.parametrize("padding", [0, 8])
def test_majors_dtypes_and_padded_rows(framework, dtype, a_major, b_major, padding):
    rng = np.random.default_rng(1)
    ends = ends_of([16, 0, 40, 8])
    x = operands.sixteen_bit(
        framework, rng, ends, M, dtype=dtype, major=a_major, padding=padding, slack=8
    )
    dy = operands.sixteen_bit(
        framework, rng, ends, N, dtype=dtype, major=b_major, padding=padding, slack=8
    )
    out = wgrad.grouped_wgrad(
        x.tokens, dy.tokens, framework.tensor(ends, "int32"), out_dtype="float32"
    )
    check(framework, out, x, dy, ends)


@pytest.mark.parametrize("a_major", ["k", "mn"])
@pytest.mark.parametrize("b_major", ["k", "mn"])
def test_ragged_order(framework, a_major, b_major):
    rng = np.random.default_rng(2)
    ends = ends_of(COUNTS)
    x = operands.sixteen_bit(framework, rng, ends, M, major=a_major, ragged=True, slack=4)
    dy = operands.sixteen_bit(framework, rng, ends, N, major=b_major, ragged=True, slack=4)
    out = wgrad.grouped_wgrad(
        x.tokens, dy.tokens, framework.tensor(ends, "int32"), input_order="tensor_ragged"
    )
    check(framework, out, x, dy, ends)


FORMATS = [
    ("mxfp8", "float8_e4m3fn"),
    ("mxfp8", "float8_e5m2"),
    ("mxfp4", "float4_e2m1fn"),
    ("nvfp4", "float4_e2m1fn"),
]


@pytest.mark.parametrize(("format", "element"), FORMATS)
@pytest.mark.parametrize("ragged", [False, True])
@pytest.mark.parametrize("compact", [False, True])
def test_block_scaled(framework, format, element, ragged, compact):
    rng = np.random.default_rng(3)
    ends = ends_of([96, 0, 38, 160])
    kind = {"element": element, "ragged": ragged, "compact": compact, "slack": 6}
    x = operands.block_scaled(framework, rng, ends, M, format, **kind)
    dy = operands.block_scaled(framework, rng, ends, 136, format, **kind)
    out = wgrad.grouped_wgrad(
        x.tokens,
        dy.tokens,
        framework.tensor(ends, "int32"),
        x_scale=x.scales,
        dy_scale=dy.scales,
        x_global_scale=x.global_scale,
        dy_global_scale=dy.global_scale,
        compact_scales=compact,
        out_dtype="float32",
        input_order="tensor_ragged" if ragged else "tensor2d",
    )
    check(framework, out, x, dy, ends)


@pytest.mark.block_scaled
@pytest.mark.parametrize("a_major", ["k", "mn"])
@pytest.mark.parametrize("b_major", ["k", "mn"])
def test_fp8_majors(framework, a_major, b_major):
    rng = np.random.default_rng(4)
    ends = ends_of([33, 64])
    x = operands.block_scaled(framework, rng, ends, 32, "mxfp8", major=a_major, slack=15)
    dy = operands.block_scaled(framework, rng, ends, 48, "mxfp8", major=b_major, slack=15)
    out = wgrad.grouped_wgrad(
        x.tokens,
        dy.tokens,
        framework.tensor(ends, "int32"),
        x_scale=x.scales,
        dy_scale=dy.scales,
        out_dtype="float32",
    )
    check(framework, out, x, dy, ends)


@pytest.mark.parametrize("format", ["mxfp8", "mxfp4", "nvfp4"])
def test_scales_as_uint8_bytes(framework, format):
    rng = np.random.default_rng(5)
    ends = ends_of([64, 32])
    x = operands.block_scaled(framework, rng, ends, M, format, scale_tensor_dtype="uint8")
    dy = operands.block_scaled(framework, rng, ends, N, format, scale_tensor_dtype="uint8")
    out = wgrad.grouped_wgrad(
        x.tokens,
        dy.tokens,
        framework.tensor(ends, "int32"),
        x_scale=x.scales,
        dy_scale=dy.scales,
        x_global_scale=x.global_scale,
        dy_global_scale=dy.global_scale,
        sf_vec_size=16 if format == "nvfp4" else 32,
        out_dtype="float32",
    )
    check(framework, out, x, dy, ends)


@pytest.mark.parametrize("out_dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("accumulate", [False, True])
def test_f089_every_output_dtype_with_and_without_accumulate(framework, out_dtype, accumulate):
    rng = np.random.default_rng(6)
    ends = ends_of(COUNTS)
    x = operands.sixteen_bit(framework, rng, ends, M)
    dy = operands.sixteen_bit(framework, rng, ends, N)
    before = 3.0 if accumulate else np.nan
    out = framework.full((len(COUNTS), M, N), before, out_dtype)
    result = wgrad.grouped_wgrad(
        x.tokens, dy.tokens, framework.tensor(ends, "int32"), out, accumulate
    )
    assert result is out
    check(framework, out, x, dy, ends, before if accumulate else 0.0)


@pytest.mark.parametrize("given", ["name", "framework"])
def test_out_dtype_by_name_or_framework_dtype(framework, given):
    rng = np.random.default_rng(7)
    ends = ends_of([8, 8])
    x = operands.sixteen_bit(framework, rng, ends, M)
    dy = operands.sixteen_bit(framework, rng, ends, N)
    dtype = "float32" if given == "name" else framework.dtype("float32")
    out = wgrad.grouped_wgrad(x.tokens, dy.tokens, framework.tensor(ends, "int32"), out_dtype=dtype)
    assert dtype_name(out) == "float32"


def test_accumulate_into_an_allocated_output_starts_from_zero(framework):
    rng = np.random.default_rng(8)
    ends = ends_of(COUNTS)
    x = operands.sixteen_bit(framework, rng, ends, M)
    dy = operands.sixteen_bit(framework, rng, ends, N)
    out = wgrad.grouped_wgrad(x.tokens, dy.tokens, framework.tensor(ends, "int32"), accumulate=True)
    check(framework, out, x, dy, ends)


def test_separate_outputs(framework):
    rng = np.random.default_rng(9)
    ends = ends_of(COUNTS)
    x = operands.sixteen_bit(framework, rng, ends, M)
    dy = operands.sixteen_bit(framework, rng, ends, N)
    out = [framework.full((M, N), np.nan, "float32") for _ in COUNTS]
    result = wgrad.grouped_wgrad(x.tokens, dy.tokens, framework.tensor(ends, "int32"), out)
    assert result is out
    expected = reference.product(x.values, dy.values, ends)
    for got, want in zip(out, expected):
        np.testing.assert_array_equal(framework.to_numpy(got), want)


def test_padded_output_rows_and_experts_keep_what_lies_between(framework):
    rng = np.random.default_rng(10)
    ends = ends_of([16, 0, 24])
    x = operands.sixteen_bit(framework, rng, ends, M)
    dy = operands.sixteen_bit(framework, rng, ends, N)
    whole = framework.full((3, M + 8, N + 8), 77.0, "float32")
    out = whole[:, :M, :N]
    wgrad.grouped_wgrad(x.tokens, dy.tokens, framework.tensor(ends, "int32"), out)
    check(framework, out, x, dy, ends)
    got = framework.to_numpy(whole)
    assert (got[:, M:, :] == 77).all() and (got[:, :, N:] == 77).all()


@pytest.mark.parametrize(("tokens", "m"), [(1, M), (24, 1), (1, 1)])
def test_one_token_or_one_feature(framework, tokens, m):
    """A 2-D tensor with an extent of 1 is K-major and MN-major at once: the readable one is taken."""
    rng = np.random.default_rng(12)
    ends = ends_of([tokens])
    x = operands.sixteen_bit(framework, rng, ends, m)
    dy = operands.sixteen_bit(framework, rng, ends, N)
    offsets = framework.tensor(ends, "int32")
    check(framework, wgrad.grouped_wgrad(x.tokens, dy.tokens, offsets), x, dy, ends)
    (out,) = wgrad.grouped_gemm_wgrad_wrapper_sm100(x.tokens.T, dy.tokens, None, None, offsets)
    assert dtype_name(out) == "bfloat16"
    check(framework, out, x, dy, ends)


def test_numpy_unpacked_fp4_is_packed():
    rng = np.random.default_rng(11)
    numpy = frameworks.Numpy()
    ends = ends_of([32, 64])
    x = operands.block_scaled(numpy, rng, ends, M, "mxfp4")
    dy = operands.block_scaled(numpy, rng, ends, N, "mxfp4")

    def unpack(packed):
        codes = np.empty((2 * packed.shape[0], packed.shape[1]), np.uint8)
        codes[0::2], codes[1::2] = packed & 15, packed >> 4
        return codes.view(ml_dtypes.float4_e2m1fn)

    arguments = {"x_scale": x.scales, "dy_scale": dy.scales, "out_dtype": "float32"}
    unpacked = unpack(x.tokens), unpack(dy.tokens), ends
    assert wgrad.support(*unpacked, **arguments) and wgrad.explain(*unpacked, **arguments).candidates
    out = wgrad.grouped_wgrad(*unpacked, **arguments)
    check(numpy, out, x, dy, ends)
    packed = wgrad.pack_fp4(unpack(x.tokens))
    assert packed.strides == x.tokens.strides
    np.testing.assert_array_equal(packed, x.tokens)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_counts_widths_and_layouts(data):
    framework = frameworks.Numpy()
    counts = data.draw(st.lists(st.integers(0, 20), min_size=1, max_size=12))
    counts = [c * 8 for c in counts] if data.draw(st.booleans()) else counts
    m = data.draw(st.integers(1, 5)) * 8
    n = data.draw(st.integers(1, 5)) * 8
    ends = reference.offsets(counts)
    slack = data.draw(st.integers(0, 9))
    aligned = (int(ends[-1]) + slack) % 8 == 0
    ragged = data.draw(st.booleans())
    majors = st.sampled_from(["k", "mn"] if aligned or ragged else ["mn"])
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    kind = {"slack": slack, "ragged": ragged}
    x = operands.sixteen_bit(framework, rng, ends, m, major=data.draw(majors), **kind)
    dy = operands.sixteen_bit(framework, rng, ends, n, major=data.draw(majors), **kind)
    accumulate = data.draw(st.booleans())
    dtype = data.draw(st.sampled_from(["bfloat16", "float16", "float32"]))
    out = framework.full((len(counts), m, n), 2.0 if accumulate else np.nan, dtype)
    wgrad.grouped_wgrad(
        x.tokens,
        dy.tokens,
        ends,
        out,
        accumulate,
        input_order="tensor_ragged" if ragged else "tensor2d",
    )
    check(framework, out, x, dy, ends, 2.0 if accumulate else 0.0)


@pytest.mark.block_scaled
@pytest.mark.parametrize("format", ["mxfp4", "nvfp4"])
@pytest.mark.parametrize("tokens", [0, 2, 4])
def test_few_tokens_of_fp4(framework, format, tokens):
    """At T = 2 a row is one byte: nothing but the dtype says along which axis tokens are packed."""
    ends = framework.tensor(np.array([0, tokens], np.int32), "int32")
    x, dy = (
        wgrad.quantize(framework.tensor(np.ones((tokens, width)), "float32"), ends, format)
        for width in (8, 16)
    )
    assert wgrad.support(x, dy, ends)
    out = framework.to_numpy(wgrad.grouped_wgrad(x, dy, ends, out_dtype="float32"))
    np.testing.assert_array_equal(out[0], 0)
    np.testing.assert_allclose(out[1], tokens, rtol=1e-6)


def test_an_output_in_the_memory_of_an_operand_is_refused():
    memory = np.ones((64, 16), ml_dtypes.bfloat16)
    ends = np.array([16, 64], np.int32)
    dy = np.ones((64, 16), ml_dtypes.bfloat16)
    out = memory[48:].reshape(1, 16, 16)
    with pytest.raises(ValueError, match="x is at address 0x.*, in the memory of the output; it must"):
        wgrad.grouped_wgrad(memory, dy, ends[-1:], out)
    with pytest.raises(ValueError, match="dy is at .*, in the memory of the output of expert 1"):
        wgrad.grouped_wgrad(dy, memory, ends, [np.empty((16, 16), ml_dtypes.bfloat16), out[0]])
    assert (memory == 1).all()
