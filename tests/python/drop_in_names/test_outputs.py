"""Outputs of the drop-in names: how they may lie, alone and beside addresses (F144)."""

from __future__ import annotations

import numpy as np
import pytest

import wgrad
from wgrad import _core

from fake_cuda import FakeCuda

E, M, N = 2, 4, 8
SENTINEL = 7.0


def operands():
    x = np.ones((8, M), np.float16, order="F")
    dy = np.ones((8, N), np.float16, order="F")
    return x.T, dy, None, None, np.array([3, 8], np.int32)


def strided(*strides):
    """An (E, M, N) tensor of float32 in a poisoned buffer, its strides counted in elements."""
    buffer = np.full(512, SENTINEL, np.float32)
    view = np.lib.stride_tricks.as_strided(buffer, (E, M, N), [4 * s for s in strides])
    return buffer, view


def check(buffer, view):
    """Every element written, and not one beside them."""
    assert (view[0] == 3).all() and (view[1] == 5).all()
    assert (buffer == SENTINEL).sum() == buffer.size - view.size


def operator(**sample):
    shape = {} if sample else dict(num_experts=E, wgrad_shape=(M, N), wgrad_dtype="float32")
    made = wgrad.GroupedGemmWgradSm100(*operands(), **sample, **shape)
    made.compile()
    return made


def wrapper(*args, **named):
    return wgrad.grouped_gemm_wgrad_wrapper_sm100(*operands(), *args, **named)


ALONE = {
    "dense operator": lambda out: operator(sample_wgrad=out).execute(*operands(), out),
    "discrete operator": lambda out: operator().execute(*operands(), out),
    "dense wrapper": lambda out: wrapper("dense", out),
    "discrete wrapper": lambda out: wrapper("discrete", out),
    "grouped_wgrad": lambda out: wgrad.grouped_wgrad(
        operands()[0].T, *operands()[1::3], out, backend="cpu"
    ),
}
LAYOUTS = {
    "packed": (M * N, N, 1),
    "a gap between experts": (M * N + 4, N, 1),
    "a gap as wide as an expert": (2 * M * N, N, 1),
    "padded rows": (M * (N + 4), N + 4, 1),
    "padded rows and a gap": (M * (N + 8) + 12, N + 8, 1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("way", ALONE)
def test_f144_a_stacked_output_may_have_gaps_in_every_mode(way, layout):
    buffer, view = strided(*LAYOUTS[layout])
    ALONE[way](view)
    check(buffer, view)


def test_f144_a_discrete_operator_serves_stacked_outputs_of_any_strides_in_turn():
    compiled = operator()
    for strides in [*LAYOUTS.values(), *LAYOUTS.values()]:
        buffer, view = strided(*strides)
        compiled.execute(*operands(), view)
        check(buffer, view)
        assert compiled.fault() is None


REFUSED = {
    "rows that overlap": ((M * N, N - 4, 1), "at least N and a multiple of 16 bytes"),
    "rows that share memory": ((M * N, 0, 1), "a tensor whose rows lie apart"),
    "experts that overlap": ((M * N - 4, N, 1), "at least 32 elements, so that experts do not"),
    "experts that share memory": ((0, N, 1), "a tensor whose rows lie apart"),
    "a gap of 4 bytes": ((M * N + 1, N, 1), "a multiple of 16 bytes"),
    "strided columns": ((2 * M * N, 2 * N, 2), "contiguous along N"),
}
TOGETHER = {
    "operator": lambda out, ptrs: operator().execute(*operands(), out, ptrs),
    "wrapper": lambda out, ptrs: wrapper("discrete", out, ptrs),
}


@pytest.mark.parametrize("layout", REFUSED)
@pytest.mark.parametrize("way", ALONE)
def test_f144_what_an_output_may_not_be_alone(way, layout):
    strides, need = REFUSED[layout]
    buffer, view = strided(*strides)
    with pytest.raises(ValueError, match=need):
        ALONE[way](view)
    assert (buffer == SENTINEL).all()


@pytest.mark.parametrize("layout", REFUSED)
@pytest.mark.parametrize("way", TOGETHER)
def test_f144_what_it_may_not_be_beside_addresses_either(way, layout):
    strides, need = REFUSED[layout]
    buffer, view = strided(*strides)
    addresses = view.ctypes.data + np.arange(E, dtype=np.int64) * 512
    with pytest.raises(ValueError, match=need):
        TOGETHER[way](view, addresses)
    assert (buffer == SENTINEL).all()


@pytest.mark.parametrize("layout", ["padded rows", "padded rows and a gap"])
@pytest.mark.parametrize("way", TOGETHER)
def test_f144_padded_rows_are_refused_beside_addresses(way, layout):
    buffer, view = strided(*LAYOUTS[layout])
    addresses = np.array([e.ctypes.data for e in view], np.int64)
    need = "of packed rows beside wgrad_ptrs, through which each expert is written without gaps"
    with pytest.raises(ValueError, match=f"wgrad_tensor is strided by .* elements; .* {need}"):
        TOGETHER[way](view, addresses)
    assert (buffer == SENTINEL).all()


@pytest.mark.parametrize("layout", ["packed", "a gap between experts", "a gap as wide as an expert"])
@pytest.mark.parametrize("way", TOGETHER)
def test_f144_gaps_between_experts_are_taken_beside_addresses(way, layout):
    buffer, view = strided(*LAYOUTS[layout])
    TOGETHER[way](view, np.array([e.ctypes.data for e in view], np.int64))
    check(buffer, view)


@pytest.mark.parametrize("way", TOGETHER)
def test_f144_the_memory_of_a_tensor_beside_addresses_is_judged(way):
    """Misaligned, or that of an input."""
    separate = np.zeros((E, M, N), np.float32)
    addresses = np.array([e.ctypes.data for e in separate], np.int64)
    misaligned = np.zeros(E * M * N + 1, np.float32)[1:].reshape(E, M, N)
    with pytest.raises(ValueError, match="wgrad_tensor is at address .* aligned to 16 bytes"):
        TOGETHER[way](misaligned, addresses)
    _, *others = operands()
    buffer = np.zeros(E * M * N, np.float32)
    a = np.ndarray((M, 8), np.float16, buffer)
    with pytest.raises(ValueError, match="a_tensor is at address .*, in the memory of the output"):
        wgrad.grouped_gemm_wgrad_wrapper_sm100(
            a, *others, "discrete", buffer.reshape(E, M, N), addresses
        )


def described(outputs):
    """What the host decides of a list of outputs on a GPU, before any launch."""
    x = FakeCuda(np.ones((8, M * 4), np.float16))
    dy = FakeCuda(np.ones((8, N), np.float16))
    ends = FakeCuda(np.array([3, 8], np.int32))
    given = {"x": x, "dy": dy, "offsets": ends, "out": outputs(x)}
    return _core.Call(_core.Api.NATURAL, _core.Options(), given).contract()


def test_f144_a_list_of_outputs_that_overlap_is_refused_on_a_gpu():
    whole = np.zeros((3, M * 4, N), np.float16)
    assert described(lambda x: [FakeCuda(whole[0]), FakeCuda(whole[2])])
    rows = whole.reshape(-1, N)
    for second in (whole[0], rows[4 : 4 + M * 4]):
        with pytest.raises(ValueError, match=r"out\[1\] is 0x.*, within the output of expert 0 at"):
            described(lambda x: [FakeCuda(whole[0]), FakeCuda(second)])
    with pytest.raises(ValueError, match="x is at address .*, in the memory of the output of expert 1"):
        described(lambda x: [FakeCuda(whole[0]), FakeCuda(x.array.reshape(M * 4, N))])
