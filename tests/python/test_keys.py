"""Keys of kept operators forget nothing: calls that differ in one thing alone, one after the other."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

import wgrad

POISON = -1e4
E, M, N, T = 3, 16, 24, 40


@dataclasses.dataclass(frozen=True)
class Lay:
    """One call of exact whole numbers, and how its tensors lie."""

    experts: int = E
    m: int = M
    n: int = N
    tokens: int = T
    dtype: str = "float16"
    out_dtype: str = "float32"
    x_pad: int = 0  #: elements between the rows of x, past its own
    dy_pad: int = 0
    x_major: str = "mn"
    dy_major: str = "mn"
    row_gap: int = 0  #: elements past each row of the output
    expert_gap: int = 0  #: rows past each expert of the output
    first: int = 0  #: tokens of the first expert
    options: tuple[tuple[str, Any], ...] = ()


def matrix(tokens: int, width: int, pad: int, major: str, dtype: str, seed: int) -> np.ndarray:
    """(T, width) of small whole numbers, in a memory of its own."""
    values = np.random.default_rng(seed).integers(-3, 4, (tokens, width))
    shape = (tokens, width) if major == "mn" else (width, tokens)
    memory = np.zeros((shape[0], shape[1] + pad), dtype)
    view = memory[:, : shape[1]]
    view[...] = values if major == "mn" else values.T
    return view if major == "mn" else view.T


def prepared(lay: Lay):
    """(x, dy, offsets, out, its whole memory)."""
    x = matrix(lay.tokens, lay.m, lay.x_pad, lay.x_major, lay.dtype, 1)
    dy = matrix(lay.tokens, lay.n, lay.dy_pad, lay.dy_major, lay.dtype, 2)
    ends = np.linspace(lay.first, lay.tokens, lay.experts).astype(np.int32)
    memory = np.full((lay.experts, lay.m + lay.expert_gap, lay.n + lay.row_gap), POISON, lay.out_dtype)
    return x, dy, ends, memory[:, : lay.m, : lay.n], memory


def check(lay: Lay, ends: np.ndarray, x: np.ndarray, dy: np.ndarray, memory: np.ndarray) -> None:
    want = np.full_like(memory, POISON)
    begin = 0
    accumulate = dict(lay.options).get("accumulate", False)
    for e, end in enumerate(ends):
        product = x[begin:end].astype(np.float64).T @ dy[begin:end].astype(np.float64)
        part = want[e, : lay.m, : lay.n]
        part[...] = product + part if accumulate else product
        begin = end
    np.testing.assert_array_equal(memory, want, err_msg=str(lay))


def natural(lay: Lay) -> None:
    x, dy, ends, out, memory = prepared(lay)
    wgrad.grouped_wgrad(x, dy, ends, out, **dict(lay.options))
    check(lay, ends, x, dy, memory)


def wrapper(lay: Lay) -> None:
    x, dy, ends, out, memory = prepared(lay)
    names = {"accumulate": "accumulate_on_output"}
    options = {names.get(name, name): value for name, value in lay.options}
    wgrad.grouped_gemm_wgrad_wrapper_sm100(
        x.T, dy, None, None, ends, wgrad_tensor=out, **options
    )
    check(lay, ends, x, dy, memory)


#: What one operator serves: calls that differ in these alone.
SHARED = {
    "tokens": 64,
    "first": 5,
    "x_pad": 8,
    "dy_pad": 16,
}
#: What makes another operator.
OTHERS = {
    "experts": 2,
    "m": 32,
    "n": 8,
    "dtype": "bfloat16",
    "out_dtype": "float16",
    "x_major": "k",
    "dy_major": "k",
    "row_gap": 8,
    "expert_gap": 2,
    "options": (("accumulate", True),),
}
OPTIONS = {
    "mma_tiler_mn": (128, 64),
    "cluster_shape_mn": (2, 1),
    "backend": "reference",
    "validate_device_data": True,
    "allow_unverified": True,
}
#: Bases whose other properties make a forgotten field show: padded outputs, several gaps.
BASES = [Lay(), Lay(row_gap=16, expert_gap=1), Lay(x_major="k", dy_major="k", out_dtype="float16")]


def varied(base: Lay) -> list[tuple[str, Lay, bool]]:
    """(what, a call that differs from `base` in it alone, whether it needs another operator)."""
    out = []
    for field, value in itertools.chain(SHARED.items(), OTHERS.items()):
        if getattr(base, field) == value:
            value = getattr(Lay(), field)
        out.append((field, dataclasses.replace(base, **{field: value}), field in OTHERS))
    for name, value in OPTIONS.items():
        out.append((name, dataclasses.replace(base, options=((name, value),)), True))
    return out


CASES = [
    pytest.param(base, other, another, id=f"{number}-{what}")
    for number, base in enumerate(BASES)
    for what, other, another in varied(base)
]


def as_dtypes(lay: Lay) -> Lay:
    if lay.dtype != "bfloat16":
        return lay
    ml_dtypes = pytest.importorskip("ml_dtypes")
    return dataclasses.replace(lay, dtype=ml_dtypes.bfloat16)


@pytest.mark.parametrize("call", [natural, wrapper])
@pytest.mark.parametrize("base, other, another", CASES)
def test_calls_that_differ_in_one_thing_meet_the_right_operators(call, base, other, another):
    other = as_dtypes(other)
    for first, second in ((base, other), (other, base)):
        wgrad.clear_caches()
        call(first)
        call(second)
        call(first)
        if call is wrapper:
            kept = len(wgrad._cache_of_GroupedGemmWgradSm100Objects)
            assert kept == (2 if another else 1)


def test_every_field_of_a_call_is_varied():
    assert {field.name for field in dataclasses.fields(Lay)} == SHARED.keys() | OTHERS.keys()
