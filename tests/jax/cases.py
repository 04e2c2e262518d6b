"""Operands of whole numbers, whose sums are exact, and the C++ call's answer."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import wgrad

DTYPES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float32": np.float32}
COUNTS = {
    "odd": [37, 1, 0, 90],
    "one-hot": [0, 0, 128, 0],
    "none": [0, 0, 0, 0],
    "even": [32, 32, 32, 32],
}


@dataclass
class Case:
    """x (T, M), dy (T, N), ends (E,) as numpy arrays; two rows past the last end hold NaN."""

    x: np.ndarray
    dy: np.ndarray
    ends: np.ndarray

    @property
    def arrays(self):
        return jnp.asarray(self.x), jnp.asarray(self.dy), jnp.asarray(self.ends)

    def by_cpp(self, out_dtype, out=None):
        """What numpy arrays give, as the bits of a new array."""
        dtype = np.dtype(DTYPES[out_dtype])
        if out is None:
            return bits(wgrad.grouped_wgrad(self.x, self.dy, self.ends, out_dtype=dtype))
        out = out.copy()
        wgrad.grouped_wgrad(self.x, self.dy, self.ends, out, accumulate=True)
        return bits(out)


def case(counts=COUNTS["odd"], m=64, n=48, dtype="bfloat16", seed=0, tail=2) -> Case:
    random = np.random.default_rng(seed)
    tokens = sum(counts) + tail

    def operand(width):
        values = random.integers(-4, 5, (tokens, width)).astype(DTYPES[dtype])
        values[tokens - tail :] = np.nan
        return values

    return Case(operand(m), operand(n), np.cumsum(counts, dtype=np.int32))


def weights(case: Case, dtype, seed=1) -> np.ndarray:
    """(E, M, N) of small whole numbers."""
    shape = (len(case.ends), case.x.shape[1], case.dy.shape[1])
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(DTYPES[dtype])


def bits(array) -> np.ndarray:
    """An array's elements as integers: equal bits, equal arrays, NaN and -0 included."""
    array = np.asarray(array)
    return array.view(f"u{array.dtype.itemsize}")
