"""The named shapes of shapes.txt and the token counts their distributions stand for."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

SHAPES_FILE = Path(__file__).with_name("shapes.txt")


@dataclass(frozen=True)
class Shape:
    """One line of the shapes file: E experts, hidden M, intermediate N, T tokens in all."""

    name: str
    experts: int
    m: int
    n: int
    tokens: int
    distribution: str

    @property
    def flops(self) -> int:
        """Multiply-adds counted as two."""
        return 2 * self.tokens * self.m * self.n


def read_shapes(path: Path = SHAPES_FILE) -> list[Shape]:
    """Shapes in file order. Raises ValueError naming a malformed line."""
    shapes = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fields = line.split("#")[0].split()
        if not fields:
            continue
        if len(fields) != 6:
            raise ValueError(f"{path.name}:{number}: {len(fields)} fields; a shape has 6")
        shapes.append(Shape(fields[0], *(int(f) for f in fields[1:5]), fields[5]))
    return shapes


def weights(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Relative load of each expert, before rounding to whole tokens."""
    e = shape.experts
    if shape.distribution == "even":
        return np.ones(e)
    if shape.distribution == "jitter":
        return rng.uniform(0.7, 1.3, e)
    if shape.distribution == "zipf":
        return rng.permutation(1.0 / np.arange(1, e + 1))
    if shape.distribution == "hot":
        hot = np.ones(e)
        hot[rng.integers(e)] = 4 * e
        return hot
    raise ValueError(f"distribution is '{shape.distribution}'; known: even, jitter, zipf, hot")


def counts(shape: Shape, multiple: int = 1, seed: int = 0) -> np.ndarray:
    """(E,) int32 tokens per expert, summing to T (rounded down to `multiple`).

    `multiple` 1 leaves counts as they fall, mostly odd; 256 gives aligned ones.
    """
    w = weights(shape, np.random.default_rng(seed))
    units = shape.tokens // multiple
    exact = w / w.sum() * units
    k = np.floor(exact).astype(np.int64)
    order = np.argsort(k - exact)  # largest remainder first
    k[order[: units - k.sum()]] += 1
    return (k * multiple).astype(np.int32)
