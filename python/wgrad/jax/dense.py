"""A call with a dense output, for jit, vmap and jit's partitioners to take apart."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import jax

from . import target
from .in_turn import in_turn
from .partition import partitioned
from .statement import Statement


def dense(statement: Statement, *arrays: jax.Array) -> jax.Array:
    """(E, M, N) of a, b, offsets and the scale factors that the statement asks for.

    All are row-major: an MN-major a is (T, M), a K-major one (M, T), b likewise. One array more is
    the one whose memory the result takes.
    """
    result: jax.Array = _jitted(statement, *arrays)
    return result


@partial(jax.jit, static_argnums=0, inline=True)
def _jitted(statement: Statement, *arrays: jax.Array) -> jax.Array:
    """Under jit, so that an eager call of sharded arrays is partitioned too."""
    return _in_turn(statement, len(arrays))(*arrays)


@lru_cache(maxsize=1024)
def _in_turn(statement: Statement, count: int) -> Callable[..., jax.Array]:
    """The call, which vmap makes once for each element, one after another."""
    whole: Callable[..., jax.Array] = partial(call, statement)
    if statement.divisible:
        whole = partitioned(statement, count, call)

    return in_turn(whole)


def call(statement: Statement, *arrays: jax.Array) -> jax.Array:
    """The custom call itself, on one device."""
    given = arrays[statement.inputs] if len(arrays) > statement.inputs else None
    return target.call(
        arrays[: statement.inputs], statement.shape, statement.dtype, statement.for_xla, given
    )
