"""The weight gradient and ragged_dot, which are each other's derivatives; what vmap does to them all.

JAX's own rules for vmap of ragged_dot know some cases and raise NotImplementedError for the others.
Here it makes one call after another, as it does of the custom call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from inspect import signature
from typing import Any

import jax
import jax.numpy as jnp

from .. import _core
from .._functions import NATURAL
from .._refusals import refuse
from ..natural import grouped_wgrad
from .dense import dense
from .in_turn import in_turn
from .statement import Statement, checked, like

_MULTIPLE = 8  # rows of 16 bytes

#: What wgrad.grouped_wgrad takes where its caller says nothing.
DEFAULTS: dict[str, Any] = {
    name: parameter.default for name, parameter in signature(grouped_wgrad).parameters.items()
}


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def weight_gradient(
    statement: Statement, x: jax.Array, dy: jax.Array, offsets: jax.Array, out: jax.Array | None
) -> jax.Array:
    """(E, M, N): what the statement says of x (T, M), dy (T, N), offsets and what it adds to."""
    return dense(statement, *statement.stored(x, dy), offsets, *(() if out is None else (out,)))


def _weight_forward(
    statement: Statement, x: jax.Array, dy: jax.Array, offsets: jax.Array, out: jax.Array | None
) -> tuple[jax.Array, tuple[jax.Array, jax.Array, jax.Array, bool]]:
    return weight_gradient(statement, x, dy, offsets, out), (x, dy, offsets, out is not None)


def _weight_backward(
    statement: Statement, saved: tuple[jax.Array, jax.Array, jax.Array, bool], cotangent: jax.Array
) -> tuple[jax.Array, jax.Array, None, jax.Array | None]:
    """The operation is linear in x, in dy and in out."""
    x, dy, offsets, has_out = saved
    sizes = jnp.diff(offsets, prepend=jnp.zeros_like(offsets, shape=1))
    by_weight = cotangent.astype(x.dtype)
    dx = dot(None, x.dtype, dy, by_weight.swapaxes(1, 2), sizes)
    ddy = dot(None, dy.dtype, x, by_weight, sizes)
    if not has_out:
        return dx, ddy, None, None
    accumulates = statement.fields["accumulate"]
    return dx, ddy, None, cotangent if accumulates else jnp.zeros_like(cotangent)


weight_gradient.defvjp(_weight_forward, _weight_backward)


@lru_cache(maxsize=256)
def _plain(precision: Any, dtype: Any) -> Callable[..., jax.Array]:
    return in_turn(lambda lhs, rhs, sizes: jax.lax.ragged_dot(lhs, rhs, sizes, precision, dtype))


@lru_cache(maxsize=256)
def _transposed(precision: Any, dtype: Any) -> Callable[..., jax.Array]:
    def by_lhs(
        lhs: jax.Array, cotangent: jax.Array, rhs: jax.Array, sizes: jax.Array
    ) -> jax.Array:
        of_lhs = partial(_dot_of, precision, dtype, rhs, sizes)
        (result,) = jax.linear_transpose(of_lhs, lhs)(cotangent)
        return result

    return in_turn(by_lhs)


def _dot_of(
    precision: Any, dtype: Any, rhs: jax.Array, sizes: jax.Array, lhs: jax.Array
) -> jax.Array:
    return jax.lax.ragged_dot(lhs, rhs, sizes, precision, dtype)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def dot(precision: Any, dtype: Any, lhs: jax.Array, rhs: jax.Array, sizes: jax.Array) -> jax.Array:
    """``jax.lax.ragged_dot(lhs, rhs, sizes, precision, dtype)``, the gradient of rhs by wgrad."""
    return _plain(precision, dtype)(lhs, rhs, sizes)


def _dot_forward(
    precision: Any, dtype: Any, lhs: jax.Array, rhs: jax.Array, sizes: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, jax.Array, jax.Array]]:
    _require_aligned(rhs)
    return dot(precision, dtype, lhs, rhs, sizes), (lhs, rhs, sizes)


def _dot_backward(
    precision: Any,
    dtype: Any,
    saved: tuple[jax.Array, jax.Array, jax.Array],
    cotangent: jax.Array,
) -> tuple[jax.Array, jax.Array, None]:
    lhs, rhs, sizes = saved
    dlhs = dot_by_lhs(precision, dtype, lhs, cotangent, rhs, sizes)
    return dlhs, _by_rhs(lhs, cotangent, rhs, sizes), None


dot.defvjp(_dot_forward, _dot_backward)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def dot_by_lhs(
    precision: Any,
    dtype: Any,
    lhs: jax.Array,
    cotangent: jax.Array,
    rhs: jax.Array,
    sizes: jax.Array,
) -> jax.Array:
    """The gradient of dot()'s lhs, the sums of XLA's own. Of `lhs` it reads the type alone."""
    return _transposed(precision, dtype)(lhs, cotangent, rhs, sizes)


def _by_lhs_forward(
    precision: Any,
    dtype: Any,
    lhs: jax.Array,
    cotangent: jax.Array,
    rhs: jax.Array,
    sizes: jax.Array,
) -> tuple[jax.Array, tuple[jax.Array, jax.Array, jax.Array]]:
    return dot_by_lhs(precision, dtype, lhs, cotangent, rhs, sizes), (cotangent, rhs, sizes)


def _by_lhs_backward(
    precision: Any,
    dtype: Any,
    saved: tuple[jax.Array, jax.Array, jax.Array],
    given: jax.Array,
) -> tuple[None, jax.Array, jax.Array, None]:
    """`given` stands where lhs stood in dot()."""
    cotangent, rhs, sizes = saved
    by_cotangent = dot(precision, dtype, given, rhs, sizes)
    return None, by_cotangent, _by_rhs(given, cotangent, rhs, sizes), None


dot_by_lhs.defvjp(_by_lhs_forward, _by_lhs_backward)


def _by_rhs(lhs: jax.Array, cotangent: jax.Array, rhs: jax.Array, sizes: jax.Array) -> jax.Array:
    offsets = jnp.cumsum(sizes, dtype=jnp.int32)
    given = cotangent.astype(lhs.dtype)
    options = NATURAL.options(DEFAULTS | {"out_dtype": rhs.dtype})
    tensors = {"a": like(lhs), "b": like(given), "offsets": like(offsets)}
    statement = checked(_core.Api.NATURAL, options, False, **tensors).overwriting()
    return weight_gradient(statement, lhs, given, offsets, None)


def _require_aligned(rhs: jax.Array) -> None:
    """Refuses what wgrad cannot differentiate, before anything is computed."""
    if rhs.ndim == 3 and (rhs.shape[1] % _MULTIPLE or rhs.shape[2] % _MULTIPLE):
        need = f"of k and n that are multiples of {_MULTIPLE}, where it is differentiated"
        raise refuse("rhs", f"of shape {rhs.shape}", need)
