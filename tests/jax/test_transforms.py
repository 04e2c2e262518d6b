"""grouped_wgrad under what JAX does to functions: jit with donation, grad, scan, vmap."""

from __future__ import annotations

import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import wgrad.jax
from cases import bits, case, weights


def accumulate(x, dy, ends, main_grad):
    return wgrad.jax.grouped_wgrad(x, dy, ends, main_grad, accumulate=True)


def test_a_donated_output_is_updated_in_place():
    c = case()
    main_grad = jnp.asarray(weights(c, "float32"))
    expected = c.by_cpp("float32", np.asarray(main_grad))
    step = jax.jit(accumulate, donate_argnums=3)
    compiled = step.lower(*c.arrays, main_grad).compile()
    memory = compiled.memory_analysis()
    assert memory.alias_size_in_bytes == main_grad.nbytes
    assert memory.temp_size_in_bytes == 0
    assert "copy" not in compiled.as_text()
    address = main_grad.unsafe_buffer_pointer()
    result = step(*c.arrays, main_grad)
    assert main_grad.is_deleted()
    assert result.unsafe_buffer_pointer() == address
    np.testing.assert_array_equal(bits(result), expected)


def test_an_output_that_is_kept_is_copied_once():
    c = case()
    main_grad = jnp.asarray(weights(c, "float32"))
    text = jax.jit(accumulate).lower(*c.arrays, main_grad).compile().as_text()
    assert text.count(" copy(") == 1


def test_micro_batches_add_up_in_one_float32_main_grad():
    batches = [case(seed=seed) for seed in range(4)]
    main_grad = weights(batches[0], "float32")
    expected = main_grad.copy()
    for c in batches:
        expected = c.by_cpp("float32", expected).view(np.float32)
    step = jax.jit(accumulate, donate_argnums=3)
    result = jnp.asarray(main_grad)
    for c in batches:
        result = step(*c.arrays, result)
    np.testing.assert_array_equal(bits(result), bits(expected))


def test_scan_carries_the_main_grad_without_a_copy():
    batches = [case(seed=seed) for seed in range(3)]
    stacked = [jnp.stack(each) for each in zip(*(c.arrays for c in batches))]
    main_grad = jnp.asarray(weights(batches[0], "float32"))

    def total(main_grad, x, dy, ends):
        def body(carry, batch):
            return accumulate(*batch, carry), None

        return jax.lax.scan(body, main_grad, (x, dy, ends))[0]

    expected = np.asarray(main_grad).copy()
    for c in batches:
        expected = c.by_cpp("float32", expected).view(np.float32)
    step = jax.jit(total, donate_argnums=0)
    text = step.lower(main_grad, *stacked).compile().as_text()
    assert "f32[4,64,48]" in text and not re.findall(r"= f32\[4,64,48\]\S* copy\(", text)
    np.testing.assert_array_equal(bits(step(main_grad, *stacked)), bits(expected))


def test_vmap_of_nothing_is_nothing():
    c = case()
    x, dy, ends = c.arrays
    result = jax.vmap(lambda x: wgrad.jax.grouped_wgrad(x, dy, ends))(x[None][:0])
    assert result.shape == (0, 4, 64, 48) and result.dtype == jnp.bfloat16


@pytest.mark.parametrize("axes", [(0, 0, 0), (None, 0, None), (1, None, 0)])
def test_vmap_is_one_call_after_another(axes):
    cases = [case(seed=seed) for seed in range(3)]
    first = cases[0].arrays
    stacked = [
        one if axis is None else jnp.stack(each, axis)
        for one, each, axis in zip(first, zip(*(c.arrays for c in cases)), axes)
    ]
    results = jax.jit(jax.vmap(wgrad.jax.grouped_wgrad, in_axes=axes))(*stacked)
    for index, result in enumerate(results):
        picked = [
            one if axis is None else jnp.take(each, index, axis)
            for one, each, axis in zip(first, stacked, axes)
        ]
        np.testing.assert_array_equal(bits(result), bits(wgrad.jax.grouped_wgrad(*picked)))


def reference(x, dy, ends):
    """Wgrad in plain float32 einsum, for JAX to differentiate."""
    token = jnp.arange(x.shape[0])
    begins = jnp.concatenate([jnp.zeros(1, ends.dtype), ends[:-1]])
    own = ((token >= begins[:, None]) & (token < ends[:, None])).astype(jnp.float32)
    x, dy = x.astype(jnp.float32), dy.astype(jnp.float32)
    return jnp.einsum("et,tm,tn->emn", own, x, dy)


def test_the_gradient_of_the_gradient():
    c = case([5, 0, 3], m=16, n=8)
    c.x[-2:], c.dy[-2:] = 1, 1  # rows past the last end, for JAX's own sums too
    weight = jnp.asarray(weights(c, "float32"))
    x, dy, ends = c.arrays

    @partial(jax.jit, static_argnums=0)
    def gradients(function, x, dy):
        return jax.grad(lambda x, dy: (function(x, dy, ends) * weight).sum(), argnums=(0, 1))(x, dy)

    def by_wgrad(*arrays):
        return wgrad.jax.grouped_wgrad(*arrays, out_dtype="float32")

    for ours, theirs in zip(gradients(by_wgrad, x, dy), gradients(reference, x, dy)):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
        assert not ours[-2:].any() and ours.any()


@pytest.mark.parametrize("adds", [False, True])
def test_the_gradient_by_the_output_says_whether_it_was_read(adds):
    c = case([3, 0], m=8, n=8)
    out = jnp.asarray(weights(c, "float32"))

    @jax.jit
    def loss(out):
        return (wgrad.jax.grouped_wgrad(*c.arrays, out, accumulate=adds) * 3).sum()

    assert (jax.grad(loss)(out) == (3 if adds else 0)).all()

@pytest.mark.parametrize("axes", [(0, 0, 0), (None, 0, None), (1, None, 0)])
def test_vmap_of_the_gradient_of_the_gradient(axes):
    cases = [case([5, 0, 3], m=16, n=8, seed=seed) for seed in range(2)]
    weight = jnp.asarray(weights(cases[0], "float32"))
    first = cases[0].arrays
    stacked = [
        one if axis is None else jnp.stack(each, axis)
        for one, each, axis in zip(first, zip(*(c.arrays for c in cases)), axes)
    ]

    def gradients(x, dy, ends):
        def loss(x, dy):
            return (wgrad.jax.grouped_wgrad(x, dy, ends, out_dtype="float32") * weight).sum()

        return jax.grad(loss, argnums=(0, 1))(x, dy)

    results = jax.jit(jax.vmap(gradients, in_axes=axes))(*stacked)
    for index in range(2):
        picked = [
            one if axis is None else jnp.take(each, index, axis)
            for one, each, axis in zip(first, stacked, axes)
        ]
        for ours, theirs in zip(results, gradients(*picked)):
            assert theirs.any()
            np.testing.assert_array_equal(bits(ours[index]), bits(theirs))
