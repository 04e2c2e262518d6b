"""The rule by which jit's partitioners divide a call among devices, without gathering operands.

M and N are divided as the operands are. Tokens are summed over: each device computes float32 sums
of its own, and those are added up. The experts stay whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Spec

from .statement import Statement

Call = Callable[..., jax.Array]
Names = tuple[str, ...]

_BYTES = 16  # to which rows are aligned


def partitioned(statement: Statement, count: int, call: Call) -> Call:
    """``partial(call, statement)`` of `count` arrays, with the rule."""

    def plain(*arrays: jax.Array) -> jax.Array:
        return call(statement, *arrays)

    whole = custom_partitioning(plain)
    a, b = (" ".join(order(("t", name))) for order, name in zip(_orders(statement), "mn"))
    out = ", e m n" if count > statement.inputs else ""
    whole.def_partition(
        partition=partial(_partition, statement, call),
        infer_sharding_from_operands=partial(_infer, statement),
        sharding_rule=f"{a}, {b}, e{out} -> e m n",
        reduction_factors=("t",),
        need_replication_factors=("e",),
    )
    return whole


@dataclass(frozen=True)
class _Division:
    """The mesh axes among which each extent is divided."""

    tokens: Names
    m: Names
    n: Names


def _orders(statement: Statement) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """For A and for B: (of tokens, of features) as their axes lie, or back."""

    def reverse(pair: Any) -> Any:
        return pair[::-1]

    def keep(pair: Any) -> Any:
        return pair

    fields = statement.fields
    return tuple(reverse if fields[f"{x}_major"] == "k" else keep for x in "ab")  # type: ignore


def _division(statement: Statement, mesh: Mesh, inputs: Any) -> _Division:
    """As A is divided, and B in N by what axes are left; only parts whose rows stay aligned."""
    a, b = (
        list(zip(order(array.shape), order((*array.sharding.spec, None, None)[:2])))
        for order, array in zip(_orders(statement), inputs)
    )
    k_major = "k" in (statement.fields["a_major"], statement.fields["b_major"])
    wide = _BYTES // 2  # elements of 16 bits; an output's rows are no narrower
    tokens = _along(mesh, *a[0], wide if k_major else 1, ())
    m = _along(mesh, *a[1], wide, tokens)
    return _Division(tokens, m, _along(mesh, *b[1], wide, tokens + m))


def _along(mesh: Mesh, extent: int, spec: Any, multiple: int, taken: Names) -> Names:
    names = (spec,) if isinstance(spec, str) else tuple(spec or ())
    whole = extent % (_parts(mesh, names) * multiple) == 0
    return names if whole and not set(names) & set(taken) else ()


def _parts(mesh: Mesh, names: Names) -> int:
    return math.prod(mesh.shape[name] for name in names)


def _infer(statement: Statement, mesh: Mesh, inputs: Any, result: Any) -> NamedSharding:
    by = _division(statement, mesh, inputs)
    return NamedSharding(mesh, Spec(None, by.m, by.n))


def _partition(
    statement: Statement, call: Call, mesh: Mesh, inputs: Any, result: Any
) -> tuple[Mesh, Call, NamedSharding, tuple[NamedSharding, ...]]:
    by = _division(statement, mesh, inputs)
    orders = _orders(statement)
    output = Spec(None, by.m, by.n)
    specs = [Spec(*order((by.tokens, x))) for order, x in zip(orders, (by.m, by.n))]
    specs += [Spec(None), *(output for _ in inputs[3:])]
    part = partial(call, _part(statement, mesh, by))
    if by.tokens:
        part = partial(_sum_over, by.tokens, statement, part)
    return mesh, part, NamedSharding(mesh, output), tuple(NamedSharding(mesh, s) for s in specs)


def _part(statement: Statement, mesh: Mesh, by: _Division) -> Statement:
    """What one device computes; of divided tokens a float32 sum that is added to nothing."""
    fields = statement.fields
    fields["tokens"] //= _parts(mesh, by.tokens)
    fields["m"] //= _parts(mesh, by.m)
    fields["n"] //= _parts(mesh, by.n)
    if by.tokens:
        fields |= {"wgrad_dtype": "float32", "accumulate": False}
    shape = (fields["experts"], fields["m"], fields["n"])
    return replace(statement, shape=shape, dtype=fields["wgrad_dtype"], items=tuple(fields.items()))


def _sum_over(
    axes: Names,
    statement: Statement,
    part: Call,
    a: jax.Array,
    b: jax.Array,
    offsets: jax.Array,
    *out: jax.Array,
) -> jax.Array:
    """The sum of the parts of devices that hold consecutive tokens each."""
    tokens = a.shape[1 if statement.fields["a_major"] == "k" else 0]
    ends = jnp.clip(offsets - jax.lax.axis_index(axes) * tokens, 0, tokens)
    total: jax.Array = jax.lax.psum(part(a, b, ends), axes)
    if statement.fields["accumulate"]:
        total = total + out[0].astype(total.dtype)
    return total.astype(statement.dtype)
