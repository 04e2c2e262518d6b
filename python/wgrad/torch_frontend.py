"""Operators registered with torch, once this is imported or a call has written a torch tensor.

``torch.ops.wgrad.grouped_wgrad(x, dy, offsets, out_dtype=None)`` and
``torch.ops.wgrad.grouped_wgrad_out(x, dy, offsets, out, accumulate=False)``, for 16-bit operands:
torch.compile keeps them in one graph, for any T, and knows that ``out`` is written.
"""

from __future__ import annotations

from typing import Any

import torch

from ._refusals import refuse
from ._torch_calls import DETACH
from .natural import grouped_wgrad


@torch.library.custom_op(
    "wgrad::grouped_wgrad",
    mutates_args=(),
    schema="(Tensor x, Tensor dy, Tensor offsets, ScalarType? out_dtype=None) -> Tensor",
)
def _grouped_wgrad(x: Any, dy: Any, offsets: Any, out_dtype: Any = None) -> torch.Tensor:
    return grouped_wgrad(x, dy, offsets, out_dtype=out_dtype)  # type: ignore[no-any-return]


@_grouped_wgrad.register_fake
def _(x: Any, dy: Any, offsets: Any, out_dtype: Any = None) -> torch.Tensor:
    shape = (offsets.shape[0], x.shape[1], dy.shape[1])
    return x.new_empty(shape, dtype=out_dtype or x.dtype)  # type: ignore[no-any-return]


_OUT_SCHEMA = "(Tensor x, Tensor dy, Tensor offsets, Tensor(a!) out, bool accumulate=False) -> ()"


@torch.library.custom_op("wgrad::_grouped_wgrad_out", mutates_args=("out",), schema=_OUT_SCHEMA)
def _grouped_wgrad_into(x: Any, dy: Any, offsets: Any, out: Any, accumulate: bool = False) -> None:
    grouped_wgrad(x, dy, offsets, out, accumulate)


@_grouped_wgrad_into.register_fake
def _(x: Any, dy: Any, offsets: Any, out: Any, accumulate: bool = False) -> None:
    """Nothing to describe: the result is the mutation of `out`."""


torch.library.define("wgrad::grouped_wgrad_out", _OUT_SCHEMA)


@torch.library.impl("wgrad::grouped_wgrad_out", "CompositeImplicitAutograd")
def _grouped_wgrad_out(x: Any, dy: Any, offsets: Any, out: Any, accumulate: bool = False) -> None:
    """What of the call is autograd's: a custom operator that writes cannot refuse by itself."""
    for name, tensor in (("x", x), ("dy", dy), ("out", out)):
        if tensor.requires_grad and torch.is_grad_enabled():
            raise refuse(name, "a tensor that requires grad", DETACH)
    torch.ops.wgrad._grouped_wgrad_out(x, dy, offsets, out, accumulate)
