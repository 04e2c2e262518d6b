"""Outputs behind a table of addresses, which XLA knows nothing of."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from .._refusals import refuse
from . import target
from .statement import Like, Statement

_BYTES = 8  # of an address


def as_int64(table: jax.Array, experts: int) -> Like:
    """What stands for a table of addresses: (E,) int64, or without x64 its bytes in uint8.

    Raises ValueError for anything else.
    """
    if table.dtype == jnp.int64:
        return _addresses(table.shape)
    shapes = ((experts * _BYTES,), (experts, _BYTES))
    if table.dtype != jnp.uint8:
        need = "int64, which takes jax_enable_x64, or uint8: the 8 bytes of each address"
        raise refuse("wgrad_ptrs", table.dtype.name, need)
    if table.shape not in shapes:
        raise refuse("wgrad_ptrs", f"of shape {table.shape} in uint8", f"{shapes[0]} or {shapes[1]}")
    return _addresses((experts,))


def _addresses(shape: tuple[int, ...]) -> Like:
    """Sound ones, of outputs that do not overlap."""
    return Like(shape, np.dtype(np.int64), addresses=True)


@partial(jax.jit, static_argnums=0)
def through(statement: Statement, *arrays: jax.Array) -> jax.Array:
    """Writes the results through the last of `arrays`; the token to block on: (M, N) zeros of the
    outputs' dtype, as the reference's."""
    shape, dtype = statement.shape[1:], jnp.dtype(statement.dtype)
    token = jnp.zeros(shape, dtype)
    return target.call(arrays, shape, dtype, statement.for_xla, token, side_effect=True)
