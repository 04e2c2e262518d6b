"""The custom call that XLA knows as ``wgrad_grouped_wgrad``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax

from .. import _jax_ffi
from .._toolchain import nvrtc_wheel_folders

NAME = "wgrad_grouped_wgrad"

for _folder in nvrtc_wheel_folders(sys.path):
    _jax_ffi.add_nvrtc_folder(_folder)
jax.ffi.register_ffi_target(NAME, _jax_ffi.cpu_stages(), platform="cpu")
jax.ffi.register_ffi_target(NAME, _jax_ffi.cuda_stages(), platform="CUDA")


def call(
    inputs: Sequence[jax.Array],
    shape: tuple[int, ...],
    dtype: Any,
    attributes: Mapping[str, Any],
    in_place: jax.Array | None = None,
    side_effect: bool = False,
) -> jax.Array:
    """The one result of the custom call: an array of `shape` and `dtype`.

    `in_place`: the array whose memory the result takes, where it is donated or not used later;
    else XLA copies it first. `side_effect`: kept where nobody uses the result.
    """
    operands = list(inputs) if in_place is None else [*inputs, in_place]
    varying = frozenset[str]().union(*(_varying(each) for each in operands))
    operands = [_vary(each, varying - _varying(each)) for each in operands]
    bound = jax.ffi.ffi_call(
        NAME,
        _result(shape, dtype, varying),
        has_side_effect=side_effect,
        input_output_aliases=None if in_place is None else {len(inputs): 0},
    )
    return bound(*operands, **attributes)


# What shard_map keeps count of has had two names: `vma`, until jax 0.9.2 at least, and `manual_axis_type`.


def _varying(array: jax.Array) -> frozenset[str]:
    """The mesh axes along which `array` differs, where shard_map keeps count of them."""
    kind = jax.typeof(array)
    if hasattr(kind, "manual_axis_type"):
        return frozenset(kind.manual_axis_type.varying)
    return frozenset(kind.vma)


def _result(shape: tuple[int, ...], dtype: Any, varying: frozenset[str]) -> jax.ShapeDtypeStruct:
    if not varying:
        return jax.ShapeDtypeStruct(shape, dtype)
    mesh = jax.sharding.get_abstract_mesh()
    whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    make: Any = partial(jax.ShapeDtypeStruct, shape, dtype, sharding=whole)
    if hasattr(jax.sharding, "ManualAxisType"):
        return make(manual_axis_type=jax.sharding.ManualAxisType(varying=varying))
    return make(vma=varying)


def _vary(array: jax.Array, axes: frozenset[str]) -> jax.Array:
    """`array`, taken as different along `axes` too."""
    if not axes:
        return array
    names = tuple(sorted(axes))
    lax: Any = jax.lax
    return lax.pcast(array, names, to="varying") if hasattr(lax, "pcast") else lax.pvary(array, names)
