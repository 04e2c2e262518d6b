"""The weight gradients of one layer, by direct calls or as operators of a recorded graph."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..natural import grouped_wgrad
from ._main_grad import is_turned
from ._tracing import is_recorded

_ROW_BYTES = 16  # to which wgrad and torch's grouped matmul align rows


def compute(
    x: torch.Tensor,
    dy: torch.Tensor,
    offsets: torch.Tensor,
    dtype: torch.dtype,
    transposed: bool,
    sm_limit: int | None,
) -> torch.Tensor:
    """A new (E, M, N) gradient; `transposed`: a view of packed (E, N, M)."""
    a, b = (dy, x) if transposed else (x, dy)
    if is_recorded(x, dy):
        out: torch.Tensor = torch.ops.wgrad.expert_wgrad(a, b, offsets, dtype, sm_limit)
    else:
        out = grouped_wgrad(a, b, offsets, out_dtype=dtype, sm_limit=sm_limit)
    return out.transpose(-2, -1) if transposed else out


def compute_into(
    x: torch.Tensor,
    dy: torch.Tensor,
    offsets: torch.Tensor,
    outs: Sequence[torch.Tensor],
    accumulate: bool,
    sm_limit: int | None,
) -> None:
    """Into one (E, M, N) tensor, or E tensors (M, N) that lie alike; each may be the transpose of
    one whose rows are contiguous."""
    turned = is_turned(outs[0])
    a, b = (dy, x) if turned else (x, dy)
    if turned:
        outs = [out.transpose(-2, -1) for out in outs]
    if is_recorded(x, dy):
        if outs[0].ndim == 3:
            torch.ops.wgrad.expert_wgrad_out(a, b, offsets, outs[0], accumulate, sm_limit)
        else:
            torch.ops.wgrad.expert_wgrad_outs(a, b, offsets, list(outs), accumulate, sm_limit)
        return
    out = outs[0] if outs[0].ndim == 3 else stack(outs)
    grouped_wgrad(
        a, b, offsets, list(outs) if out is None else out, accumulate, sm_limit=sm_limit
    )


def bias_gradient(
    dy: torch.Tensor, offsets: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    """(E, N): the sum of each expert's rows, as the weight gradient of columns of ones."""
    ones = torch.ones((dy.shape[0], _ROW_BYTES // dy.element_size()), dtype=dy.dtype, device=dy.device)
    return compute(ones, dy, offsets, dtype, False, None)[:, 0]


def stack(tensors: Sequence[torch.Tensor]) -> torch.Tensor | None:
    """The tensors of one memory, evenly spaced there, as one (E, ...) view; None: they are not."""
    first, size = tensors[0], tensors[0].element_size()
    storage = first.untyped_storage().data_ptr()
    starts = [tensor.data_ptr() for tensor in tensors]
    step = starts[1] - starts[0] if len(starts) > 1 else first.numel() * size
    if step < first.numel() * size or step % size != 0:
        return None
    for index, tensor in enumerate(tensors):
        alike = tensor.stride() == first.stride() and tensor.dtype == first.dtype
        if not alike or tensor.untyped_storage().data_ptr() != storage:
            return None
        if starts[index] != starts[0] + index * step:
            return None
    return first.as_strided(
        (len(tensors), *first.shape), (step // size, *first.stride()), first.storage_offset()
    )


def in_rows(tensor: torch.Tensor) -> torch.Tensor:
    """A 2-D operand whose rows are contiguous and aligned: itself, or a copy, as of a gradient that
    is expanded, transposed, or a column slice at an odd place."""
    if is_recorded(tensor):
        return tensor.contiguous()
    pitch, step = tensor.stride()
    size = tensor.element_size()
    aligned = tensor.data_ptr() % _ROW_BYTES == 0 and pitch * size % _ROW_BYTES == 0
    if step == 1 and pitch >= tensor.shape[1] and aligned:
        return tensor
    if tensor.is_contiguous() and aligned:
        return tensor
    return tensor.clone(memory_format=torch.contiguous_format)
