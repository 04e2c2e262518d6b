"""Bad input is refused in words: while it is traced where it is static, else when it runs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import wgrad
import wgrad.jax
from cases import case

SHAPES = {"x": (8, 16), "dy": (8, 24), "offsets": (2,), "out": (2, 16, 24)}


def arrays(**changes):
    given = {
        "x": jnp.zeros(SHAPES["x"], jnp.bfloat16),
        "dy": jnp.zeros(SHAPES["dy"], jnp.bfloat16),
        "offsets": jnp.array([3, 8], jnp.int32),
    }
    return given | changes


BAD = {
    "rank": ({"x": jnp.zeros((8,), jnp.bfloat16)}, "x is of shape"),
    "dtype": ({"x": jnp.zeros((8, 16), jnp.float32)}, "x is float32"),
    "two dtypes": ({"dy": jnp.zeros((8, 24), jnp.float16)}, "dtypes of x, dy"),
    "tokens": ({"dy": jnp.zeros((9, 24), jnp.bfloat16)}, "dy is 9 tokens long"),
    "width": ({"dy": jnp.zeros((8, 3), jnp.bfloat16)}, "N"),
    "offsets' dtype": ({"offsets": jnp.zeros(2, jnp.float32)}, "offsets is float32"),
    "offsets' rank": ({"offsets": jnp.zeros((2, 1), jnp.int32)}, "offsets is of shape"),
    "out's shape": ({"out": jnp.zeros((2, 16, 16), jnp.float32)}, "out is of shape"),
    "out's dtype": ({"out": jnp.zeros((2, 16, 24), jnp.int32)}, "out is int32"),
    "two output dtypes": (
        {"out": jnp.zeros((2, 16, 24), jnp.float32), "out_dtype": "bfloat16"},
        "out_dtype is bfloat16",
    ),
    "acc_dtype": ({"acc_dtype": "float16"}, "acc_dtype"),
    "tile": ({"mma_tiler_mn": (100, 256)}, "mma_tiler_mn"),
    "cluster": ({"cluster_shape_mn": (3, 1)}, "cluster_shape_mn"),
    "backend": ({"backend": "tpu"}, "backend is 'tpu'"),
    "sm_limit": ({"sm_limit": 8}, "sm_limit"),
    "accumulate": ({"accumulate": 1}, "accumulate is 1"),
}


@pytest.mark.parametrize("changes,words", BAD.values(), ids=BAD)
def test_static_faults_are_refused_under_tracing_in_the_eager_words(changes, words):
    with pytest.raises((wgrad.ValueError, wgrad.RuntimeError), match=words) as eager:
        wgrad.jax.grouped_wgrad(**arrays(**changes))
    tensors = {k: v for k, v in arrays(**changes).items() if isinstance(v, jax.Array)}
    others = {k: v for k, v in changes.items() if k not in tensors}
    with pytest.raises(type(eager.value)) as traced:
        jax.jit(lambda tensors: wgrad.jax.grouped_wgrad(**tensors, **others))(tensors)
    assert str(traced.value) == str(eager.value)


@pytest.mark.parametrize("ends", [[3, 2], [-1, 8], [3, 9]], ids=["decrease", "negative", "beyond"])
def test_values_of_offsets_are_refused_when_a_cpu_runs(ends):
    given = arrays(offsets=jnp.array(ends, jnp.int32))
    with pytest.raises(Exception, match=r"offsets\[[01]\] is"):
        jax.block_until_ready(jax.jit(wgrad.jax.grouped_wgrad)(**given))


def test_what_no_operand_of_wgrad_is():
    given = operands = arrays()
    with pytest.raises(wgrad.ValueError, match="lhs is float32; it must be bfloat16 or float16"):
        wgrad.jax.ragged_dot(jnp.zeros((8, 16)), jnp.zeros((2, 16, 24)), given["offsets"])
    rhs = jnp.zeros((2, 16, 24), jnp.float16)
    with pytest.raises(wgrad.ValueError, match="rhs is float16; it must be bfloat16"):
        wgrad.jax.ragged_dot(operands["x"], rhs, given["offsets"])
    rhs = rhs.astype(jnp.bfloat16)
    with pytest.raises(wgrad.ValueError, match="group_offset is given; it must be None"):
        wgrad.jax.ragged_dot(operands["x"], rhs, given["offsets"], group_offset=jnp.zeros(1))
    with pytest.raises(wgrad.ValueError, match="group_sizes is float32; it must be integers"):
        wgrad.jax.ragged_dot(operands["x"], rhs, jnp.zeros(2))


def test_arrays_of_two_devices_are_refused():
    c = case()
    x, dy, ends = (jax.device_put(a, d) for a, d in zip(c.arrays, jax.devices()))
    with pytest.raises(ValueError, match="devices"):
        wgrad.jax.grouped_wgrad(x, dy, ends)


def test_forward_mode_is_refused():
    c = case()
    x, dy, ends = c.arrays
    with pytest.raises(TypeError, match="custom_vjp"):
        jax.jvp(lambda x: wgrad.jax.grouped_wgrad(x, dy, ends), (x,), (jnp.ones_like(x),))
    assert np.isnan(np.asarray(x, np.float32)).any()  # the rows past the last end
