"""torch.library operators of the layers, for graphs that torch records.

Every operator declares what it writes; a fake kernel needs neither T's value nor the offsets'.
``_tracing.py`` tells when they take the place of direct calls.
"""

from __future__ import annotations

from typing import Any

import torch

from .. import torch_frontend  # registers wgrad::grouped_wgrad and wgrad::grouped_wgrad_out
from ..natural import grouped_wgrad
from ._matmul import grouped_matmul

del torch_frontend

_OPERANDS = "Tensor x, Tensor dy, Tensor offsets, Tensor x_scale, Tensor dy_scale"
_SCALING = (
    "Tensor? x_global_scale=None, Tensor? dy_global_scale=None, int? sf_vec_size=None, "
    "bool compact_scales=False, str input_order='tensor2d'"
)
_SCALING_NAMES = (
    "x_global_scale", "dy_global_scale", "sf_vec_size", "compact_scales", "input_order"
)


@torch.library.custom_op(
    "wgrad::grouped_matmul",
    mutates_args=(),
    schema="(Tensor x, Tensor weight, Tensor offsets) -> Tensor",
)
def _grouped_matmul(x: Any, weight: Any, offsets: Any) -> torch.Tensor:
    return grouped_matmul(x, weight, offsets)


@_grouped_matmul.register_fake
def _(x: Any, weight: Any, offsets: Any) -> torch.Tensor:
    return x.new_empty((x.shape[0], weight.shape[2]))  # type: ignore[no-any-return]


@torch.library.custom_op(
    "wgrad::expert_wgrad",
    mutates_args=(),
    schema="(Tensor x, Tensor dy, Tensor offsets, ScalarType out_dtype, int? sm_limit=None)"
    " -> Tensor",
)
def _expert_wgrad(
    x: Any, dy: Any, offsets: Any, out_dtype: Any, sm_limit: Any = None
) -> torch.Tensor:
    return grouped_wgrad(  # type: ignore[no-any-return]
        x, dy, offsets, out_dtype=out_dtype, sm_limit=sm_limit
    )


@_expert_wgrad.register_fake
def _(x: Any, dy: Any, offsets: Any, out_dtype: Any, sm_limit: Any = None) -> torch.Tensor:
    shape = (offsets.shape[0], x.shape[1], dy.shape[1])
    return x.new_empty(shape, dtype=out_dtype)  # type: ignore[no-any-return]


@torch.library.custom_op(
    "wgrad::expert_wgrad_out",
    mutates_args=("outs",),
    schema="(Tensor x, Tensor dy, Tensor offsets, Tensor(a!)[] outs, bool accumulate=False, "
    "int? sm_limit=None) -> ()",
)
def _expert_wgrad_out(
    x: Any, dy: Any, offsets: Any, outs: Any, accumulate: bool = False, sm_limit: Any = None
) -> None:
    """Into one stacked (E, M, N) tensor, or into E tensors (M, N)."""
    out = outs[0] if len(outs) == 1 and outs[0].ndim == 3 else list(outs)
    grouped_wgrad(x, dy, offsets, out, accumulate, sm_limit=sm_limit)


@_expert_wgrad_out.register_fake
def _(
    x: Any, dy: Any, offsets: Any, outs: Any, accumulate: bool = False, sm_limit: Any = None
) -> None:
    """Nothing to describe: the result is the mutation of `outs`."""


@torch.library.custom_op(
    "wgrad::block_scaled_wgrad",
    mutates_args=(),
    schema=f"({_OPERANDS}, ScalarType? out_dtype=None, {_SCALING}) -> Tensor",
)
def _block_scaled_wgrad(
    x: Any, dy: Any, offsets: Any, x_scale: Any, dy_scale: Any, out_dtype: Any = None, *scaling: Any
) -> torch.Tensor:
    return grouped_wgrad(  # type: ignore[no-any-return]
        x, dy, offsets, x_scale=x_scale, dy_scale=dy_scale, out_dtype=out_dtype,
        **dict(zip(_SCALING_NAMES, scaling)),
    )


@_block_scaled_wgrad.register_fake
def _(
    x: Any, dy: Any, offsets: Any, x_scale: Any, dy_scale: Any, out_dtype: Any = None, *_: Any
) -> torch.Tensor:
    shape = (offsets.shape[0], x.shape[1], dy.shape[1])
    return x.new_empty(shape, dtype=out_dtype or torch.bfloat16)  # type: ignore[no-any-return]


@torch.library.custom_op(
    "wgrad::block_scaled_wgrad_out",
    mutates_args=("out",),
    schema=f"({_OPERANDS}, Tensor(a!) out, bool accumulate=False, {_SCALING}) -> ()",
)
def _block_scaled_wgrad_out(
    x: Any, dy: Any, offsets: Any, x_scale: Any, dy_scale: Any, out: Any, accumulate: bool = False,
    *scaling: Any,
) -> None:
    grouped_wgrad(
        x, dy, offsets, out, accumulate, x_scale=x_scale, dy_scale=dy_scale,
        **dict(zip(_SCALING_NAMES, scaling)),
    )


@_block_scaled_wgrad_out.register_fake
def _(*_: Any) -> None:
    """Nothing to describe: the result is the mutation of `out`."""
