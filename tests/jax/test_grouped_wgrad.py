"""grouped_wgrad through the XLA custom call gives the bits of the C++ call."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import wgrad.jax
from cases import COUNTS, bits, case, weights


@pytest.mark.parametrize("out_dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
def test_bits_are_the_cpp_calls(counts, dtype, out_dtype):
    c = case(counts, dtype=dtype)
    call = jax.jit(lambda *arrays: wgrad.jax.grouped_wgrad(*arrays, out_dtype=out_dtype))
    np.testing.assert_array_equal(bits(call(*c.arrays)), c.by_cpp(out_dtype))


@pytest.mark.parametrize("out_dtype", ["bfloat16", "float16", "float32"])
def test_accumulates_straight_from_float32(out_dtype):
    c = case(seed=3)
    out = weights(c, out_dtype)
    result = wgrad.jax.grouped_wgrad(*c.arrays, jnp.asarray(out), accumulate=True)
    np.testing.assert_array_equal(bits(result), c.by_cpp(out_dtype, out))


def test_an_output_that_is_not_donated_keeps_its_values():
    c = case()
    out = jnp.asarray(weights(c, "float32"))
    before = np.asarray(out).copy()
    result = wgrad.jax.grouped_wgrad(*c.arrays, out)
    np.testing.assert_array_equal(np.asarray(out), before)
    np.testing.assert_array_equal(bits(result), c.by_cpp("float32"))


def test_256_and_1_are_257():
    ones = jnp.ones((1, 8), jnp.bfloat16)
    main_grad = jnp.full((1, 8, 8), 256, jnp.float32)
    ends = jnp.array([1], jnp.int32)
    result = wgrad.jax.grouped_wgrad(ones, ones, ends, main_grad, accumulate=True)
    assert (result == 257).all()


def test_without_tokens_there_are_zeros():
    x, dy = jnp.zeros((0, 16), jnp.bfloat16), jnp.zeros((0, 8), jnp.bfloat16)
    result = wgrad.jax.grouped_wgrad(x, dy, jnp.zeros(3, jnp.int32))
    assert result.shape == (3, 16, 8) and result.dtype == jnp.bfloat16
    assert not result.any()


def test_a_new_output_has_nothing_to_add_to():
    c = case()
    result = wgrad.jax.grouped_wgrad(*c.arrays, accumulate=True)
    np.testing.assert_array_equal(bits(result), c.by_cpp("bfloat16"))


def test_numpy_arrays_are_taken():
    c = case()
    result = jax.jit(wgrad.jax.grouped_wgrad)(c.x, c.dy, c.ends)
    np.testing.assert_array_equal(bits(result), c.by_cpp("bfloat16"))


def test_operators_are_prepared_anew_after_they_were_forgotten():
    c = case(seed=5)
    call = jax.jit(wgrad.jax.grouped_wgrad)
    first = call(*c.arrays)
    wgrad.jax.clear_caches()
    np.testing.assert_array_equal(bits(call(*c.arrays)), bits(first))


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_the_named_backend_computes(backend):
    c = case()
    result = wgrad.jax.grouped_wgrad(*c.arrays, backend=backend, out_dtype="float32")
    np.testing.assert_array_equal(bits(result), c.by_cpp("float32"))


def test_a_committed_array_computes_where_it_is():
    c = case()
    device = jax.devices()[-1]
    arrays = [jax.device_put(each, device) for each in c.arrays]
    result = wgrad.jax.grouped_wgrad(*arrays)
    assert result.devices() == {device}
    np.testing.assert_array_equal(bits(result), c.by_cpp("bfloat16"))


def test_every_device_computes_its_own():
    call = jax.jit(wgrad.jax.grouped_wgrad)
    cases = [case(seed=seed) for seed in range(len(jax.devices()))]
    results = [
        call(*(jax.device_put(each, device) for each in c.arrays))
        for c, device in zip(cases, jax.devices())
    ]
    for c, result in zip(cases, results):
        np.testing.assert_array_equal(bits(result), c.by_cpp("bfloat16"))
