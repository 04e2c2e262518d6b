"""The same weight gradient through wgrad and through every other library found here.

Each candidate is a function (x, dy, offsets, out, accumulate) -> None or the result tensor:
x (T, M) and dy (T, N) bfloat16, offsets (E,) int32, out (E, M, N) bfloat16 or float32.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import torch

Call = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, bool], torch.Tensor | None]


@dataclass(frozen=True)
class Mode:
    """An output dtype, overwritten or accumulated into."""

    name: str
    dtype: torch.dtype
    accumulate: bool
    bytes_per_element: int  # output traffic


MODES = {
    "bf16": Mode("bf16", torch.bfloat16, False, 2),
    "fp32": Mode("fp32", torch.float32, False, 4),
    "fp32-acc": Mode("fp32-acc", torch.float32, True, 8),
}


@dataclass(frozen=True)
class Peer:
    name: str
    call: Call
    modes: tuple[str, ...]
    aligned_only: bool = False  # needs counts that are multiples of 128


def _wgrad(x, dy, offsets, out, accumulate):
    import wgrad

    wgrad.grouped_wgrad(x, dy, offsets, out=out, accumulate=accumulate)
    return out


def _grouped_mm(x, dy, offsets, out, accumulate):
    return torch.nn.functional.grouped_mm(x.t(), dy, offs=offsets, out_dtype=out.dtype)


class CublasLoop:
    """One cuBLAS call an expert; the counts are read once, outside the timed region."""

    def __init__(self, counts):
        self._ends = [int(v) for v in counts.cumsum()]

    def __call__(self, x, dy, offsets, out, accumulate):
        begin = 0
        for e, end in enumerate(self._ends):
            a, b = x[begin:end].t(), dy[begin:end]
            if accumulate:
                out[e] += torch.mm(a, b, out_dtype=out.dtype)
            elif out.dtype == x.dtype:
                torch.mm(a, b, out=out[e])
            else:
                out[e] = torch.mm(a, b, out_dtype=out.dtype)
            begin = end
        return out


class DeepGemm:
    """DeepGEMM's k-grouped kernel: adds into float32, counts multiples of 128."""

    def __init__(self, counts):
        import deep_gemm

        self._kernel = deep_gemm.k_grouped_bf16_gemm_tn_contiguous
        self._counts = [int(k) for k in counts]
        self._tensor = torch.tensor(self._counts, dtype=torch.int32, device="cuda")

    def __call__(self, x, dy, offsets, out, accumulate):
        self._kernel(x, dy, out, self._counts, self._tensor, out)
        return out


class Quack:
    """QuACK's varlen-K GEMM, with its default configuration or its tuner's."""

    def __init__(self, counts, tuned: bool):
        from quack.gemm_interface import gemm, gemm_add_inplace

        self._gemm, self._add, self._tuned = gemm, gemm_add_inplace, tuned
        ends = torch.as_tensor(counts.cumsum(), dtype=torch.int32, device="cuda")
        self._cu_seqlens = torch.nn.functional.pad(ends, (1, 0)).to(torch.int32)

    def __call__(self, x, dy, offsets, out, accumulate):
        if accumulate:
            self._add(x.t(), dy, out, cu_seqlens_k=self._cu_seqlens, tuned=self._tuned)
        else:
            self._gemm(x.t(), dy, out=out, cu_seqlens_k=self._cu_seqlens, tuned=self._tuned)
        return out


def found(counts) -> tuple[list[Peer], list[str]]:
    """Peers that can be imported here, and the names of those that cannot."""
    peers = [
        Peer("wgrad", _wgrad, ("bf16", "fp32", "fp32-acc")),
        Peer("loop", CublasLoop(counts), ("bf16", "fp32", "fp32-acc")),
    ]
    missing = []
    if hasattr(torch.nn.functional, "grouped_mm"):
        peers.append(Peer("grouped_mm", _grouped_mm, ("bf16",)))
    else:
        missing.append("grouped_mm")
    if importlib.util.find_spec("deep_gemm"):
        peers.append(Peer("deepgemm", DeepGemm(counts), ("fp32-acc",), aligned_only=True))
    else:
        missing.append("deepgemm")
    if importlib.util.find_spec("quack"):
        peers.append(Peer("quack", Quack(counts, tuned=False), ("bf16", "fp32", "fp32-acc")))
        peers.append(Peer("quack-tuned", Quack(counts, tuned=True), ("bf16", "fp32", "fp32-acc")))
    else:
        missing.append("quack")
    return peers, missing
