"""Who looks on: whether a graph is being recorded, in which a call of ours must be one operator, or
torch.func transforms it; and how a call is refused under their eyes."""

from __future__ import annotations

import torch

from .. import _refusals

_PLAIN = (torch.Tensor, torch.nn.Parameter)


def is_recorded(*tensors: torch.Tensor) -> bool:
    """Whether torch.compile, torch.export, make_fx, AOTAutograd or torch.jit.trace looks on, or a
    tensor is fake, on the meta device, or of another subclass that only an operator can describe."""
    if torch.compiler.is_compiling() or is_traced():
        return True
    for tensor in tensors:
        if type(tensor) not in _PLAIN:
            return isinstance(tensor, torch.Tensor)
        if tensor.is_meta:
            return True
    return False


def is_traced() -> bool:
    """Whether the values of this call would be baked into a graph that outlives it."""
    return torch._C._len_torch_dispatch_stack() > 0 or torch._C._get_tracing_state() is not None


def is_transformed() -> bool:
    """Whether torch.func differentiates or maps the call. It takes no autograd.Function of ours."""
    if torch.compiler.is_compiling():
        return False
    return bool(torch._C._are_functorch_transforms_active())


def refuse(argument: str, got: str, need: str) -> ValueError:
    """The error for one bad argument. While torch.compile looks on, which follows no class of an
    extension, it is a ValueError of the same words."""
    if torch.compiler.is_compiling():
        return ValueError(f"wgrad: {argument} is {got}; it must be {need}")
    return _refusals.refuse(argument, got, need)
