"""An oracle of its own: numpy in double, sharing no line with the C++ one."""

from __future__ import annotations

import numpy as np

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def product(x: np.ndarray, dy: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """(E, M, N) of logical (T, M) and (T, N) values."""
    begins = np.concatenate([[0], ends[:-1]])
    return np.stack([x[b:e].T @ dy[b:e] for b, e in zip(begins, ends)])


def e8m0(codes: np.ndarray) -> np.ndarray:
    values = np.exp2(codes.astype(np.float64) - 127)
    return np.where(codes == 255, np.nan, values)


def unswizzle(raw: np.ndarray, rows: int, ends: np.ndarray, vec: int) -> list[np.ndarray]:
    """Per expert the (rows, ceil(k/vec)) scale bytes, read atom by atom."""
    raw = raw.reshape(-1)
    padded_rows = -(-rows // 128) * 128
    out, position, begin = [], 0, 0
    for end in ends:
        cols = -(-(end - begin) // vec)
        blocks = -(-cols // 4)
        atoms = raw[position : position + padded_rows * blocks * 4]
        atoms = atoms.reshape(padded_rows // 128, blocks, 32, 4, 4)
        # atom byte = (row % 32) * 16 + (row // 32) * 4 + col
        full = atoms.transpose(0, 3, 2, 1, 4).reshape(padded_rows, blocks * 4)
        out.append(full[:rows, :cols])
        position += padded_rows * blocks * 4
        begin = end
    return out


def swizzle(per_expert: list[np.ndarray], rows: int, padding: int) -> np.ndarray:
    """The inverse of unswizzle, as (round_up(rows, 128), cols)."""
    padded_rows = -(-rows // 128) * 128
    parts = []
    for scales in per_expert:
        cols = scales.shape[1]
        blocks = -(-cols // 4)
        full = np.full((padded_rows, blocks * 4), padding, np.uint8)
        full[:rows, :cols] = scales
        atoms = full.reshape(padded_rows // 128, 4, 32, blocks, 4).transpose(0, 3, 2, 1, 4)
        parts.append(atoms.reshape(-1))
    return np.concatenate(parts).reshape(padded_rows, -1) if parts else np.zeros((padded_rows, 0))


def scale_rows(
    values: np.ndarray, per_expert: list[np.ndarray], ends: np.ndarray, vec: int
) -> np.ndarray:
    """(T, rows) element values times their block's scale."""
    out = np.zeros_like(values)
    begin = 0
    for end, scales in zip(ends, per_expert):
        k = end - begin
        out[begin:end] = values[begin:end] * np.repeat(scales.T, vec, axis=0)[:k]
        begin = end
    return out


def round_to(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """One rounding of doubles that float32 holds exactly."""
    assert np.array_equal(values.astype(np.float32).astype(np.float64), values, equal_nan=True)
    return values.astype(np.float32).astype(dtype).astype(np.float64)


def offsets(counts: list[int]) -> np.ndarray:
    return np.cumsum(counts).astype(np.int32)


def integers(rng: np.random.Generator, shape: tuple[int, ...], span: int = 2) -> np.ndarray:
    """Small integers: every sum below is exact in float32."""
    return rng.integers(-span, span + 1, shape).astype(np.float64)
