"""One grouped layer with exact-integer data, judged by a loop over experts in double."""

from __future__ import annotations

import dataclasses

import torch

NAN = float("nan")
COUNTS = ([4, 0, 5], [0, 0, 9], [1, 7, 1], [0, 0, 0])


def integers(*shape: int, seed: int, dtype=torch.bfloat16) -> torch.Tensor:
    """Drawn from -2 .. 2: every sum in these tests is exact in bfloat16."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-2, 3, shape, generator=generator).to(dtype)


@dataclasses.dataclass
class Case:
    """x (T, M) and dy (T, N) with a tail of NaN, offsets, weight (E, M, N)."""

    x: torch.Tensor
    dy: torch.Tensor
    offsets: torch.Tensor
    weight: torch.Tensor

    @property
    def ends(self) -> list[int]:
        return self.offsets.tolist()

    def experts(self):
        return enumerate(zip([0, *self.ends], self.ends))

    def output(self) -> torch.Tensor:
        """(ends[-1], N) float64."""
        x, weight = self.x.double(), self.weight.double()
        return torch.cat([x[b:e] @ weight[i] for i, (b, e) in self.experts()])

    def input_gradient(self) -> torch.Tensor:
        dy, weight = self.dy.double(), self.weight.double()
        return torch.cat([dy[b:e] @ weight[i].T for i, (b, e) in self.experts()])

    def weight_gradient(self) -> torch.Tensor:
        """(E, M, N) float64."""
        x, dy = self.x.double(), self.dy.double()
        return torch.stack([x[b:e].T @ dy[b:e] for _, (b, e) in self.experts()])

    def bias_gradient(self) -> torch.Tensor:
        return torch.stack([self.dy[b:e].double().sum(0) for _, (b, e) in self.experts()])

    def run(self, layer, *arguments, dy=None, **options) -> torch.Tensor:
        """Forward and backward of ``layer(x, offsets, ...)``; x, whose gradient is there then."""
        x = self.x.clone().requires_grad_()
        y = layer(x, self.offsets, *arguments, **options)
        self.same(y, self.output())
        y.backward(self.dy if dy is None else dy)
        return x

    def same(self, got: torch.Tensor, want: torch.Tensor) -> None:
        """Bit for bit, in the rows of the experts."""
        assert torch.equal(got[: want.shape[0]].double(), want)


def make(
    counts=(4, 0, 5), m: int = 16, n: int = 32, tail: int = 0, seed: int = 0, dtype=torch.bfloat16
) -> Case:
    offsets = torch.tensor(counts, dtype=torch.int32).cumsum(0, dtype=torch.int32)
    total = int(offsets[-1])

    def rows(width: int, seed: int) -> torch.Tensor:
        poison = torch.full((tail, width), NAN, dtype=dtype)
        return torch.cat([integers(total, width, seed=seed, dtype=dtype), poison])

    weight = integers(len(counts), m, n, seed=seed + 2, dtype=dtype)
    return Case(rows(m, seed), rows(n, seed + 1), offsets, weight)
