"""Operands of every format as tensors, with the logical values they stand for."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

import reference


@dataclasses.dataclass
class Operand:
    """`tokens` is the (T, rows) view (packed: (T/2, rows)); A is its transpose, B itself."""

    tokens: Any
    values: np.ndarray  # (T, rows), scales applied
    scales: Any = None
    global_scale: Any = None


def arrange(
    values: np.ndarray, major: str, ends: np.ndarray, ragged: bool, padding: int = 0
) -> np.ndarray:
    """(T, rows) `values` in the wanted memory order, as a (T, rows) view.

    `padding`: elements of NaN between the rows of memory (bytes of 0xFF for integers).
    """
    if ragged and major == "k":
        return ragged_k(values, ends)
    memory = values if major == "mn" else np.ascontiguousarray(values.T)
    poison = 255 if values.dtype == np.uint8 else np.nan
    wide = np.full((memory.shape[0], memory.shape[1] + padding), poison, values.dtype)
    wide[:, : memory.shape[1]] = memory
    view = wide[:, : memory.shape[1]]
    return view if major == "mn" else view.T


def ragged_k(values: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Expert blocks (rows, k), K-contiguous, one after another, viewed as (T, rows)."""
    begins = [0, *ends[:-1]]
    blocks = [np.ascontiguousarray(values[b:e].T).reshape(-1) for b, e in zip(begins, ends)]
    tail = np.ascontiguousarray(values[ends[-1] :].T).reshape(-1)
    flat = np.concatenate([*blocks, tail])
    return flat.reshape(values.shape[1], values.shape[0]).T


def as_tensor(framework: Any, view: np.ndarray, dtype: str) -> Any:
    """A tensor of the framework with the very strides of `view`, a transposition or a slice."""
    base = view.base if view.base is not None and view.base.ndim == 2 else view
    tensor = framework.tensor(base, dtype)
    if base is view:
        return tensor
    if base.shape == view.shape[::-1] and base.strides == view.strides[::-1]:
        return tensor.T
    transposed = view.strides[0] < view.strides[1]
    rows, cols = view.shape[::-1] if transposed else view.shape
    return tensor[:rows, :cols].T if transposed else tensor[:rows, :cols]


def sixteen_bit(
    framework: Any,
    rng: np.random.Generator,
    ends: np.ndarray,
    rows: int,
    *,
    slack: int = 0,
    dtype: str = "bfloat16",
    major: str = "mn",
    ragged: bool = False,
    padding: int = 0,
) -> Operand:
    """Small integers; tokens past the last offset are NaN."""
    total = int(ends[-1])
    values = reference.integers(rng, (total + slack, rows))
    values[total:] = np.nan
    view = arrange(values, major, ends, ragged, padding)
    return Operand(as_tensor(framework, view, dtype), values)


def block_scaled(
    framework: Any,
    rng: np.random.Generator,
    ends: np.ndarray,
    rows: int,
    format: str,
    *,
    element: str = "float8_e4m3fn",
    major: str = "k",
    ragged: bool = False,
    slack: int = 0,
    padding: int = 0xFF,
    compact: bool = False,
    scale_tensor_dtype: str | None = None,
) -> Operand:
    """Elements of random codes, scales that differ entry by entry, padding bytes of `padding`."""
    total = int(ends[-1])
    vec = 16 if format == "nvfp4" else 32
    codes, element_values = _elements(rng, total + slack, rows, format, element)
    scale_codes, scale_values = [], []
    for begin, end in zip([0, *ends[:-1]], ends):
        cols = -(-int(end - begin) // vec)
        exponents = (np.arange(rows)[:, None] + 3 * np.arange(cols)[None, :]) % 5 - 2
        if format == "nvfp4":  # e4m3 powers of two: exponent bias 7
            scale_codes.append(((exponents + 7) << 3).astype(np.uint8))
        else:
            scale_codes.append((exponents + 127).astype(np.uint8))
        scale_values.append(np.exp2(exponents))
    values = reference.scale_rows(element_values, scale_values, ends, vec)
    global_scale = None
    if format == "nvfp4":
        factors = np.exp2(rng.integers(-2, 3, len(ends)).astype(np.float64))
        for e, (begin, end) in enumerate(zip([0, *ends[:-1]], ends)):
            values[begin:end] *= factors[e]
        global_scale = framework.tensor(factors, "float32")
    stored = (
        np.concatenate(scale_codes, axis=1)
        if compact
        else reference.swizzle(scale_codes, rows, padding)
    )
    scale_dtype = scale_tensor_dtype or ("float8_e4m3fn" if format == "nvfp4" else "float8_e8m0fnu")
    tokens = _store_elements(framework, codes, format, element, major, ends, ragged)
    scales = framework.bytes_as(np.ascontiguousarray(stored.astype(np.uint8)), scale_dtype)
    return Operand(tokens, values, scales, global_scale)


def _elements(rng, tokens, rows, format, element):
    if format == "mxfp8":
        values = reference.integers(rng, (tokens, rows))
        import ml_dtypes

        codes = values.astype(getattr(ml_dtypes, element)).view(np.uint8)
        return codes, values
    codes = rng.choice(np.array([0, 1, 2, 4, 9, 10, 12], np.uint8), (tokens, rows))
    return codes, reference.E2M1[codes]


def _store_elements(framework, codes, format, element, major, ends, ragged):
    if format == "mxfp8":
        view = arrange(codes, major, ends, ragged)
        if major == "mn":
            return framework.bytes_as(np.ascontiguousarray(view), element)
        return framework.bytes_as(np.ascontiguousarray(view.T), element).T
    packed = codes[0::2] | (codes[1::2] << 4)  # (T/2, rows), the even token low
    view = arrange(packed, "k", ends // 2, ragged)
    return framework.bytes_as(np.ascontiguousarray(view.T), "float4_e2m1fn_x2").T
