"""A grouped weight gradient on the GPU with exact-integer data, poison where nothing may be read."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import wgrad

NAN = float("nan")


@dataclass
class GpuCase:
    """x (T, M) and dy (T, N), integers in [-4, 4], so that every float32 sum is exact."""

    x: torch.Tensor
    dy: torch.Tensor
    offsets: torch.Tensor
    ends: list[int]

    @property
    def experts(self) -> int:
        return len(self.ends)

    def output(self, dtype=torch.bfloat16, fill: float = NAN) -> torch.Tensor:
        shape = (self.experts, self.x.shape[1], self.dy.shape[1])
        return torch.full(shape, fill, dtype=dtype, device=self.x.device)

    def operator(self, out: torch.Tensor, **options) -> wgrad.GroupedGemmWgrad:
        """A compiled operator: into `out`, or, where that is one expert's, through addresses."""
        if out.ndim == 3:
            described = {"sample_wgrad": out}
        else:
            described = {
                "sample_wgrad_expert": out, "num_experts": self.experts,
                "wgrad_shape": tuple(out.shape), "wgrad_dtype": out.dtype,
            }
        operator = wgrad.GroupedGemmWgrad(*self.drop_in(), **described, **options)
        assert operator.check_support()
        operator.compile()
        return operator

    def drop_in(self) -> tuple:
        """The operands as the drop-in class and wrapper take them."""
        return self.x.t(), self.dy, None, None, self.offsets

    def product(self, e: int) -> torch.Tensor:
        """float32, exact: cuBLAS without TF32, expert by expert."""
        begin = self.ends[e - 1] if e else 0
        x, dy = self.x[begin : self.ends[e]], self.dy[begin : self.ends[e]]
        return x.float().t() @ dy.float()

    def expect(self, out: torch.Tensor, start: float | None = None, times: int = 1) -> None:
        """Bit for bit, expert by expert; `start` is what the first of `times` accumulating calls
        found."""
        for e in range(self.experts):
            want = self.product(e) * times
            if start is not None:
                want = want + start
            want = want.to(out[e].dtype)
            if not torch.equal(out[e], want):
                wrong = (out[e] != want).nonzero()
                i, j = wrong[0].tolist()
                raise AssertionError(
                    f"expert {e}: {len(wrong)} wrong elements, first [{i}, {j}]: "
                    f"{out[e][i, j].item()} instead of {want[i, j].item()}"
                )


def integers(rows: int, columns: int, dtype, device, seed: int, limit: int = 4) -> torch.Tensor:
    """Drawn in slices: a whole int64 draw of a large tensor would need 4 times its memory."""
    generator = torch.Generator(device).manual_seed(seed)
    out = torch.empty(rows, columns, dtype=dtype, device=device)
    step = max(1, (1 << 28) // max(columns, 1))
    for first in range(0, rows, step):
        part = out[first : first + step]
        part.copy_(
            torch.randint(-limit, limit + 1, part.shape, generator=generator, device=device)
        )
    return out


def make(
    counts, m: int, n: int, *, slack: int = 0, poison: float = NAN, dtype=torch.bfloat16,
    device="cuda", seed: int = 0, x_major: str = "mn", dy_major: str = "mn",
) -> GpuCase:
    """`slack` rows past the last offset hold `poison`. "k": tokens contiguous, row pitch padded."""
    ends, total = [], 0
    for k in counts:
        total += int(k)
        ends.append(total)
    x = _operand(total, slack, m, dtype, device, seed, poison, x_major)
    dy = _operand(total, slack, n, dtype, device, seed + 1, poison, dy_major)
    offsets = torch.tensor(ends, dtype=torch.int32, device=device)
    return GpuCase(x, dy, offsets, ends)


def _operand(total, slack, width, dtype, device, seed, poison, major) -> torch.Tensor:
    tokens = total + slack
    if major == "mn":
        t = torch.full((tokens, width), poison, dtype=dtype, device=device)
    else:
        pitch = math.ceil(tokens / 8) * 8 + 8
        t = torch.full((width, pitch), poison, dtype=dtype, device=device)[:, :tokens].t()
    if total:
        t[:total] = integers(total, width, dtype, device, seed)
    return t
