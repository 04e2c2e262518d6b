"""Calls of grouped_wgrad while torch records a graph: each becomes one operator of it.

torch.compile traces this file too, so it keeps to what that understands.
"""

from __future__ import annotations

from typing import Any

from . import _core

#: Arguments that every operator has, those of 16-bit operands, and those of block-scaled ones.
_ALWAYS = ("x", "dy", "offsets", "out", "accumulate", "out_dtype")
_SIXTEEN_BIT = ("sm_limit",)
_SCALED = (
    "x_scale", "dy_scale", "x_global_scale", "dy_global_scale", "sf_vec_size", "compact_scales",
    "input_order",
)
_DEFAULTS = {"input_order": "tensor2d", "mma_tiler_mn": (256, 256)}  # of all others None or False


def record(arguments: dict[str, Any]) -> Any:
    """The call as an operator of torch.ops.wgrad: `arguments` by name, of grouped_wgrad.

    Raises:
        RuntimeError: an argument that no operator has.
        ValueError: an out_dtype that is not out's.
    """
    import torch

    from . import torch as layers

    del layers  # registers the operators
    scaled = arguments["x_scale"] is not None or arguments["dy_scale"] is not None
    _require_known(arguments, scaled)
    out, accumulate = arguments["out"], arguments["accumulate"]
    dtype = _dtype(arguments["out_dtype"], out)
    operands = [arguments[name] for name in ("x", "dy", "offsets")]
    ops: Any = torch.ops.wgrad
    if scaled:
        operands += [arguments["x_scale"], arguments["dy_scale"]]
        scaling = [arguments[name] for name in _SCALED[2:]]
        if out is None:
            return ops.block_scaled_wgrad(*operands, dtype, *scaling)
        ops.block_scaled_wgrad_out(*operands, out, accumulate, *scaling)
        return out
    limit = arguments["sm_limit"]
    if out is None:
        return ops.expert_wgrad(*operands, dtype or arguments["x"].dtype, limit)
    if not isinstance(out, (list, tuple)):
        ops.expert_wgrad_out(*operands, out, accumulate, limit)
    elif not torch.compiler.is_compiling() and torch._C._get_tracing_state() is not None:
        raise _core.RuntimeError(
            "wgrad: out is a list of tensors and torch.jit.trace looks on, which forgets what is "
            "written to lists; it must be one tensor there"
        )
    else:
        ops.expert_wgrad_outs(*operands, list(out), accumulate, limit)
    return out


def _require_known(arguments: dict[str, Any], scaled: bool) -> None:
    """Refuses arguments that the operator has not, where they are given."""
    known = _ALWAYS + (_SCALED if scaled else _SIXTEEN_BIT)
    for name, given in arguments.items():
        fresh = name == "accumulate" and arguments["out"] is None  # the operator adds to nothing
        if name in known and not fresh:
            continue
        if given is None or given is False or given == _DEFAULTS.get(name):
            continue
        raise _core.RuntimeError(
            f"wgrad: {name} is given and torch records a graph (torch.compile, torch.jit.trace, "
            "make_fx, or a dispatch mode); it must be left out: no operator of torch.ops.wgrad has it"
        )


def _dtype(out_dtype: Any, out: Any) -> Any:
    """torch's dtype of the result, None for the default. A given out's own is the only one."""
    import torch

    from ._refusals import refuse

    if out_dtype is None:
        return None
    if not isinstance(out_dtype, torch.dtype):
        from ._dtypes import dtype_name

        out_dtype = getattr(torch, dtype_name(out_dtype, "out_dtype"))
    first = out[0] if isinstance(out, (list, tuple)) else out
    if first is not None and first.dtype != out_dtype:
        raise refuse("out_dtype", str(out_dtype), f"{first.dtype}, as out is, or None")
    return out_dtype
