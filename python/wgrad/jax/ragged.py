"""jax.lax.ragged_dot whose gradient by the right side is wgrad's."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from .._refusals import refuse
from .natural import grouped_wgrad

_DTYPES = ("bfloat16", "float16")
_MULTIPLE = 8  # rows of 16 bytes


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
) -> jax.Array:
    """``lhs[begin:end] @ rhs[g]`` for every group g: ``jax.lax.ragged_dot``, and its values.

    What differs is the gradient by ``rhs``, which wgrad computes in memory of its own size; XLA
    computes the rest. A gradient of the result in another dtype than lhs's is rounded to lhs's
    first. Reverse mode only: ``jax.jvp`` is refused by JAX.

    Args:
        lhs: (m, k), rows sorted by group; bfloat16 or float16.
        rhs: (g, k, n), of lhs's dtype.
        group_sizes: (g,) integers. Rows past their sum belong to no group and have no part in the
            gradient of rhs.
        precision, preferred_element_type: as ``jax.lax.ragged_dot``; preferred_element_type None is
            lhs's dtype.
        group_offset: None, nothing else.

    Returns:
        (m, n) of preferred_element_type.

    Raises:
        ValueError: a bad argument, by name; where it is differentiated also k or n whose rows are
            no multiple of 16 bytes.
    """
    lhs, rhs, group_sizes = (jnp.asarray(each) for each in (lhs, rhs, group_sizes))
    if group_offset is not None:
        raise refuse("group_offset", "given", "None")
    if lhs.dtype.name not in _DTYPES:
        raise refuse("lhs", lhs.dtype.name, "bfloat16 or float16")
    if rhs.dtype != lhs.dtype:
        raise refuse("rhs", rhs.dtype.name, f"{lhs.dtype.name}, as lhs is")
    if not jnp.issubdtype(group_sizes.dtype, jnp.integer):
        raise refuse("group_sizes", group_sizes.dtype.name, "integers")
    if preferred_element_type is not None:
        preferred_element_type = jnp.dtype(preferred_element_type)
    return _eagerly(precision, preferred_element_type, lhs, rhs, group_sizes)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _ragged_dot(
    precision: Any, dtype: Any, lhs: jax.Array, rhs: jax.Array, sizes: jax.Array
) -> jax.Array:
    return jax.lax.ragged_dot(lhs, rhs, sizes, precision, dtype)


#: The same for eager calls, which then find a compiled program by what is static of them.
_eagerly = jax.jit(_ragged_dot, static_argnums=(0, 1), inline=True)


def _forward(
    precision: Any, dtype: Any, lhs: jax.Array, rhs: jax.Array, sizes: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, jax.Array, jax.Array]]:
    _require_aligned(rhs)
    return _ragged_dot(precision, dtype, lhs, rhs, sizes), (lhs, rhs, sizes)


def _backward(
    precision: Any,
    dtype: Any,
    saved: tuple[jax.Array, jax.Array, jax.Array],
    cotangent: jax.Array,
) -> tuple[jax.Array, jax.Array, None]:
    lhs, rhs, sizes = saved
    by_lhs = jax.linear_transpose(
        lambda left: jax.lax.ragged_dot(left, rhs, sizes, precision, dtype), lhs
    )
    (dlhs,) = by_lhs(cotangent)
    offsets = jnp.cumsum(sizes, dtype=jnp.int32)
    drhs = grouped_wgrad(lhs, cotangent.astype(lhs.dtype), offsets, out_dtype=rhs.dtype)
    return dlhs, drhs, None


_ragged_dot.defvjp(_forward, _backward)


def _require_aligned(rhs: jax.Array) -> None:
    """Refuses what wgrad cannot differentiate, before anything is computed."""
    if rhs.ndim == 3 and (rhs.shape[1] % _MULTIPLE or rhs.shape[2] % _MULTIPLE):
        need = f"of k and n that are multiples of {_MULTIPLE}, where it is differentiated"
        raise refuse("rhs", f"of shape {rhs.shape}", need)
