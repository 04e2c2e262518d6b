"""Output tensors in the caller's framework."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from . import _core
from ._refusals import refuse

#: Bytes to which the addresses of outputs are aligned.
ALIGNMENT = 16


def is_torch(tensor: Any) -> bool:
    """Whether `tensor` is a torch tensor, without importing torch."""
    return hasattr(tensor, "data_ptr") and hasattr(tensor, "requires_grad")


_recorders: dict[type, Any] = {}  # torch._C of torch's tensor types, None of all others


def is_traced(tensor: Any) -> bool:
    """Whether torch records a graph that outlives this call of a torch tensor: its memory would be
    baked in, and what is written to others forgotten."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    if torch.compiler.is_compiling():  # torch.compile, which reads on here
        return is_torch(tensor)
    kind = type(tensor)
    if kind not in _recorders:
        _recorders[kind] = torch._C if is_torch(tensor) else None
    core = _recorders[kind]
    if core is None:
        return False
    traced: bool = core._len_torch_dispatch_stack() > 0 or core._get_tracing_state() is not None
    return traced


def refuse_traced(tensor: Any, function: str) -> None:
    """Refuses a function that no operator stands for, while torch records a graph."""
    if is_traced(tensor):
        raise _core.RuntimeError(
            f"wgrad: {function} is called and torch records a graph (torch.jit.trace, make_fx, or a "
            "dispatch mode), which would keep this call's memory; it must be grouped_wgrad, which "
            "becomes an operator there"
        )


def is_jax(tensor: Any) -> bool:
    """Whether `tensor` is a JAX array, traced ones included, without importing jax."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(tensor, jax.Array)


def jax_front_end(module: str) -> Any:
    """A module of wgrad.jax. Raises RuntimeError where it cannot be had."""
    try:
        return importlib.import_module(f"wgrad.jax.{module}")
    except ImportError as error:
        raise _core.RuntimeError(str(error)) from error


def new_output(like: Any, call: _core.Call, argument: str, zero: bool, stream: Any) -> Any:
    """A packed (E, M, N) output of `call`, zeros or uninitialised: torch's on the device of
    `like` where that is torch's, else numpy's. Raises ValueError that names `argument` for a GPU's
    memory that is not torch's.

    torch memory is taken on the launch `stream`, so that the caching allocator may reuse it there.
    """
    if is_torch(like):
        from . import _torch_calls

        return _torch_calls.new_output(like, call.wgrad_shape, call.wgrad_dtype, zero, stream)
    if call.device != "cpu":
        need = f"given: the operands are on {call.device} and not torch's"
        raise refuse(argument, "None", need)
    import numpy

    make = numpy.zeros if zero else numpy.empty
    return make(call.wgrad_shape, numpy_dtype(call.wgrad_dtype))


def numpy_dtype(name: str) -> Any:
    """numpy's dtype of a canonical name.

    Raises ImportError where that needs ml_dtypes and it is absent.
    """
    import numpy

    if name in ("float16", "float32", "uint8"):
        return numpy.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        raise ImportError(
            f"wgrad: a numpy array of {name} needs the package ml_dtypes: pip install ml_dtypes"
        ) from error
    return numpy.dtype(getattr(ml_dtypes, name))
