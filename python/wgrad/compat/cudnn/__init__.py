"""The names and module paths of cuDNN Frontend's grouped-GEMM wgrad, served by wgrad.

Code written for the reference runs unchanged: with ``import wgrad.compat.cudnn as cudnn``; after
``wgrad.compat.cudnn.install()``, which makes ``import cudnn`` and ``from cudnn.gemm... import ...``
find this tree; or with this folder's parent in PYTHONPATH (``python -m wgrad.compat`` prints it).
docs/drop-in.md lists what differs.
"""

import importlib
import importlib.util
import sys

from wgrad import (
    GroupedGemmWgradSm100,
    TupleDict,
    WGradInputOrder,
    get_grouped_gemm_wgrad_workspace_size_sm100,
    grouped_gemm_wgrad_jax_sm100,
    grouped_gemm_wgrad_wrapper_sm100,
    wgrad_expert_ptrs,
)
from wgrad import RuntimeError as _RuntimeError
from wgrad.operator import MoEWeightMode

__version__ = "1.32.0"  #: the release of the reference that is followed

_MODULES = (
    "api_base",
    "gemm",
    "gemm.cutedsl",
    "gemm.cutedsl.grouped",
    "gemm.cutedsl.grouped.moe_utils",
    "gemm.cutedsl.grouped.wgrad",
    "gemm.cutedsl.grouped.wgrad.api",
    "grouped_gemm",
    "grouped_gemm.grouped_gemm_wgrad",
    "grouped_gemm.grouped_gemm_wgrad.api",
    "grouped_gemm.moe_utils",
)

__all__ = [
    "GroupedGemmWgradSm100",
    "MoEWeightMode",
    "TupleDict",
    "WGradInputOrder",
    "get_grouped_gemm_wgrad_workspace_size_sm100",
    "grouped_gemm_wgrad_jax_sm100",
    "grouped_gemm_wgrad_wrapper_sm100",
    "install",
    "wgrad_expert_ptrs",
]


def install(name: str = "cudnn") -> None:
    """Makes ``import cudnn`` find this tree in this process; again: nothing.

    Raises:
        RuntimeError: another package of that name is loaded, or could be.
    """
    ours = sys.modules[__name__]
    present = sys.modules.get(name)
    if present is ours:
        return
    if present is not None or importlib.util.find_spec(name) is not None:
        raise _RuntimeError(
            f"wgrad: another package named {name} is there; install() would hide it; it must be "
            "absent, or wgrad.compat.cudnn be imported by its own name"
        )
    sys.modules[name] = ours
    for module in _MODULES:
        sys.modules[f"{name}.{module}"] = importlib.import_module(f"{__name__}.{module}")
