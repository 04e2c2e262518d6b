"""jax.lax.ragged_dot whose gradient by the right side is wgrad's."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .._refusals import refuse
from .derivatives import dot

_DTYPES = ("bfloat16", "float16")


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


#: Under jit, so that eager calls find a compiled program by what is static of them.
_eagerly = jax.jit(dot, static_argnums=(0, 1), inline=True)
