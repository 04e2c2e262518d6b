"""wgrad: grouped weight gradients for mixture-of-experts layers.

Tokens are sorted by expert; expert e owns the tokens from offsets[e-1] (0 for the first) to
offsets[e]. With A = X^T of shape (M, T) and B = dY of shape (T, N)::

    Wgrad[e] = A[:, begin:end] @ B[begin:end, :]          for e = 0 .. E-1

``grouped_wgrad`` is the natural spelling for token-major activations. ``GroupedGemmWgradSm100`` and
``grouped_gemm_wgrad_wrapper_sm100`` keep the names and parameters of cuDNN Frontend's experimental
API, so that code written for it runs with ``import wgrad as cudnn``; they serve every device wgrad
supports. ``support`` says what runs here and why not.

Tensors may be numpy arrays (with ml_dtypes), torch tensors, or anything that speaks DLPack or the
buffer protocol; none is copied. Bad arguments raise ``wgrad.ValueError`` and missing capabilities
``wgrad.RuntimeError``, both subclasses of the built-in classes.

``wgrad.torch`` holds layers that train, ``wgrad.compat.cudnn`` the reference's module paths; both
are loaded once they are asked for, as ``patch_torch_grouped_mm`` is. All else that is public is
named here; the package's modules are its own.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

try:
    from . import _core
except ImportError as error:
    raise ImportError(
        f"wgrad: its compiled part, wgrad._core, cannot be loaded ({error}); "
        "install it with: pip install <the wgrad source folder>"
    ) from error

from ._core import (
    Candidate,
    DeviceFault,
    DeviceSpec,
    Explanation,
    Problem,
    Reason,
    Support,
)
from ._core import RuntimeError as RuntimeError
from ._core import ValueError as ValueError
from ._toolchain import add_nvrtc_wheels as _add_nvrtc_wheels
from .cache import clear_caches, clear_device_fault, device_fault
from .jax_wrapper import grouped_gemm_wgrad_jax_sm100
from .natural import grouped_wgrad
from .natural import recorders as _recorders
from .operator import GroupedGemmWgrad, GroupedGemmWgradSm100, WGradInputOrder
from .pointers import wgrad_expert_ptrs
from .quantize import Quantized, pack_fp4, quantize, quantize_pair, swizzle_scales, unswizzle_scales
from .recorded import record as _record
from .support import devices, explain, support
from .tuple_dict import TupleDict
from .workspace import get_grouped_gemm_wgrad_workspace_size_sm100
from .wrapper import (
    _cache_of_GroupedGemmWgradSm100Objects as _cache_of_GroupedGemmWgradSm100Objects,
)
from .wrapper import grouped_gemm_wgrad_wrapper_sm100

__version__ = "0.2.0"

_add_nvrtc_wheels()
_recorders.append(_record)


def __getattr__(name: str) -> _Any:
    """``wgrad.torch``, what it lends its name to, and ``wgrad.jax``: loaded, with torch or jax
    itself, once asked for."""
    if name in ("torch", "jax", "compat"):
        return _import_module(f"{__name__}.{name}")
    if name == "patch_torch_grouped_mm":
        return _import_module(f"{__name__}.torch").patch_torch_grouped_mm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# wgrad.ValueError and wgrad.RuntimeError stay out, so that a star import hides no built-in.
__all__ = [
    "Candidate",
    "DeviceFault",
    "DeviceSpec",
    "Explanation",
    "GroupedGemmWgrad",
    "GroupedGemmWgradSm100",
    "Problem",
    "Quantized",
    "Reason",
    "Support",
    "TupleDict",
    "WGradInputOrder",
    "clear_caches",
    "clear_device_fault",
    "device_fault",
    "devices",
    "explain",
    "get_grouped_gemm_wgrad_workspace_size_sm100",
    "grouped_gemm_wgrad_jax_sm100",
    "grouped_gemm_wgrad_wrapper_sm100",
    "grouped_wgrad",
    "pack_fp4",
    "quantize",
    "quantize_pair",
    "support",
    "swizzle_scales",
    "unswizzle_scales",
    "wgrad_expert_ptrs",
]
