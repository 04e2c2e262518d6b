"""Tables of output addresses, for discrete mode."""

from __future__ import annotations

from typing import Any

from . import _core
from ._refusals import refuse
from ._tensors import ALIGNMENT, refuse_traced

_ITEM_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}


def wgrad_expert_ptrs(wgrad_tensor: Any, current_stream: Any = None) -> Any:
    """The (E,) int64 table of the addresses of a stacked output's experts, for ``wgrad_ptrs``.

    Filled on the tensor's device without a copy from the host, so that a CUDA graph may capture it.
    One table serves every call that writes into that tensor. The caller keeps both alive.

    Args:
        wgrad_tensor: (E, M, N) bfloat16, float16 or float32: each expert contiguous and 16-byte
            aligned, any distance from the next. A torch tensor, or an array in host memory.
        current_stream: integer handle, torch stream or CUstream; None: torch's current stream of
            the tensor's device. Must be None on a CPU.

    Returns:
        A torch tensor beside a torch tensor, else a numpy array.

    Raises:
        ValueError: another shape, dtype or layout; memory that is read-only, or a GPU's and not
            torch's; a torch tensor that requires grad while gradients are recorded.
    """
    name = "wgrad_tensor"
    refuse_traced(wgrad_tensor, "wgrad_expert_ptrs")
    view = _core.read_tensor(wgrad_tensor, name)
    if view.rank == 3 and view.shape[0] == 0:
        return _empty_table(wgrad_tensor, view)
    if view.rank != 3 or 0 in view.shape:
        got = f"of shape {view.shape}" if view.rank <= 4 else f"{view.rank}-D"
        raise refuse(name, got, "3-D, (E, M, N), none of them 0")
    _core.need_memory(view, name)
    if not view.writable:
        raise refuse(name, "read-only", "writable")
    _core.refuse_detached(view, name)
    if view.dtype not in _ITEM_BYTES:
        raise refuse(name, view.dtype, "bfloat16, float16 or float32")
    (experts, m, n), (apart, pitch, step) = view.shape, view.strides
    if (n > 1 and step != 1) or (m > 1 and pitch != n):
        raise refuse(name, f"strided by {view.strides}", "contiguous within each expert's (M, N)")
    if experts > 1 and apart < m * n:
        need = f"at least M * N = {m * n} elements from expert to expert, so that none overlap"
        raise refuse(name, f"strided by {view.strides}", need)
    stride = apart * _ITEM_BYTES[view.dtype] if experts > 1 else ALIGNMENT
    if view.address % ALIGNMENT != 0 or stride % ALIGNMENT != 0:
        got = f"at address {view.address:#x} with an expert every {stride} bytes"
        raise refuse(name, got, f"aligned to {ALIGNMENT} bytes in every expert")
    if view.address + stride * experts >= 2**63:
        raise refuse(name, f"strided by {view.strides}", "within 64-bit addresses")
    if view.device == "cpu" and current_stream is not None:
        raise refuse("current_stream", repr(current_stream), "None: the tensor is on a CPU")
    if view.torch:
        from . import _torch_calls

        return _torch_calls.address_range(
            wgrad_tensor, view.address, stride, experts, current_stream
        )
    if view.device != "cpu":
        raise refuse(name, f"on {view.device}", "a torch tensor, or an array in host memory")
    import numpy

    return view.address + stride * numpy.arange(experts, dtype=numpy.int64)


def _empty_table(wgrad_tensor: Any, view: _core.TensorView) -> Any:
    """The table of no expert, beside a tensor that has none."""
    if view.torch:
        from . import _torch_calls

        return _torch_calls.address_range(wgrad_tensor, 0, ALIGNMENT, 0, None)
    import numpy

    return numpy.empty(0, numpy.int64)
