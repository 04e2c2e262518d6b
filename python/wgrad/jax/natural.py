"""The natural spelling for JAX: new arrays, or a given one updated in place."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .. import _core
from .._functions import NATURAL
from .derivatives import DEFAULTS, weight_gradient
from .statement import checked, like


def grouped_wgrad(
    x: Any,
    dy: Any,
    offsets: Any,
    out: Any = None,
    accumulate: bool = False,
    *,
    out_dtype: Any = None,
    acc_dtype: Any = None,
    mma_tiler_mn: tuple[int, int] = (256, 256),
    cluster_shape_mn: tuple[int, int] | None = None,
    backend: str | None = None,
    sm_limit: int | None = None,
) -> jax.Array:
    """Weight gradient of every expert: ``x[begin:end].T @ dy[begin:end]``, as a new array.

    Works eagerly and under ``jax.jit``, ``jax.grad`` (reverse mode), ``jax.checkpoint``,
    ``lax.scan``, ``jax.vmap`` (one call after another) and ``jax.shard_map``. Where jit partitions
    it by itself, it follows shardings of M, N and the tokens without gathering an operand; partial
    sums over tokens are added up in float32.

    Args:
        x: (T, M) activations, tokens sorted by expert; bfloat16 or float16.
        dy: (T, N) gradients of the layer's output, of x's dtype.
        offsets: (E,) int32, the cumulative ends of the experts. Rows past the last are never read.
        out: an (E, M, N) array. Its memory becomes the result's where it is donated to the jitted
            function, or computed in it and used no more; otherwise XLA copies it, and it keeps its
            values.
        accumulate: the result is ``out`` plus the gradients, added in float32. False: the gradients
            alone; ``out`` then says dtype and memory. Without ``out`` nothing is added to.
        out_dtype: bfloat16, float16 or float32. Default: out's dtype, else x's.
        acc_dtype: float32, nothing else.
        mma_tiler_mn, cluster_shape_mn: the GPU kernel's tile; by default wgrad chooses.
        backend: None: the first that supports the problem.
        sm_limit: most multiprocessors of a GPU that the kernel may occupy; must be None on a CPU.

    Returns:
        (E, M, N) array: zeros for an expert without tokens, or ``out``'s part unchanged.

    Raises:
        ValueError: a bad argument, by name, while it is traced. Offsets that decrease, are negative
            or exceed T: on a CPU when it runs; a GPU touches no foreign memory then, and
            ``device_fault()`` tells.
        RuntimeError: the platform cannot run it.
    """
    x, dy, offsets = (jnp.asarray(each) for each in (x, dy, offsets))
    out = None if out is None else jnp.asarray(out)
    options = NATURAL.options(DEFAULTS | locals())
    statement = checked(
        _core.Api.NATURAL,
        options,
        False,
        a=like(x),
        b=like(dy),
        offsets=like(offsets),
        wgrad=None if out is None else like(out),
    )
    if out is None:
        statement = statement.overwriting()
    return _eagerly(statement, x, dy, offsets, out)


#: Under jit, so that eager calls find a compiled program by what is static of them.
_eagerly = jax.jit(weight_gradient, static_argnums=0, inline=True)
