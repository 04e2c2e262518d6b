"""FP8 rowwise and FP8 1x128 through grouped_wgrad, against numpy in float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wgrad

COUNTS = [130, 0, 37, 256, 1]
ENDS = np.cumsum(COUNTS).astype(np.int32)
TOKENS = int(ENDS[-1]) + 5  # the last are nobody's
M, N = 40, 24


def k_major(rng: np.random.Generator, rows: int, dtype: Any) -> Any:
    """(T, rows) of small integers with tokens contiguous, rows of whole 16 bytes."""
    memory = np.full((rows, -(-TOKENS // 16) * 16), np.nan, np.float32)
    memory[:, : ENDS[-1]] = rng.integers(-4, 5, (rows, ENDS[-1]))
    return memory.astype(dtype)[:, :TOKENS].T


def expected(x: Any, dy: Any, scales: Any) -> Any:
    """`scales(e, side)`: of every token of expert e and row."""
    out = []
    for e, end in enumerate(ENDS):
        own = slice(end - COUNTS[e], end)
        a = x[own].astype(np.float64) * scales(e, 0)
        b = dy[own].astype(np.float64) * scales(e, 1)
        out.append(a.T @ b)
    return np.stack(out)


@pytest.mark.parametrize("b_dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
@pytest.mark.parametrize("flat", [False, True])
def test_rowwise(b_dtype: Any, flat: bool) -> None:
    rng = np.random.default_rng(1)
    x, dy = k_major(rng, M, ml_dtypes.float8_e4m3fn), k_major(rng, N, b_dtype)
    sides = [
        np.ldexp(np.float32(1), rng.integers(-3, 4, (len(COUNTS), n))).astype(np.float32)
        for n in (M, N)
    ]
    want = expected(x, dy, lambda e, side: sides[side][e][None, :])
    for fast in (False, True):
        got = wgrad.grouped_wgrad(
            x, dy, ENDS, out_dtype="float32", use_fast_accum=fast,
            x_scale=sides[0].ravel() if flat else sides[0],
            dy_scale=sides[1].ravel() if flat else sides[1],
        )
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("e8m0", [False, True])
def test_1x128(e8m0: bool) -> None:
    rng = np.random.default_rng(2)
    x = k_major(rng, M, ml_dtypes.float8_e4m3fn)
    dy = k_major(rng, N, ml_dtypes.float8_e4m3fn)
    blocks = [-(-count // 128) for count in COUNTS]
    first = np.cumsum([0, *blocks])
    values = [
        np.ldexp(np.float32(1), rng.integers(-3, 4, (n, first[-1]))).astype(np.float32)
        for n in (M, N)
    ]

    def scales(e: int, side: int) -> Any:
        own = values[side][:, first[e] : first[e + 1]]
        return np.repeat(own, 128, axis=1)[:, : COUNTS[e]].T

    given = [v.astype(ml_dtypes.float8_e8m0fnu) if e8m0 else v for v in values]
    got = wgrad.grouped_wgrad(
        x, dy, ENDS, out_dtype="float32", x_scale=given[0], dy_scale=given[1], sf_vec_size=128
    )
    np.testing.assert_array_equal(got, expected(x, dy, scales))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"x_scale": np.ones((len(COUNTS), M + 1), np.float32)}, "x_scale is of shape"),
        ({"sf_vec_size": 32}, "sf_vec_size is 32; it must be 128, or left out"),
        ({"dy": np.zeros((TOKENS, N), ml_dtypes.float8_e4m3fn)}, "dy is MN-major"),
        ({"sf_vec_size": 128, "use_fast_accum": True}, "use_fast_accum is True; it must be False"),
        ({"use_fast_accum": 1}, "use_fast_accum is 1; it must be True or False"),
    ],
)
def test_refusals(change: dict[str, Any], sentence: str) -> None:
    rng = np.random.default_rng(3)
    given: dict[str, Any] = {
        "x": k_major(rng, M, ml_dtypes.float8_e4m3fn),
        "dy": k_major(rng, N, ml_dtypes.float8_e4m3fn),
        "offsets": ENDS,
        "x_scale": np.ones((len(COUNTS), M), np.float32),
        "dy_scale": np.ones((len(COUNTS), N), np.float32),
    }
    with pytest.raises(ValueError, match="wgrad: ") as caught:
        wgrad.grouped_wgrad(**(given | change))
    assert sentence in str(caught.value)
