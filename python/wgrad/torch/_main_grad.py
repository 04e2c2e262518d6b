"""The protocol of parameters that carry a ``main_grad``, as Megatron-Core and TransformerEngine
speak it.

A parameter's attributes: ``main_grad``, the buffer that the weight gradient is added to;
``overwrite_main_grad``, true where the buffer holds nothing to add to; ``grad_added_to_main_grad``,
set by us once the gradient is in the buffer, so that nobody adds ``grad`` too; ``zero_out_wgrad``,
true where ``grad`` must hold zeros beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ._tracing import is_recorded, refuse

_FLAG = "grad_added_to_main_grad"
_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
_ROW_BYTES = 16  # to which an output's rows are aligned


def owner_of(weight: torch.Tensor) -> torch.Tensor:
    """The tensor that carries a weight's attributes: itself, or what it is a view of."""
    if hasattr(weight, "main_grad") or weight.is_leaf:
        return weight
    base = weight._base
    return weight if base is None else base


def buffer_of(
    weight: torch.Tensor, owner: torch.Tensor, given: torch.Tensor | None, argument: str
) -> torch.Tensor | None:
    """The main_grad of a weight, in the weight's own orientation; None: it has none.

    Raises ValueError for a buffer of another shape, dtype or device, or whose rows lie badly.
    """
    buffer = given if given is not None else getattr(owner, "main_grad", None)
    if buffer is None:
        return None
    if given is None and owner is not weight:
        buffer = as_weight(buffer, weight, owner)
    if buffer.shape != weight.shape:
        got, need = tuple(buffer.shape), tuple(weight.shape)
        raise refuse(argument, f"of shape {got}", f"of the weight's shape, {need}")
    if buffer.dtype not in _DTYPES:
        raise refuse(argument, str(buffer.dtype), "float32, bfloat16 or float16")
    if buffer.device != weight.device:
        raise refuse(argument, f"on {buffer.device}", f"on {weight.device}, as the weight is")
    _check_rows(buffer, argument)
    return buffer


def _check_rows(buffer: torch.Tensor, argument: str) -> None:
    """Rows or columns are contiguous, apart, and begin at multiples of 16 bytes."""
    *experts, down, right = buffer.stride()
    m, n = buffer.shape[-2:]
    step, pitch, length = (down, right, m) if is_turned(buffer) else (right, down, n)
    if step != 1 or pitch < length or (buffer.shape[0] > 1 and 0 in experts):
        need = "of contiguous rows that lie apart, or a transpose(-2, -1) of such"
        raise refuse(argument, f"strided by {tuple(buffer.stride())}", need)
    size = buffer.element_size()
    places = [size * each for each in (pitch, *experts)]
    if not is_recorded(buffer):
        places.append(buffer.data_ptr())
    if any(place % _ROW_BYTES for place in places):
        got = f"strided by {tuple(buffer.stride())} from byte {size * buffer.storage_offset()} on"
        raise refuse(argument, got, f"of rows that begin at multiples of {_ROW_BYTES} bytes")


def is_turned(buffer: torch.Tensor) -> bool:
    """Whether a buffer (.., M, N) is the transpose of one whose rows are contiguous."""
    return buffer.stride(-1) != 1 and buffer.stride(-2) == 1


def outputs(buffers: Sequence[torch.Tensor], wanted: Sequence[bool]) -> list[torch.Tensor]:
    """The buffers to write; in the place of those whose weights are frozen, memory of no meaning."""
    return [b if there else torch.empty_like(b) for b, there in zip(buffers, wanted)]


def as_weight(
    tensor: torch.Tensor, weight: torch.Tensor, owner: torch.Tensor
) -> torch.Tensor:
    """A tensor that lies as `owner` does, in the orientation of its view `weight`. Raises
    ValueError for a view whose orientation cannot be told."""
    if is_reshaped(weight, owner):
        return tensor.view(weight.shape)
    return tensor.transpose(-2, -1) if is_transposed(weight, owner) else tensor


def as_owner(
    tensor: torch.Tensor, weight: torch.Tensor, owner: torch.Tensor
) -> torch.Tensor:
    """The inverse of as_weight."""
    if is_reshaped(weight, owner):
        return tensor.view(owner.shape)
    return tensor.transpose(-2, -1) if is_transposed(weight, owner) else tensor


def is_reshaped(weight: torch.Tensor, base: torch.Tensor) -> bool:
    """Whether `weight` is all of `base` under another shape, as of one flat parameter."""
    return bool(
        weight.numel() == base.numel() and weight.is_contiguous() and base.is_contiguous()
        and weight.storage_offset() == base.storage_offset()
    )


def is_transposed(weight: torch.Tensor, base: torch.Tensor) -> bool:
    """Whether `weight` is `base` with its last two axes exchanged. Raises ValueError for any other
    view, whose main_grad cannot be told."""
    if base.ndim == weight.ndim and weight.shape == base.shape and weight.stride() == base.stride():
        return False
    turned = base.transpose(-2, -1) if base.ndim == weight.ndim else base
    if turned.shape == weight.shape and turned.stride() == weight.stride():
        return True
    raise refuse(
        "weight", "a view of a parameter that has a main_grad",
        "the parameter itself, all of it reshaped, or its transpose(-2, -1); or give main_grad",
    )


def accumulates(owners: Sequence[torch.Tensor], is_first_microbatch: bool | None) -> bool:
    """Whether the gradient is added to the buffers, rather than written over them."""
    if is_first_microbatch:
        return False
    return not getattr(owners[0], "overwrite_main_grad", False)


def wants_grad(owner: torch.Tensor) -> bool:
    """Whether somebody waits for ``grad`` of a parameter whose gradient is in its main_grad:
    a framework that reads the flag, or a hook, which fires for a defined gradient alone."""
    return hasattr(owner, _FLAG) or bool(
        getattr(owner, "_post_accumulate_grad_hooks", None) or getattr(owner, "_backward_hooks", None)
    )


def mark_added(owner: torch.Tensor) -> None:
    """Sets the flag of a parameter that has one."""
    if hasattr(owner, _FLAG):
        setattr(owner, _FLAG, True)


def kind_of_grad(owner: torch.Tensor) -> str:
    """What autograd gets beside main_grad: "nothing", "memory" of no meaning, or "zeros"."""
    if not wants_grad(owner):
        return "nothing"
    return "zeros" if getattr(owner, "zero_out_wgrad", False) else "memory"


def placeholder(
    kind: str, buffer: torch.Tensor, dtype: torch.dtype, transposed: bool
) -> torch.Tensor | None:
    """A gradient of `buffer`'s shape of that kind, packed as the parameter is."""
    if kind == "nothing":
        return None
    make = torch.zeros if kind == "zeros" else torch.empty
    *experts, m, n = buffer.shape
    if not transposed:
        return make((*experts, m, n), dtype=dtype, device=buffer.device)
    return make((*experts, n, m), dtype=dtype, device=buffer.device).transpose(-2, -1)
