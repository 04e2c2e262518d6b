"""The common problem of the drop-in API's published tests: M 384, N 640, groups [256, 384]."""

from __future__ import annotations

from typing import Any

import numpy as np

import operands
import reference

M, N = 384, 640
GROUPS = [256, 384]
OTHER_GROUPS = [128, 128]


def call(framework: Any, rng: np.random.Generator, format: str, counts: list[int]) -> dict:
    """Keyword arguments of execute() and the wrapper, and the expected (E, M, N) doubles."""
    ends = reference.offsets(counts)
    if format == "bf16":
        a = operands.sixteen_bit(framework, rng, ends, M, major="k")
        b = operands.sixteen_bit(framework, rng, ends, N, major="k")
    else:
        a = operands.block_scaled(framework, rng, ends, M, format)
        b = operands.block_scaled(framework, rng, ends, N, format)
    tensors = {
        "a_tensor": a.tokens.T,
        "b_tensor": b.tokens,
        "sfa_tensor": a.scales,
        "sfb_tensor": b.scales,
        "offsets_tensor": framework.tensor(ends, "int32"),
        "global_scale_a": a.global_scale,
        "global_scale_b": b.global_scale,
    }
    return {"tensors": tensors, "expected": reference.product(a.values, b.values, ends)}


def samples(tensors: dict) -> dict:
    """The same tensors under the constructor's names."""
    names = {key: "sample_" + key.removesuffix("_tensor") for key in tensors}
    return {names[key]: value for key, value in tensors.items()}


def vec(format: str) -> int:
    return {"bf16": 16, "mxfp8": 32, "mxfp4": 32, "nvfp4": 16}[format]


def pointers(framework: Any, outputs: list[Any]) -> Any:
    return framework.tensor(np.array([framework.address(w) for w in outputs]), "int64")
