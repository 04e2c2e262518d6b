"""The names kept from cuDNN Frontend, with JAX arrays."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import wgrad
from cases import bits, case, weights

ALIGNED = [24, 0, 56, 0]  # a K-major A has rows of T elements, which are multiples of 16 bytes


@pytest.fixture
def c():
    return case(ALIGNED, tail=0)


def k_major(c):
    """A (M, T) and B (T, N), row-major, and offsets."""
    return jnp.asarray(np.ascontiguousarray(c.x.T)), jnp.asarray(c.dy), jnp.asarray(c.ends)


def test_the_signature_is_the_references():
    parameters = inspect.signature(wgrad.grouped_gemm_wgrad_jax_sm100).parameters.values()
    keyword = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    assert keyword == ["sfa_tensor", "sfb_tensor", "global_scale_a", "global_scale_b", "sf_vec_size"]
    assert [(p.name, p.default) for p in parameters if p.name not in keyword][3:] == [
        ("wgrad_ptrs", None),
        ("wgrad_dtype", "bfloat16"),
        ("acc_dtype", "float32"),
        ("mma_tiler_mn", (256, 256)),
        ("cluster_shape_mn", None),
        ("accumulate_on_output", False),
        ("input_order", "tensor2d"),
    ]
    assert [p.name for p in parameters][:3] == ["a_tensor", "b_tensor", "offsets_tensor"]


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_dense_output_comes_in_a_tuple_dict(c, wrap):
    result = wrap(wgrad.grouped_gemm_wgrad_jax_sm100)(*k_major(c))
    assert isinstance(result, wgrad.TupleDict)
    (only,) = result
    np.testing.assert_array_equal(bits(only), c.by_cpp("bfloat16"))


def test_positional_arguments_mean_what_the_references_do(c):
    call = wgrad.grouped_gemm_wgrad_jax_sm100
    given = (None, jnp.float32, jnp.float32, (128, 128), (1, 1), True, "tensor2d")
    result = jax.jit(lambda *arrays: call(*arrays, *given))(*k_major(c))
    np.testing.assert_array_equal(bits(result["wgrad_tensor"]), c.by_cpp("float32"))


def test_ragged_blocks(c):
    blocks = [c.x[b:e].T.ravel() for b, e in zip([0, *c.ends[:-1]], c.ends)]
    a = jnp.asarray(np.concatenate(blocks).reshape(c.x.shape[::-1]))
    result = wgrad.grouped_gemm_wgrad_jax_sm100(a, *k_major(c)[1:], input_order="tensor_ragged")
    np.testing.assert_array_equal(bits(result[0]), c.by_cpp("bfloat16"))


def table_of(outputs):
    """The experts' addresses as bytes, which need no 64-bit integers of JAX."""
    stride = outputs[0].nbytes
    addresses = outputs.ctypes.data + stride * np.arange(len(outputs), dtype=np.int64)
    return addresses.view(np.uint8)


@pytest.mark.parametrize("shape", [(32,), (4, 8)], ids=str)
@pytest.mark.parametrize("adds", [False, True], ids=["overwrite", "accumulate"])
def test_results_go_through_packed_addresses_under_jit(c, adds, shape):
    outputs = weights(c, "float32")
    expected = c.by_cpp("float32", outputs) if adds else c.by_cpp("float32")
    call = jax.jit(
        lambda *arrays: wgrad.grouped_gemm_wgrad_jax_sm100(
            *arrays, wgrad_dtype="float32", accumulate_on_output=adds
        )
    )
    token = call(*k_major(c), jnp.asarray(table_of(outputs).reshape(shape)))
    assert token.shape == (64, 48) and token.dtype == jnp.float32 and not token.any()
    jax.block_until_ready(token)
    np.testing.assert_array_equal(bits(outputs), expected)


def test_results_go_through_int64_addresses_with_x64(c):
    outputs = np.full((4, 64, 48), np.nan, np.float32)
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        table = jnp.asarray(table_of(outputs).view(np.int64))
        assert table.dtype == jnp.int64
        token = wgrad.grouped_gemm_wgrad_jax_sm100(*k_major(c), table, "float32")
        jax.block_until_ready(token)
    np.testing.assert_array_equal(bits(outputs), c.by_cpp("float32"))


def test_a_token_that_nobody_reads_is_computed_all_the_same(c):
    outputs = np.full((4, 64, 48), np.nan, np.float32)

    @jax.jit
    def call(a, b, ends, table):
        wgrad.grouped_gemm_wgrad_jax_sm100(a, b, ends, table, "float32")
        return ends + 1

    jax.block_until_ready(call(*k_major(c), jnp.asarray(table_of(outputs))))
    np.testing.assert_array_equal(bits(outputs), c.by_cpp("float32"))


@pytest.mark.parametrize("mode", ["dense", "discrete"])
def test_the_eager_wrapper_returns_a_new_array(c, mode):
    a, b, ends = k_major(c)
    result = wgrad.grouped_gemm_wgrad_wrapper_sm100(a, b, None, None, ends, output_mode=mode)
    assert isinstance(result["wgrad_tensor"], jax.Array)
    np.testing.assert_array_equal(bits(result[0]), c.by_cpp("bfloat16"))


def test_the_eager_wrapper_writes_through_addresses(c):
    outputs = np.full((4, 64, 48), np.nan, np.float32)
    a, b, ends = k_major(c)
    result = wgrad.grouped_gemm_wgrad_wrapper_sm100(
        *(a, b, None, None, ends, "discrete"),
        wgrad_ptrs=jnp.asarray(table_of(outputs)),
        wgrad_dtype="float32",
    )
    assert result["wgrad_tensor"] is None
    np.testing.assert_array_equal(bits(outputs), c.by_cpp("float32"))


@pytest.mark.parametrize("kind", [wgrad.GroupedGemmWgrad, wgrad.GroupedGemmWgradSm100])
def test_the_class_returns_new_arrays_for_any_number_of_tokens(c, kind):
    a, b, ends = k_major(c)
    sample = jnp.zeros((4, 64, 48), jnp.float32)
    operator = kind(a, b, None, None, ends, sample_wgrad=sample)
    assert operator.check_support()
    operator.compile()
    assert operator.weight_mode == "dense"
    for each in (c, case([8, 8, 0, 0], tail=0, seed=9)):
        a, b, ends = k_major(each)
        result = operator.execute(a, b, None, None, ends)
        np.testing.assert_array_equal(bits(result), each.by_cpp("float32"))


def test_the_class_writes_through_addresses(c):
    a, b, ends = k_major(c)
    operator = wgrad.GroupedGemmWgradSm100(
        *(a, b, None, None, ends),
        num_experts=4,
        wgrad_shape=(64, 48),
        wgrad_dtype=jnp.float32,
        sample_wgrad_expert=jnp.zeros((64, 48), jnp.float32),
    )
    operator.compile()
    outputs = np.full((4, 64, 48), np.nan, np.float32)
    table = jnp.asarray(table_of(outputs))
    jax.block_until_ready(operator.execute(a, b, None, None, ends, wgrad_ptrs=table))
    np.testing.assert_array_equal(bits(outputs), c.by_cpp("float32"))
    stacked = operator.execute(a, b, None, None, ends)
    np.testing.assert_array_equal(bits(stacked), c.by_cpp("float32"))


def test_wgrads_own_grouped_wgrad_returns_a_jax_array(c):
    result = jax.jit(lambda *arrays: wgrad.grouped_wgrad(*arrays, out_dtype="float32"))(*c.arrays)
    assert isinstance(result, jax.Array)
    np.testing.assert_array_equal(bits(result), c.by_cpp("float32"))


def test_fp4_with_a_power_of_two_every_16_tokens():
    """What the custom call is told of scale factors goes beyond the named formats."""
    ends = np.array([64, 64, 160], np.int32)
    random = np.random.default_rng(6)
    sides = []
    for rows in (64, 32):
        elements = random.integers(0, 256, (rows, 80), dtype=np.uint8)
        exponents = random.integers(125, 130, (rows, 10), dtype=np.uint8)
        compact = exponents.view(ml_dtypes.float8_e8m0fnu)
        sides.append((elements, wgrad.swizzle_scales(compact, ends, 16)))
    (a, sfa), (b, sfb) = sides
    by_cpp = wgrad.grouped_gemm_wgrad_wrapper_sm100(a, b.T, sfa, sfb, ends, sf_vec_size=16)
    result = jax.jit(
        lambda a, b, ends, sfa, sfb: wgrad.grouped_gemm_wgrad_jax_sm100(
            a, b, ends, sfa_tensor=sfa, sfb_tensor=sfb, sf_vec_size=16
        )
    )(*map(jnp.asarray, (a, b, ends, sfa, sfb)))
    np.testing.assert_array_equal(bits(result[0]), bits(by_cpp[0]))


@pytest.mark.parametrize("as_bytes", [False, True], ids=["typed scales", "uint8 scales"])
@pytest.mark.parametrize("format,vec", [("mxfp8", 32), ("mxfp4", 32), ("nvfp4", 16)])
def test_block_scaled_operands(format, vec, as_bytes):
    ends = np.array([64, 64, 160], np.int32)
    random = np.random.default_rng(4)
    x, dy = (random.normal(size=(160, width)).astype(np.float32) for width in (64, 32))
    quantized = [wgrad.quantize(t, ends, format) for t in (x, dy)]
    expected = wgrad.grouped_wgrad(*quantized, ends)

    def elements(q, rows_first):
        values = np.asarray(q.elements)  # (T or T / 2, rows), K-major
        return jnp.asarray(np.ascontiguousarray(values.T if rows_first else values))

    def scales(q):
        array = np.asarray(q.scales)
        return jnp.asarray(array.view(np.uint8) if as_bytes else array)

    fp4 = format != "mxfp8"
    optional = {}
    if format == "nvfp4":
        a, b = (jnp.asarray(np.asarray(q.global_scale)) for q in quantized)
        optional = {"global_scale_a": a, "global_scale_b": b}
    result = jax.jit(
        lambda a, b, ends, sfa, sfb, optional: wgrad.grouped_gemm_wgrad_jax_sm100(
            *(a, b, ends), sfa_tensor=sfa, sfb_tensor=sfb, sf_vec_size=vec, **optional
        )
    )(
        elements(quantized[0], True),
        elements(quantized[1], fp4),
        jnp.asarray(ends),
        *(scales(q) for q in quantized),
        optional,
    )
    np.testing.assert_array_equal(bits(result[0]), bits(expected))
