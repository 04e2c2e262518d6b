"""Weight gradients by wgrad in models that call torch's own grouped matmul."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import torch

from ._linear import grouped_linear
from ._tracing import is_recorded, is_transformed, refuse
from ._weight_gradient import compute, in_rows

_COMPUTED = (torch.bfloat16, torch.float16)


class GroupedMmPatch:
    """torch's grouped matmul with weight gradients by wgrad, until ``undo()``.

    A context manager too. ``taken`` counts the calls in which wgrad steps in, ``left`` those that
    went to torch as they were, by reason; printing it shows both.
    """

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        self.left: Counter[str] = Counter()
        self._original = getattr(torch, "_grouped_mm", None)
        self._lock = threading.Lock()

    def __enter__(self) -> GroupedMmPatch:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def __str__(self) -> str:
        lines = [f"taken {count} times: {what}" for what, count in sorted(self.taken.items())]
        lines += [f"left {count} times: {why}" for why, count in sorted(self.left.items())]
        return "\n".join(lines) or "torch's grouped matmul was not called"

    def apply(self) -> None:
        """Puts the patch in place. Raises ValueError while another one is."""
        if self._original is None:
            raise refuse("torch", torch.__version__, "one with a grouped matmul (torch._grouped_mm)")
        if getattr(torch._grouped_mm, "_wgrad_patch", None) is not None:
            raise refuse("patch_torch_grouped_mm", "called twice", "undone first")

        def grouped_mm(mat_a: Any, mat_b: Any, *args: Any, **kwargs: Any) -> Any:
            return self._call(mat_a, mat_b, *args, **kwargs)

        grouped_mm.__doc__ = self._original.__doc__
        grouped_mm._wgrad_patch = self  # type: ignore[attr-defined]
        torch._grouped_mm = grouped_mm  # type: ignore[assignment]

    def undo(self) -> None:
        """Puts torch's own back, where this patch is in place; nothing otherwise."""
        if getattr(torch._grouped_mm, "_wgrad_patch", None) is self:
            torch._grouped_mm = self._original

    def _call(
        self, mat_a: Any, mat_b: Any, offs: Any = None, bias: Any = None, out_dtype: Any = None
    ) -> Any:
        why_not = _why_not(mat_a, mat_b, offs, bias, out_dtype)
        if why_not:
            self._count(self.left, why_not)
            return self._original(  # type: ignore[misc]
                mat_a, mat_b, offs=offs, bias=bias, out_dtype=out_dtype
            )
        if mat_b.ndim == 3:
            self._count(self.taken, "tokens by weights, whose gradient is to come")
            return grouped_linear(mat_a, mat_b, offs, matmul=self._matmul)
        self._count(self.taken, "a weight gradient itself, two 2-D operands")
        x, dy = in_rows(mat_a.transpose(0, 1)), in_rows(mat_b)
        return compute(x, dy, offs, out_dtype or mat_a.dtype, False, None)

    def _matmul(
        self, x: torch.Tensor, weight: torch.Tensor, offsets: torch.Tensor
    ) -> torch.Tensor:
        product: torch.Tensor = self._original(x, weight, offs=offsets)  # type: ignore[misc]
        return product

    def _count(self, counter: Counter[str], key: str) -> None:
        if not is_recorded():  # a recorded graph is counted by nobody
            with self._lock:
                counter[key] += 1


def patch_torch_grouped_mm() -> GroupedMmPatch:
    """Gives every caller of torch's grouped matmul weight gradients by wgrad.

    ``torch.nn.functional.grouped_mm`` and ``torch._grouped_mm`` keep computing forward and input
    gradient. wgrad steps in where x is 2-D, the weight 3-D and its gradient recorded, or where both
    are 2-D and none is (a weight gradient that a model computes by itself); where both are bfloat16
    or float16 of widths that are multiples of 8, on one device, with offsets and no bias, and
    out_dtype is left alone. A parameter's ``main_grad`` is honoured as by ``grouped_linear``.

    Returns:
        The patch: ``undo()`` takes it back, ``with`` does at the end of the block, and it prints
        how often wgrad stepped in and why it did not. Graphs compiled before keep what they have.

    Raises:
        ValueError: a patch is in place already; a torch without a grouped matmul.
    """
    patch = GroupedMmPatch()
    patch.apply()
    return patch


def _why_not(a: Any, b: Any, offs: Any, bias: Any, out_dtype: Any) -> str:
    """Why wgrad does not step in; "" where it does."""
    if is_transformed():
        return "torch.func transforms the call"
    tensors = (a, b, offs)
    if not all(isinstance(t, torch.Tensor) and not hasattr(t, "to_local") for t in tensors):
        return "an operand or the offsets are no plain tensor"
    if bias is not None:
        return "a bias is given"
    if a.ndim != 2 or b.ndim not in (2, 3):
        return "the operands are neither 2-D by 3-D nor 2-D by 2-D"
    if a.dtype not in _COMPUTED or b.dtype != a.dtype:
        return "the dtypes are not bfloat16 or float16"
    if offs.dtype != torch.int32 or offs.ndim != 1 or not offs.is_contiguous():
        return "the offsets are not 1-D, contiguous and int32"
    if a.device != b.device or a.device != offs.device or a.device.type not in ("cpu", "cuda"):
        return "the device is no CPU or CUDA device, or not one"
    recorded = torch.is_grad_enabled()
    return _why_not_linear(a, b, offs, recorded, out_dtype) if b.ndim == 3 else (
        _why_not_product(a, b, recorded, out_dtype)
    )


def _why_not_linear(a: Any, b: Any, offs: Any, recorded: bool, out_dtype: Any) -> str:
    if not recorded or not b.requires_grad:
        return "no gradient of the weight is recorded"
    if out_dtype is not None and out_dtype != a.dtype:
        return "out_dtype is another dtype"
    if b.shape[0] != offs.shape[0] or b.shape[1] != a.shape[1]:
        return "the shapes do not fit, which torch says best"
    if b.shape[1] % 8 or b.shape[2] % 8:
        return "a width is no multiple of 8"
    (down, right), (m, n) = b.stride()[1:], b.shape[1:]
    packed = (right == 1 and down >= n) or (down == 1 and right >= m)
    return "" if packed else "the weight is neither packed nor a transpose of it"


def _why_not_product(a: Any, b: Any, recorded: bool, out_dtype: Any) -> str:
    if recorded and (a.requires_grad or b.requires_grad):
        return "gradients of two 2-D operands are recorded"
    if out_dtype not in (None, torch.bfloat16, torch.float16, torch.float32):
        return "out_dtype is another dtype"
    if a.shape[1] != b.shape[0]:
        return "the shapes do not fit, which torch says best"
    return "a width is no multiple of 8" if a.shape[0] % 8 or b.shape[1] % 8 else ""
