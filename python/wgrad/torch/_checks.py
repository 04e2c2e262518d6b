"""What a layer refuses before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .._refusals import shown
from ._tracing import refuse

_COMPUTED = (torch.bfloat16, torch.float16)
_WEIGHTS = (torch.bfloat16, torch.float16, torch.float32)
MULTIPLE = 8  # of M and N: rows of 16 bytes


def autocast_to(device_type: str) -> torch.dtype | None:
    """The dtype that autocast computes with on that kind of device; None: it is off."""
    if device_type not in ("cpu", "cuda") or not torch.is_autocast_enabled(device_type):
        return None
    dtype: torch.dtype = torch.get_autocast_dtype(device_type)
    return dtype


def check_layer(
    x: Any, weights: Sequence[Any], offsets: Any, stacked: bool, sm_limit: int | None, recorded: bool
) -> None:
    """Raises ValueError by name for tensors that make no layer."""
    for name, tensor in (("x", x), ("offsets", offsets), *(("weight", w) for w in weights)):
        _check_tensor(tensor, name, recorded)
    if not weights:
        raise refuse("weight", "an empty list", "a tensor of every expert, one or more")
    _check_x(x)
    _check_weights(weights, x, stacked)
    _check_offsets(offsets, x, weights[0].shape[0] if stacked else len(weights))
    if sm_limit is not None and x.device.type == "cpu":
        raise refuse("sm_limit", shown(sm_limit), "None: x is on a CPU")


def _check_tensor(tensor: Any, name: str, recorded: bool) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise refuse(name, f"a {type(tensor).__name__}", "a torch tensor")
    if hasattr(tensor, "to_local"):
        raise refuse(name, "a DTensor", "a tensor of this rank: to_local() gives it")
    if not recorded and tensor.numel() > 0 and tensor.untyped_storage().nbytes() == 0:
        raise refuse(name, "without memory", "a tensor whose memory was not freed")


def _check_x(x: torch.Tensor) -> None:
    if x.ndim != 2:
        raise refuse("x", f"of shape {tuple(x.shape)}", "2-D, (T, M)")
    if x.dtype not in _COMPUTED:
        raise refuse("x", str(x.dtype), "bfloat16 or float16, or under torch.autocast")


def _check_weights(weights: Sequence[torch.Tensor], x: torch.Tensor, stacked: bool) -> None:
    rank, need = (3, "3-D, (E, M, N)") if stacked else (2, "2-D, (M, N), in a list")
    first = weights[0]
    cast = autocast_to(x.device.type) is not None
    for weight in weights:
        if weight.ndim != rank:
            raise refuse("weight", f"of shape {tuple(weight.shape)}", need)
        if weight.shape != first.shape or weight.dtype != first.dtype:
            got = f"{tuple(weight.shape)} {weight.dtype}"
            raise refuse("weight", got, f"{tuple(first.shape)} {first.dtype}, as the first")
        if weight.device != x.device:
            raise refuse("weight", f"on {weight.device}", f"on {x.device}, as x is")
    if first.dtype not in _WEIGHTS if cast else first.dtype != x.dtype:
        need = f"{x.dtype}, as x is; torch.autocast computes with another"
        raise refuse("weight", str(first.dtype), need)
    if stacked and first.shape[0] == 0:
        raise refuse("weight", f"of shape {tuple(first.shape)}", "of one expert or more")
    if 0 in first.shape or first.shape[-1] % MULTIPLE or first.shape[-2] % MULTIPLE:
        raise refuse(
            "weight", f"of shape {tuple(first.shape)}", f"of M and N that are multiples of {MULTIPLE}"
        )
    if x.shape[1] != first.shape[-2]:
        raise refuse("x", f"{x.shape[1]} wide", f"as wide as the weight is high, {first.shape[-2]}")
    _check_order(first)


def _check_order(weight: torch.Tensor) -> None:
    """One axis of a matrix is contiguous and the other one as far apart as that is long."""
    down, right = weight.stride(-2), weight.stride(-1)
    m, n = weight.shape[-2:]
    if (right == 1 and down >= n) or (down == 1 and right >= m):
        return
    raise refuse("weight", f"strided by {weight.stride()}", "packed, or a transpose(-2, -1) of it")


def _check_offsets(offsets: torch.Tensor, x: torch.Tensor, experts: int) -> None:
    if offsets.dtype != torch.int32:
        raise refuse("offsets", str(offsets.dtype), "int32, the cumulative ends of the experts")
    if offsets.ndim != 1 or offsets.shape[0] != experts:
        got = f"of shape {tuple(offsets.shape)}"
        zero = ", without a leading zero" if tuple(offsets.shape) == (experts + 1,) else ""
        raise refuse("offsets", got, f"({experts},), one end an expert{zero}")
    if offsets.device != x.device:
        raise refuse("offsets", f"on {offsets.device}", f"on {x.device}, as x is")
    if not offsets.is_contiguous():
        raise refuse("offsets", "strided", "contiguous")
