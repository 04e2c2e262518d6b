"""What wgrad's own functions and classes do with JAX arrays: they return new ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from .. import _core
from .._refusals import refuse, shown
from ..tuple_dict import TupleDict, register_pytrees
from . import pointers as _pointers
from .dense import dense
from .statement import Like, Statement, checked, like

_NEW = "None: JAX arrays cannot be written; the result is a new array"

register_pytrees()


def natural(given: Mapping[str, Any], options: _core.Options) -> jax.Array:
    """wgrad.grouped_wgrad() of JAX arrays; `given`: its arguments by name."""
    if given["out"] is not None:
        need = f"{_NEW}, and wgrad.jax.grouped_wgrad returns one that takes its memory"
        raise refuse("out", "given", need)
    for name in ("stream", "workspace"):
        _refuse_given(given, name)
    tensors = {
        "a": given["x"],
        "b": given["dy"],
        "offsets": given["offsets"],
        "sfa": given["x_scale"],
        "sfb": given["dy_scale"],
        "global_scale_a": given["x_global_scale"],
        "global_scale_b": given["dy_global_scale"],
    }
    return _stacked(_core.Api.NATURAL, options, tensors)


def wrapper(given: Mapping[str, Any], options: _core.Options) -> TupleDict:
    """grouped_gemm_wgrad_wrapper_sm100() of JAX arrays; `given`: its arguments by name."""
    if given["wgrad_tensor"] is not None:
        raise refuse("wgrad_tensor", "given", f"{_NEW}, or is written through wgrad_ptrs")
    for name in ("current_stream", "descriptor_workspace"):
        _refuse_given(given, name)
    tensors = call_tensors(given)
    if given["wgrad_ptrs"] is None:
        return TupleDict(wgrad_tensor=_stacked(_core.Api.CALL, options, tensors))
    statement, ready = prepared(_core.Api.CALL, options, tensors, given["wgrad_ptrs"])
    jax.block_until_ready(_pointers.through(statement, *ready))  # there is nothing else to wait for
    return TupleDict(wgrad_tensor=None)


def functional(given: Mapping[str, Any], options: _core.Options) -> Any:
    """grouped_gemm_wgrad_jax_sm100(); `given`: its arguments by name."""
    statement, ready = prepared(
        _core.Api.CALL,
        options,
        call_tensors(given),
        given["wgrad_ptrs"],
        b_packed_by_rows=given["b_packed_by_rows"],
    )
    if given["wgrad_ptrs"] is None:
        return TupleDict(wgrad_tensor=dense(statement, *ready))
    return _pointers.through(statement, *ready)


def call_tensors(given: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors of the drop-in functions, by the core's names."""
    names = ("a", "b", "offsets", "sfa", "sfb")
    tensors = {name: given[f"{name}_tensor"] for name in names}
    return tensors | {name: given[name] for name in ("global_scale_a", "global_scale_b")}


def prepared(
    api: _core.Api,
    options: _core.Options,
    tensors: Mapping[str, Any],
    wgrad_ptrs: Any = None,
    wgrad: Like | None = None,
    b_packed_by_rows: bool = False,
) -> tuple[Statement, list[jax.Array]]:
    """The Statement of a call and its arrays, as dense() and through() take them.

    `wgrad`: what an output is like; `b_packed_by_rows`: B is packed FP4 (N, T / 2).
    """
    arrays = {n: jnp.asarray(each) for n, each in tensors.items() if each is not None}
    views = {name: like(each, b_packed_by_rows and name == "b") for name, each in arrays.items()}
    if wgrad_ptrs is not None:
        wgrad_ptrs = jnp.asarray(wgrad_ptrs)
        views["wgrad_ptrs"] = _pointers.as_int64(wgrad_ptrs, arrays["offsets"].shape[0])
    has_pointers = wgrad_ptrs is not None
    statement = checked(api, options, has_pointers, **views, wgrad=wgrad)
    if not has_pointers:
        statement = statement.overwriting()
    order = ("offsets", "sfa", "sfb", "global_scale_a", "global_scale_b")
    rest = [arrays[name] for name in order if name in arrays]
    ready = [*statement.stored(arrays["a"], arrays["b"]), *rest]
    return statement, [*ready, wgrad_ptrs] if has_pointers else ready


def _stacked(api: _core.Api, options: _core.Options, tensors: Mapping[str, Any]) -> jax.Array:
    statement, ready = prepared(api, options, tensors)
    return dense(statement, *ready)


def _refuse_given(given: Mapping[str, Any], name: str) -> None:
    if given[name] is not None:
        raise refuse(name, shown(given[name]), "None with JAX arrays: XLA has its own")
