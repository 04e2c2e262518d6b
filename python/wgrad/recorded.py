"""Calls of grouped_wgrad while torch records a graph: each becomes one operator of it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from . import _core

_SCALING = ("x_global_scale", "dy_global_scale", "sf_vec_size", "compact_scales", "input_order")
_TENSORS = ("x", "dy", "offsets", "out", "accumulate", "out_dtype", "x_scale", "dy_scale")


def record(arguments: dict[str, Any]) -> Any:
    """The call as an operator of torch.ops.wgrad: `arguments` by name, of grouped_wgrad.

    Raises:
        RuntimeError: an argument that no operator has.
        ValueError: an out_dtype beside out.
    """
    import torch

    from . import torch as layers

    del layers  # registers the operators
    of = _known(arguments)
    x, dy, offsets, out, accumulate = (of[name] for name in _TENSORS[:5])
    dtype = _dtype(of["out_dtype"], out)
    ops: Any = torch.ops.wgrad
    limit = arguments["sm_limit"]
    scaled = of["x_scale"] is not None or of["dy_scale"] is not None
    if scaled:
        operands = (x, dy, offsets, of["x_scale"], of["dy_scale"])
        scaling = [of[name] for name in _SCALING]
        if out is None:
            return ops.block_scaled_wgrad(*operands, dtype, *scaling)
        ops.block_scaled_wgrad_out(*operands, out, accumulate, *scaling)
        return out
    if out is None:
        return ops.expert_wgrad(x, dy, offsets, dtype or x.dtype, limit)
    if not isinstance(out, (list, tuple)):
        ops.expert_wgrad_out(x, dy, offsets, out, accumulate, limit)
    elif torch._C._get_tracing_state() is not None:
        raise _core.RuntimeError(
            "wgrad: out is a list of tensors and torch.jit.trace looks on, which forgets what is "
            "written to lists; it must be one tensor there"
        )
    else:
        ops.expert_wgrad_outs(x, dy, offsets, list(out), accumulate, limit)
    return out


def _known(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that operators have; refuses the others where they are given."""
    from .natural import grouped_wgrad

    scaled = arguments["x_scale"] is not None
    known: Sequence[str] = (*_TENSORS, *(_SCALING if scaled else ("sm_limit",)))
    if arguments["out"] is None and arguments["accumulate"]:
        known = [name for name in known if name != "accumulate"]
    for name, parameter in inspect.signature(grouped_wgrad).parameters.items():
        given = arguments[name]
        if name not in known and given is not parameter.default and given != parameter.default:
            raise _core.RuntimeError(
                f"wgrad: {name} is given and torch records a graph (torch.jit.trace, make_fx, or a "
                f"dispatch mode); it must be left out: no operator of torch.ops.wgrad has it"
            )
    return arguments


def _dtype(out_dtype: Any, out: Any) -> Any:
    """torch's dtype of the result, None for the default. A given out's own is the only one."""
    import torch

    from ._dtypes import dtype_name
    from ._refusals import refuse

    if out_dtype is None:
        return None
    dtype = getattr(torch, dtype_name(out_dtype, "out_dtype"))
    first = out[0] if isinstance(out, (list, tuple)) else out
    if first is not None and first.dtype != dtype:
        raise refuse("out_dtype", str(dtype), f"{first.dtype}, as out is, or None")
    return dtype
