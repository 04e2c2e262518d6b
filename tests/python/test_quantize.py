"""quantize, pack_fp4 and the scale layout, judged by decoding the bytes in numpy."""

from __future__ import annotations

import enum
import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wgrad

import frameworks
import reference

VEC = {"mxfp8": 32, "mxfp4": 32, "nvfp4": 16}
ROWS, COUNTS = 72, [40, 0, 96, 18]


def raw(framework, tensor):
    """Bytes of a one-byte tensor, whatever its strides."""
    if framework.name == "numpy":
        return np.ascontiguousarray(tensor).view(np.uint8)
    return tensor.view(framework.torch.uint8).contiguous().cpu().numpy()


def dequantised(framework, q, ends, rows):
    """(T, rows) doubles that a Quantized stands for."""
    codes = raw(framework, q.elements)
    if q.format == "mxfp8":
        name = str(q.elements.dtype).removeprefix("torch.")
        values = codes.view(getattr(ml_dtypes, name)).astype(np.float64)
    else:
        values = np.empty((2 * codes.shape[0], rows))
        values[0::2], values[1::2] = reference.E2M1[codes & 15], reference.E2M1[codes >> 4]
    scale_codes = reference.unswizzle(raw(framework, q.scales), rows, ends, q.sf_vec_size)
    if q.format == "nvfp4":
        scales = [c.view(ml_dtypes.float8_e4m3fn).astype(np.float64) for c in scale_codes]
        factors = framework.to_numpy(q.global_scale)
        scales = [s * f for s, f in zip(scales, factors)]
    else:
        scales = [reference.e8m0(c) for c in scale_codes]
    return reference.scale_rows(values, scales, ends, q.sf_vec_size)


@pytest.mark.parametrize("format", VEC)
@pytest.mark.parametrize("source", ["float32", "bfloat16"])
def test_decodes_close_to_the_source(framework, format, source):
    rng = np.random.default_rng(0)
    ends = reference.offsets(COUNTS)
    x = framework.tensor(rng.standard_normal((int(ends[-1]), ROWS)), source)
    q = wgrad.quantize(x, framework.tensor(ends, "int32"), format)
    assert type(q.elements) is type(x) and q.format == format and q.sf_vec_size == VEC[format]
    got = dequantised(framework, q, ends, ROWS)
    want = framework.to_numpy(x)
    # Of a block's largest value: half a step, or what saturates below the next power of two.
    tolerance = {"mxfp8": 1 / 8, "mxfp4": 1 / 4, "nvfp4": 1 / 4}[format]
    begin = 0
    for end in ends:
        for start in range(begin, end, VEC[format]):
            block = slice(start, min(start + VEC[format], end))
            peak = np.abs(want[block]).max(axis=0)
            assert (np.abs(got[block] - want[block]) <= tolerance * peak + 1e-6).all()
        begin = end


@pytest.mark.parametrize("format", VEC)
@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("order", ["tensor2d", "tensor_ragged"])
def test_feeds_grouped_wgrad(framework, format, compact, order):
    rng = np.random.default_rng(1)
    ends = reference.offsets(COUNTS)
    offsets = framework.tensor(ends, "int32")
    x = framework.tensor(rng.standard_normal((int(ends[-1]), ROWS)), "float32")
    dy = framework.tensor(rng.standard_normal((int(ends[-1]), 40)), "float32")
    plain = [wgrad.quantize(t, offsets, format) for t in (x, dy)]
    expected = reference.product(
        dequantised(framework, plain[0], ends, ROWS),
        dequantised(framework, plain[1], ends, 40),
        ends,
    )
    kind = {"compact": compact, "input_order": order, "scale_padding": 0 if compact else 0xFF}
    operands = [wgrad.quantize(t, offsets, format, **kind) for t in (x, dy)]
    out = wgrad.grouped_wgrad(
        *operands, offsets, out_dtype="float32", compact_scales=compact, input_order=order
    )
    np.testing.assert_allclose(framework.to_numpy(out), expected, rtol=1e-5, atol=1e-4)
    told = wgrad.grouped_wgrad(*operands, offsets, out_dtype="float32", input_order=order)
    np.testing.assert_array_equal(framework.to_numpy(told), framework.to_numpy(out))


@pytest.mark.parametrize("call", [wgrad.grouped_wgrad, wgrad.support, wgrad.explain])
def test_an_operand_knows_the_layout_of_its_scales(call):
    """Of 128 rows and 128 tokens both layouts have one shape."""
    x, ends = np.ones((128, 128), np.float32), np.array([128], np.int32)
    swizzled, compact = (wgrad.quantize(x, ends, compact=c) for c in (False, True))
    assert swizzled.scales.shape == compact.scales.shape
    with pytest.raises(ValueError, match="compact_scales is True; it must be False: a Quantized"):
        call(swizzled, swizzled, ends, compact_scales=True)
    with pytest.raises(ValueError, match="of dy's scale factors is compact; it must be swizzled"):
        call(swizzled, compact, ends)


@pytest.mark.block_scaled
def test_fp8_element_types_and_majors(framework):
    rng = np.random.default_rng(2)
    ends = reference.offsets([64, 33])
    x = framework.tensor(rng.standard_normal((97, 48)), "float32")
    offsets = framework.tensor(ends, "int32")
    for element in ("float8_e4m3fn", "float8_e5m2"):
        k = wgrad.quantize(x, offsets, element=element)
        mn = wgrad.quantize(x, offsets, element=framework.dtype(element), major="mn")
        assert str(k.elements.dtype).endswith(element)
        np.testing.assert_array_equal(raw(framework, k.elements), raw(framework, mn.elements))
        np.testing.assert_array_equal(raw(framework, k.scales), raw(framework, mn.scales))


@pytest.mark.block_scaled
def test_feeds_the_drop_in_functions(framework):
    rng = np.random.default_rng(3)
    ends = reference.offsets([64, 32])
    offsets = framework.tensor(ends, "int32")
    a, b = (
        wgrad.quantize(
            framework.tensor(rng.standard_normal((96, rows)), "float32"), offsets, "nvfp4"
        )
        for rows in (16, 32)
    )
    (out,) = wgrad.grouped_gemm_wgrad_wrapper_sm100(
        a.elements.T,
        b.elements,
        a.scales,
        b.scales,
        offsets,
        global_scale_a=a.global_scale,
        global_scale_b=b.global_scale,
        wgrad_dtype="float32",
    )
    same = wgrad.grouped_wgrad(a, b, offsets, out_dtype="float32")
    np.testing.assert_array_equal(framework.raw(out), framework.raw(same))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_swizzle_against_numpy_and_back(data):
    counts = data.draw(st.lists(st.integers(0, 300), min_size=1, max_size=6))
    rows = data.draw(st.integers(1, 300))
    vec = data.draw(st.sampled_from([16, 32]))
    padding = data.draw(st.integers(0, 255))
    ends = reference.offsets(counts)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    parts = [rng.integers(0, 256, (rows, -(-k // vec))).astype(np.uint8) for k in counts]
    compact = np.concatenate(parts, axis=1)
    swizzled = wgrad.swizzle_scales(compact, ends, vec, padding=padding)
    want = reference.swizzle(parts, rows, padding)
    np.testing.assert_array_equal(swizzled.reshape(-1), want.reshape(-1))
    np.testing.assert_array_equal(wgrad.unswizzle_scales(swizzled, rows, ends, vec), compact)


@pytest.mark.block_scaled
def test_swizzle_keeps_the_framework_and_dtype(framework):
    ends = framework.tensor(np.array([64]), "int32")
    codes = np.arange(10 * 2, dtype=np.uint8).reshape(10, 2)
    scales = framework.bytes_as(codes, "float8_e8m0fnu")
    if framework.name == "cuda":
        with pytest.raises(ValueError, match=r"scales is on cuda.*; it must be a CPU tensor"):
            wgrad.swizzle_scales(scales, ends, 32)
        return
    swizzled = wgrad.swizzle_scales(scales, ends, 32)
    assert type(swizzled) is type(scales) and swizzled.dtype == scales.dtype
    assert tuple(swizzled.shape) == (128, 4)
    back = wgrad.unswizzle_scales(swizzled, 10, ends, 32)
    np.testing.assert_array_equal(raw(framework, back), codes)


def test_pack_fp4_puts_the_even_token_low():
    codes = np.array([[1, 2], [3, 4]], np.uint8).view(ml_dtypes.float4_e2m1fn)
    packed = wgrad.pack_fp4(codes)
    assert packed.dtype == np.uint8 and packed.shape == (1, 2)
    np.testing.assert_array_equal(packed, [[0x31, 0x42]])


REFUSED = {
    "format": ({"format": "int8"}, "format is 'int8'; it must be 'mxfp8', 'mxfp4' or 'nvfp4'"),
    "element": ({"element": "int8"}, "element is int8; it must be one of"),
    "major": ({"major": "n"}, "major is 'n'; it must be 'k' or 'mn'"),
    "rank": ({"x": np.ones(4, np.float32)}, r"x is of shape \(4,\); it must be 2-D, \(T, rows\)"),
    "offsets": (
        {"offsets": np.array([8.0])},
        "offsets is float64 .*; it must be a contiguous int32",
    ),
    "offset values": (
        {"offsets": np.array([9, 4], np.int32)},
        r"offsets\[1\] is 4; it must be from 9, the end of the expert before it, to T = 32",
    ),
    "FP4 begins": (
        {"offsets": np.array([9, 32], np.int32), "format": "mxfp4"},
        "expert 1 is tokens 9 to 32; it must be a range that begins at an even token, for packed FP4",
    ),
    "FP4 tokens": (
        {"x": np.ones((31, 16), np.float32), "offsets": np.array([8], np.int32), "format": "nvfp4"},
        "tokens is 31; it must be even for packed FP4",
    ),
    "no offsets": ({"offsets": None}, "offsets is a NoneType; it must be a tensor"),
    "rank of offsets": (
        {"offsets": np.array([[32]], np.int32)},
        r"offsets is of shape \(1, 1\); it must be 1-D, \(E,\)",
    ),
    "structure": (
        {"x": np.zeros((32, 16), "V4")},
        r"x is \|V4; it must be an array of real numbers",
    ),
    "compact": ({"compact": "no"}, "compact is 'no'; it must be True or False"),
    "input order": (
        {"input_order": "sorted"},
        "input_order is 'sorted'; it must be 'tensor2d' or 'tensor_ragged'",
    ),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_refusals(fault):
    changes, text = REFUSED[fault]
    call = {"x": np.ones((32, 16), np.float32), "offsets": np.array([32], np.int32), **changes}
    with pytest.raises(ValueError, match=text):
        wgrad.quantize(**call)


@pytest.mark.torch
def test_tensors_of_other_layouts():
    import torch

    ends = torch.tensor([32], dtype=torch.int32)
    plain = torch.ones(32, 16)
    with pytest.raises(ValueError, match="x is sparse_coo; it must be a strided tensor"):
        wgrad.quantize(plain.to_sparse(), ends)
    with pytest.raises(ValueError, match="x is bool; it must be an array of real numbers"):
        wgrad.quantize(plain.bool(), ends)
    negative = torch._neg_view(plain)
    assert torch.equal(
        wgrad.quantize(negative, ends).elements.view(torch.uint8),
        wgrad.quantize(-plain, ends).elements.view(torch.uint8),
    )


def test_pack_fp4_refuses_other_dtypes():
    with pytest.raises(ValueError, match="x is uint8 of shape .*; it must be float4_e2m1fn"):
        wgrad.pack_fp4(np.zeros((2, 2), np.uint8))
    odd = np.zeros((3, 2), ml_dtypes.float4_e2m1fn)
    with pytest.raises(ValueError, match=r"of shape \(3, 2\); it must be .*with an even T"):
        wgrad.pack_fp4(odd)


def test_swizzle_refuses_too_few_columns():
    text = r"scales is of shape \(16, 1\); it must be at least 2 columns wide for these offsets"
    with pytest.raises(wgrad.ValueError, match=text):
        wgrad.swizzle_scales(np.zeros((16, 1), np.uint8), np.array([64], np.int32), 32)


def test_swizzle_leaves_columns_out_that_no_expert_has():
    ends = np.array([64], np.int32)
    wide = np.arange(16 * 4, dtype=np.uint8).reshape(16, 4)
    np.testing.assert_array_equal(
        wgrad.swizzle_scales(wide, ends, 32), wgrad.swizzle_scales(wide[:, :2].copy(), ends, 32)
    )


def test_numpy_scales_come_in_their_own_dtype():
    q = wgrad.quantize(np.ones((32, 16), np.float32), np.array([32], np.int32), "nvfp4")
    assert q.scales.dtype == ml_dtypes.float8_e4m3fn and q.elements.dtype == np.uint8
    assert q.global_scale.dtype == np.float32 and q.elements.strides == (1, 16)
    assert frameworks.np_dtype("bfloat16") == ml_dtypes.bfloat16


class TorchaosEnum(enum.Enum):
    FLOOR = "floor"
    RCEIL = "rceil"


@pytest.mark.parametrize("format", ["mxfp8", "mxfp4"])
def test_rceil_saturates_nothing(framework, format):
    most = {"mxfp8": 448.0, "mxfp4": 6.0}[format]
    ends = reference.offsets([32])
    x = framework.tensor(np.full((32, 8), 1.125 * most), "float32")
    offsets = framework.tensor(ends, "int32")

    def values(mode):
        q = wgrad.quantize(x, offsets, format, scaling_mode=mode)
        return dequantised(framework, q, ends, 8)

    for mode in (None, "floor", TorchaosEnum.FLOOR):
        assert (values(mode) == most).all()
    nearest = {"mxfp8": 1.125 * most + 8, "mxfp4": 6.0}[format]  # halves: 252, 3.375
    for mode in ("rceil", TorchaosEnum.RCEIL):
        assert (values(mode) == nearest).all()


def test_scaling_modes_are_refused_by_name():
    x, offsets = np.ones((32, 8), np.float32), np.array([32], np.int32)
    with pytest.raises(ValueError, match="scaling_mode is 'even'; it must be 'floor' or 'rceil'"):
        wgrad.quantize(x, offsets, "mxfp8", scaling_mode="even")
    with pytest.raises(ValueError, match="scaling_mode is 'floor'; it must be None for nvfp4"):
        wgrad.quantize(x, offsets, "nvfp4", scaling_mode="floor")


F32 = np.ones((64, 16), np.float32)
BYTES = np.ones((16, 2), np.uint8)
ENDS = np.array([64], np.int32)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: wgrad.quantize(F32, ENDS, None), "format is None; it must be 'mxfp8', 'mxfp4' or"),
        (lambda: wgrad.quantize(F32, ENDS, "16-bit"), "format is '16-bit'; it must be 'mxfp8'"),
        (lambda: wgrad.quantize(F32, ENDS, scale_padding=300), "scale_padding is 300; it must be"),
        (lambda: wgrad.quantize(F32, ENDS, major=1), "major is '1'; it must be 'k' or 'mn'"),
        (lambda: wgrad.quantize(F32.astype(complex), ENDS), "x is complex128; it must be an array"),
        (lambda: wgrad.swizzle_scales(BYTES, ENDS, 0), "sf_vec_size is 0; it must be an integer"),
        (lambda: wgrad.swizzle_scales(BYTES, ENDS, -32), "sf_vec_size is -32; it must be an"),
        (lambda: wgrad.swizzle_scales(BYTES, ENDS, "32"), "sf_vec_size is '32'; it must be an"),
        (lambda: wgrad.swizzle_scales(BYTES[0], ENDS, 32), "scales is of shape (2,); it must be"),
        (lambda: wgrad.swizzle_scales(BYTES[:0], ENDS, 32), "scales is of shape (0, 2); it must be"),
        (lambda: wgrad.swizzle_scales(F32[:, :2], ENDS, 32), "scales is float32; it must be uint8"),
        (lambda: wgrad.swizzle_scales(BYTES, ENDS, 32, padding=256), "padding is 256; it must be"),
        (
            lambda: wgrad.unswizzle_scales(BYTES, 16, ENDS, 32),
            "scales is 32 bytes long; it must be at least 512 bytes long for these rows and offsets",
        ),
        (lambda: wgrad.unswizzle_scales(BYTES, -1, ENDS, 32), "rows is -1; it must be an integer"),
        (lambda: wgrad.unswizzle_scales(BYTES, 2**40, ENDS, 32), "rows is 1099511627776; it must"),
        (lambda: wgrad.unswizzle_scales(BYTES, 16, ENDS, 0), "sf_vec_size is 0; it must be an"),
    ],
)
def test_hostile_arguments_are_refused_by_name(call, text):
    with pytest.raises(wgrad.ValueError, match=re.escape("wgrad: " + text)):
        call()


def test_reversed_sources_are_quantised_too():
    ends = reference.offsets([64])
    x = np.arange(64 * 8, dtype=np.float32).reshape(64, 8)
    got, want = wgrad.quantize(x[::-1], ends), wgrad.quantize(x[::-1].copy(), ends)
    np.testing.assert_array_equal(got.elements.view(np.uint8), want.elements.view(np.uint8))


@pytest.mark.torch
def test_torch_tensors_of_other_dtypes_are_refused_by_name():
    import torch

    offsets = torch.tensor([64], dtype=torch.int32)
    with pytest.raises(wgrad.ValueError, match="x is complex64; it must be an array of real"):
        wgrad.quantize(torch.ones(64, 16, dtype=torch.complex64), offsets)
    with pytest.raises(wgrad.ValueError, match="scales is float32; it must be uint8 or a one-byte"):
        wgrad.swizzle_scales(torch.ones(16, 2), offsets, 32)


@pytest.mark.torch
def test_tensors_on_a_device_are_refused_in_words():
    torch = frameworks.Torch().torch
    offsets = torch.tensor([32], dtype=torch.int32)
    with pytest.raises(ValueError, match=r"x is on meta; it must be a CPU tensor; move it with \.cpu\(\)"):
        wgrad.quantize(torch.empty(32, 8, device="meta"), offsets, "mxfp8")
    scales = torch.empty(8, 1, dtype=torch.uint8, device="meta")
    with pytest.raises(ValueError, match=r"scales is on meta; it must be a CPU tensor"):
        wgrad.swizzle_scales(scales, offsets, 32)


def test_given_global_scales_are_taken(framework):
    ends = reference.offsets([32, 16])
    x = framework.tensor(np.linspace(-3, 5, 48 * 8).reshape(48, 8), "float32")
    offsets = framework.tensor(ends, "int32")
    own = wgrad.quantize(x, offsets, "nvfp4")
    assert wgrad.quantize(x, offsets, "nvfp4", global_scale=own.global_scale) == own
    other = framework.tensor(framework.to_numpy(own.global_scale) * 2, "float32")
    q = wgrad.quantize(x, offsets, "nvfp4", global_scale=other)
    np.testing.assert_array_equal(framework.raw(q.global_scale), framework.raw(other))
    assert q != own


def test_a_pair_is_two_with_their_roles(framework):
    rng = np.random.default_rng(5)
    ends = framework.tensor(reference.offsets([32, 32]), "int32")
    x, dy = (framework.tensor(rng.standard_normal((64, rows)), "float32") for rows in (16, 32))
    seeds = {"stochastic_seed": 2**64 - 1, "hadamard_seed": 3}
    first, second = wgrad.quantize_pair(x, dy, ends, "nvfp4", **seeds)
    assert first == wgrad.quantize(x, ends, "nvfp4", role="x", **seeds)
    assert second == wgrad.quantize(
        dy, ends, "nvfp4", role="dy", stochastic_seed=0, hadamard_seed=3
    )
    wgrad.grouped_wgrad(first, second, ends)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"stochastic_seed": 1}, "stochastic_seed is given; it must be left out for MX formats"),
        ({"hadamard_seed": 1}, "hadamard_seed is given; it must be left out for MX formats"),
        ({"global_scale": np.ones(1, np.float32)}, "global_scales is given; it must be left out"),
        ({"format": "nvfp4", "stochastic_seed": -1}, "stochastic_seed is -1; it must be an integer"),
        ({"format": "nvfp4", "hadamard_seed": 2**64}, "hadamard_seed is 18446744073709551616; it"),
        ({"format": "nvfp4", "global_scale": np.ones(2, np.float32)}, "global_scales is 2 long; it"),
        ({"format": "nvfp4", "global_scale": np.ones(1)}, r"global_scale is float64 of shape \(1,\);"),
    ],
)
def test_options_of_nvfp4_are_refused_by_name(options, text):
    x, offsets = np.ones((32, 8), np.float32), np.array([32], np.int32)
    with pytest.raises(wgrad.ValueError, match=text):
        wgrad.quantize(x, offsets, **options)
