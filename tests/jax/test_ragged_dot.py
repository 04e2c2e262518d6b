"""ragged_dot has jax.lax.ragged_dot's values and gradients, that of rhs by wgrad."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import wgrad.jax
from cases import COUNTS, bits, case, weights


def operands(counts, dtype="bfloat16", tail=2):
    """lhs, rhs, group_sizes, and a gradient of the result; all of whole numbers."""
    c = case(counts, m=16, n=24, dtype=dtype, tail=0)
    lhs = np.concatenate([c.x, np.ones((tail, c.x.shape[1]), c.x.dtype)])
    dy = np.concatenate([c.dy, np.ones((tail, c.dy.shape[1]), c.dy.dtype)])
    return jnp.asarray(lhs), jnp.asarray(weights(c, dtype)), jnp.asarray(counts), jnp.asarray(dy)


@partial(jax.jit, static_argnums=0)
def gradients(function, lhs, rhs, sizes, dy):
    result, pull = jax.vjp(lambda lhs, rhs: function(lhs, rhs, sizes), lhs, rhs)
    return result, *pull(dy.astype(result.dtype))


@pytest.mark.parametrize("counts,dtype", [("odd", "bfloat16"), ("none", "bfloat16"), ("one-hot", "float16")])
def test_values_and_gradients_are_jax_lax_ragged_dots(counts, dtype):
    given = operands(COUNTS[counts], dtype)
    ours = gradients(wgrad.jax.ragged_dot, *given)
    theirs = gradients(jax.lax.ragged_dot, *given)
    for our, their in zip(ours, theirs):
        assert our.dtype == their.dtype
        np.testing.assert_array_equal(np.asarray(our), np.asarray(their))


def test_the_gradient_of_rhs_is_wgrads():
    lhs, rhs, sizes, dy = operands(COUNTS["odd"])
    text = gradients.lower(wgrad.jax.ragged_dot, lhs, rhs, sizes, dy).as_text()
    assert text.count("@wgrad_grouped_wgrad") == 1
    drhs = gradients(wgrad.jax.ragged_dot, lhs, rhs, sizes, dy)[2]
    ends = jnp.cumsum(sizes, dtype=jnp.int32)
    np.testing.assert_array_equal(bits(drhs), bits(wgrad.jax.grouped_wgrad(lhs, dy, ends)))


def test_rows_past_the_groups_have_no_part_in_the_gradient_of_rhs():
    lhs, rhs, sizes, dy = operands(COUNTS["odd"])
    poisoned = dy.at[-2:].set(jnp.nan)
    clean = gradients(wgrad.jax.ragged_dot, lhs, rhs, sizes, dy)[2]
    np.testing.assert_array_equal(
        bits(gradients(wgrad.jax.ragged_dot, lhs, rhs, sizes, poisoned)[2]), bits(clean)
    )


def test_widths_that_wgrad_cannot_differentiate_are_refused_by_name():
    lhs, rhs = jnp.ones((8, 16), jnp.bfloat16), jnp.ones((2, 16, 12), jnp.bfloat16)
    sizes = jnp.array([3, 5])
    assert wgrad.jax.ragged_dot(lhs, rhs, sizes).shape == (8, 12), "which needs no gradient of rhs"
    with pytest.raises(ValueError, match="rhs is of shape .*; it must be of k and n that are multiples"):
        jax.grad(lambda rhs: wgrad.jax.ragged_dot(lhs, rhs, sizes).astype(jnp.float32).sum())(rhs)


def test_checkpoint_and_scan_over_layers():
    lhs, rhs, sizes, _ = operands([4, 4, 0, 2])
    layers = jnp.stack([rhs, rhs[::-1]])
    back = jnp.asarray(np.random.default_rng(2).integers(-2, 3, (2, 4, 24, 16)), jnp.bfloat16)

    def loss(dot, layers, back):
        @jax.checkpoint
        def layer(rows, weight):
            up, down = weight
            return dot(dot(rows, up, sizes) / 64, down, sizes) / 64, None

        return jax.lax.scan(layer, lhs, (layers, back))[0].astype(jnp.float32).sum()

    ours = jax.jit(jax.grad(lambda *a: loss(wgrad.jax.ragged_dot, *a), argnums=(0, 1)))(layers, back)
    theirs = jax.jit(jax.grad(lambda *a: loss(jax.lax.ragged_dot, *a), argnums=(0, 1)))(layers, back)
    for our, their in zip(ours, theirs):
        our, their = np.asarray(our, np.float32), np.asarray(their, np.float32)
        assert np.abs(our - their).max() <= 2**-7 * np.abs(their).max()
        assert np.abs(their).max() > 0


def test_preferred_element_type_is_kept():
    lhs, rhs, sizes, dy = operands(COUNTS["odd"])

    def function(lhs, rhs, sizes):
        return wgrad.jax.ragged_dot(lhs, rhs, sizes, preferred_element_type=jnp.float32)

    result, dlhs, drhs = gradients(function, lhs, rhs, sizes, dy)
    assert (result.dtype, dlhs.dtype, drhs.dtype) == (jnp.float32, jnp.bfloat16, jnp.bfloat16)
    _, _, by_bf16 = gradients(wgrad.jax.ragged_dot, lhs, rhs, sizes, dy)
    np.testing.assert_array_equal(bits(drhs), bits(by_bf16))


def test_batched_experts_by_vmap():
    lhs, rhs, sizes, dy = operands(COUNTS["odd"])
    both = [jnp.stack([lhs, lhs * 2]), *(jnp.stack([each, each]) for each in (rhs, sizes, dy))]
    _, _, drhs = jax.vmap(lambda *given: gradients(wgrad.jax.ragged_dot, *given))(*both)
    single = gradients(wgrad.jax.ragged_dot, lhs, rhs, sizes, dy)[2]
    np.testing.assert_array_equal(np.asarray(drhs[0]), np.asarray(single))
    np.testing.assert_array_equal(np.asarray(drhs[1]), np.asarray(single * 2))


@pytest.mark.parametrize("axes", [(0, 0, 0), (None, 0, None), (1, None, None), (0, None, 0), (None, 1, 0)])
def test_gradients_under_vmap_are_those_of_one_call_after_another(axes):
    lhs, rhs, sizes, dy = operands([5, 0, 3])
    choices = [(lhs, lhs * 2), (rhs, rhs[::-1]), (sizes, sizes[::-1])]
    stacked = [a if at is None else jnp.stack([a, b], at) for (a, b), at in zip(choices, axes)]
    single = [(a, a) if at is None else (a, b) for (a, b), at in zip(choices, axes)]

    def function(*given):
        return gradients(wgrad.jax.ragged_dot, *given, dy)

    together = jax.jit(jax.vmap(function, axes))(*stacked)
    for index in range(2):
        alone = function(*(each[index] for each in single))
        for ours, theirs in zip(together, alone):
            assert np.asarray(theirs).any()
            np.testing.assert_array_equal(bits(ours[index]), bits(theirs))


def plain(lhs, rhs, sizes, preferred_element_type):
    """ragged_dot as an einsum, which JAX differentiates any number of times."""
    ends = jnp.cumsum(sizes)
    token = jnp.arange(lhs.shape[0])
    own = ((token >= (ends - sizes)[:, None]) & (token < ends[:, None])).astype(jnp.float32)
    lhs, rhs = lhs.astype(jnp.float32), rhs.astype(jnp.float32)
    return jnp.einsum("et,tk,ekn->tn", own, lhs, rhs)


@pytest.mark.parametrize("by", [0, 1])
def test_gradients_of_gradients(by):
    """By rhs JAX's own cannot be differentiated twice."""
    lhs, rhs, sizes, _ = operands([5, 0, 3], tail=0)

    def twice(function):
        def loss(lhs, rhs):
            return (function(lhs, rhs, sizes, preferred_element_type=jnp.float32) ** 2).sum()

        def length(lhs, rhs):
            return (jax.grad(loss, by)(lhs, rhs).astype(jnp.float32) / 64).sum()

        return jax.jit(jax.grad(length, (0, 1)))(lhs, rhs)

    for ours, theirs in zip(twice(wgrad.jax.ragged_dot), twice(plain)):
        ours, theirs = np.asarray(ours, np.float32), np.asarray(theirs, np.float32)
        assert np.abs(ours - theirs).max() <= 2**-6 * np.abs(theirs).max()
        assert theirs.any()
