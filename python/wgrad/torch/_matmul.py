"""The grouped matmul of forward and input gradient: y[begin:end] = x[begin:end] @ weight[e]."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch

#: (x (T, M), weight (E, M, N), offsets (E,)) -> (T, N), as torch's grouped_mm.
Matmul = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def grouped_matmul(
    x: torch.Tensor, weight: torch.Tensor, offsets: torch.Tensor
) -> torch.Tensor:
    """torch's grouped matmul where this torch has it for the device, else a loop over experts.

    The loop reads the offsets, so on a GPU it waits. Rows past the last offset are undefined.
    """
    if x.shape[0] == 0:
        return x.new_empty((0, weight.shape[2]))
    if _original is not None and _has_grouped_mm(x.device):
        product: torch.Tensor = _original(x, weight, offs=offsets)
        return product
    return loop(x, weight, offsets)


def loop(x: torch.Tensor, weight: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """One matmul an expert; zeros past the last offset."""
    y = x.new_zeros((x.shape[0], weight.shape[2]))
    begin = 0
    for expert, end in enumerate(offsets.tolist()):
        if end > begin:
            torch.mm(x[begin:end], weight[expert], out=y[begin:end])
        begin = end
    return y


def bias_rows(
    bias: torch.Tensor, offsets: torch.Tensor, y: torch.Tensor
) -> torch.Tensor:
    """For each row of `y` the bias (E, N) of its expert, in y's dtype; past the last offset the
    last one's."""
    tokens = torch.arange(y.shape[0], dtype=torch.int32, device=y.device)
    expert = torch.searchsorted(offsets, tokens, right=True).clamp_(max=bias.shape[0] - 1)
    return bias.to(y.dtype).index_select(0, expert)


#: torch's own, whatever patch_torch_grouped_mm puts in its place later.
_original = getattr(torch, "_grouped_mm", None)


@functools.lru_cache(maxsize=None)
def _has_grouped_mm(device: torch.device) -> bool:
    """Whether torch computes its grouped matmul there: some CPUs do, GPUs from SM 8.0 on."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    keys = ("CPU", "CompositeExplicitAutograd")
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return device.type == "cpu" and any(has("aten::_grouped_mm", key) for key in keys)
