"""Functions that vmap calls once for each element, one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def in_turn(function: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """`function` of arrays, of which vmap makes a loop. It cannot be differentiated itself: a
    custom_vjp around it can."""

    @jax.custom_batching.custom_vmap
    def one(*arrays: jax.Array) -> jax.Array:
        return function(*arrays)

    @one.def_vmap
    def many(size: int, batched: list[bool], *arrays: jax.Array) -> tuple[jax.Array, bool]:
        def each(index: Any) -> jax.Array:
            return one(*(a[index] if b else a for a, b in zip(arrays, batched)))

        if size == 0:
            single = [jax.ShapeDtypeStruct(a.shape[b:], a.dtype) for a, b in zip(arrays, batched)]
            result = jax.eval_shape(function, *single)
            return jnp.zeros((0, *result.shape), result.dtype), True
        return jax.lax.map(each, jnp.arange(size)), True

    return one
