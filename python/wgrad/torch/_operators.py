"""torch.library operators of the layers, for graphs that torch records.

Every operator declares what it writes; a fake kernel needs neither T's value nor the offsets'.
``_tracing.py`` tells when they take the place of direct calls.
"""

from __future__ import annotations

from typing import Any

import torch

from .. import _core, torch_frontend  # registers wgrad::grouped_wgrad and wgrad::grouped_wgrad_out
from ..natural import grouped_wgrad
from ._matmul import bias_rows, grouped_matmul

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
    mutates_args=("out",),
    schema="(Tensor x, Tensor dy, Tensor offsets, Tensor(a!) out, bool accumulate=False, "
    "int? sm_limit=None) -> ()",
)
def _expert_wgrad_out(
    x: Any, dy: Any, offsets: Any, out: Any, accumulate: bool = False, sm_limit: Any = None
) -> None:
    """Into one (E, M, N) tensor."""
    grouped_wgrad(x, dy, offsets, out, accumulate, sm_limit=sm_limit)


@torch.library.custom_op(
    "wgrad::expert_wgrad_outs",
    mutates_args=("outs",),
    schema="(Tensor x, Tensor dy, Tensor offsets, Tensor(a!)[] outs, bool accumulate=False, "
    "int? sm_limit=None) -> ()",
)
def _expert_wgrad_outs(
    x: Any, dy: Any, offsets: Any, outs: Any, accumulate: bool = False, sm_limit: Any = None
) -> None:
    """Into E tensors (M, N)."""
    grouped_wgrad(x, dy, offsets, list(outs), accumulate, sm_limit=sm_limit)


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


def _nothing(*_: Any) -> None:
    """Nothing to describe: the result is the mutation of what is written."""


for _operator in (_expert_wgrad_out, _expert_wgrad_outs, _block_scaled_wgrad_out):
    _operator.register_fake(_nothing)


@torch.library.custom_op(
    "wgrad::grouped_linear",
    mutates_args=(),
    schema="(Tensor x, Tensor weight, Tensor offsets, Tensor? bias=None) -> Tensor",
)
def _grouped_linear(x: Any, weight: Any, offsets: Any, bias: Any = None) -> torch.Tensor:
    """A whole layer as one operator, for graphs that are exported."""
    y = grouped_matmul(x, weight, offsets)
    return y if bias is None else y + bias_rows(bias, offsets, y)


@_grouped_linear.register_fake
def _(x: Any, weight: Any, offsets: Any, bias: Any = None) -> torch.Tensor:
    return x.new_empty((x.shape[0], weight.shape[2]))  # type: ignore[no-any-return]


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, weight, offsets, bias = inputs
    needs = ctx.needs_input_grad
    ctx.save_for_backward(x if needs[1] else None, weight if needs[0] else None, offsets)
    ctx.dtypes = (weight.dtype, None if bias is None else bias.dtype)


def _backward(ctx: Any, dy: Any) -> tuple[Any, Any, None, Any]:
    x, weight, offsets = ctx.saved_tensors
    ops: Any = torch.ops.wgrad
    dy = dy.contiguous()
    dx = dw = db = None
    if weight is not None:
        dx = ops.grouped_matmul(dy, weight.transpose(-2, -1), offsets)
    if x is not None:
        dw = ops.expert_wgrad(x, dy, offsets, ctx.dtypes[0])
    if ctx.needs_input_grad[3]:
        ones = dy.new_ones((dy.shape[0], 8))
        db = ops.expert_wgrad(ones, dy, offsets, ctx.dtypes[1])[:, 0]
    return dx, dw, None, db


torch.library.register_autograd("wgrad::grouped_linear", _backward, setup_context=_setup)


def _no_second(ctx: Any, *_: Any) -> None:
    raise _core.RuntimeError(
        "wgrad: the result of a gradient operator is differentiated, and its operands must not "
        "require grad while gradients are recorded: wgrad computes a gradient and records none"
    )


for _name in ("grouped_wgrad", "expert_wgrad", "block_scaled_wgrad"):
    torch.library.register_autograd(f"wgrad::{_name}", _no_second)
