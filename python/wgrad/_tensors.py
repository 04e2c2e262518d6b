"""Output tensors in the caller's framework."""

from __future__ import annotations

from typing import Any


def is_torch(tensor: Any) -> bool:
    """Whether `tensor` is a torch tensor, without importing torch."""
    return hasattr(tensor, "data_ptr") and hasattr(tensor, "requires_grad")


def is_contiguous(tensor: Any) -> bool:
    """Whether a torch tensor or numpy array is row-major without gaps."""
    if is_torch(tensor):
        return bool(tensor.is_contiguous())
    return bool(tensor.flags.c_contiguous)


def new_output(like: Any, shape: tuple[int, int, int], dtype: str, zero: bool, stream: Any) -> Any:
    """A packed tensor of the framework and on the device of `like`; zeros, or uninitialised.

    torch memory is taken on the launch `stream`, so that the caching allocator may reuse it there.
    """
    if is_torch(like):
        from . import torch_frontend

        return torch_frontend.new_output(like, shape, dtype, zero, stream)
    import numpy

    make = numpy.zeros if zero else numpy.empty
    return make(shape, numpy_dtype(dtype))


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
