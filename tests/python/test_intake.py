"""Every way a tensor comes in: same results, no copies, nothing kept."""

from __future__ import annotations

import array
import ctypes
import gc
import sys

import ml_dtypes
import numpy as np
import pytest

import wgrad

import frameworks
import reference

T, M, N = 24, 16, 32
ENDS = np.array([8, 24], np.int32)


def problem(framework):
    rng = np.random.default_rng(0)
    x = reference.integers(rng, (T, M))
    dy = reference.integers(rng, (T, N))
    expected = reference.product(x, dy, ENDS)
    return framework.tensor(x, "float16"), framework.tensor(dy, "float16"), expected


class DlpackOnly:
    """Speaks `__dlpack__` and nothing else; `versioned` as DLPack 1.0 does."""

    def __init__(self, array, versioned):
        self.array, self.versioned, self.calls = array, versioned, 0

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **kwargs):
        self.calls += 1
        if self.versioned:
            return self.array.__dlpack__(max_version=kwargs["max_version"])
        if kwargs:
            raise TypeError("a producer from before DLPack 1.0")
        return self.array.__dlpack__()


class TorchAttributes:
    """What wgrad reads of a torch that has no C exchange interface."""

    def __init__(self, tensor):
        self._tensor = tensor

    requires_grad = False

    @property
    def dtype(self):
        return self._tensor.dtype

    @property
    def shape(self):
        return self._tensor.shape

    @property
    def device(self):
        return self._tensor.device

    def stride(self):
        return self._tensor.stride()

    def data_ptr(self):
        return self._tensor.data_ptr()


@pytest.mark.parametrize("versioned", [False, True])
def test_dlpack(versioned):
    x, dy, expected = problem(frameworks.Numpy())
    out = np.full((2, M, N), np.nan, np.float32)
    tensors = [DlpackOnly(t, versioned) for t in (x, dy, ENDS)] + [DlpackOnly(out, True)]
    result = wgrad.grouped_wgrad(*tensors)
    assert result is tensors[3] and all(t.calls > 0 for t in tensors)
    np.testing.assert_array_equal(out, expected)


def test_memory_of_which_nobody_says_that_it_may_be_written_is_not_written():
    """A capsule without version cannot say that it is read-only: JAX's are (field fault F118)."""
    x, dy, expected = problem(frameworks.Numpy())
    out = np.zeros((2, M, N), np.float32)
    with pytest.raises(wgrad.ValueError, match="out is read-only; it must be writable"):
        wgrad.grouped_wgrad(x, dy, ENDS, DlpackOnly(out, False))
    assert not out.any()
    mutable = type("ndarray", (DlpackOnly,), {"__module__": "cupy"})
    wgrad.grouped_wgrad(x, dy, ENDS, mutable(out, False))
    np.testing.assert_array_equal(out, expected)


def test_dlpack_capsules_are_given_back():
    x, dy, _ = problem(frameworks.Numpy())
    before = sys.getrefcount(x)
    for _ in range(10):
        out = np.zeros((2, M, N), np.float32)
        wgrad.grouped_wgrad(DlpackOnly(x, True), DlpackOnly(dy, True), ENDS, out)
    gc.collect()
    assert sys.getrefcount(x) == before


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_torch_without_the_c_exchange(dtype):
    torch = frameworks.Torch()
    rng = np.random.default_rng(1)
    x, dy = reference.integers(rng, (T, M)), reference.integers(rng, (T, N))
    out = torch.full((2, M, N), np.nan, "float32")
    wgrad.grouped_wgrad(
        TorchAttributes(torch.tensor(x, dtype)),
        TorchAttributes(torch.tensor(dy, dtype)),
        TorchAttributes(torch.tensor(ENDS, "int32")),
        out,
    )
    np.testing.assert_array_equal(out.numpy(), reference.product(x, dy, ENDS))


def test_offsets_through_the_buffer_protocol():
    x, dy, expected = problem(frameworks.Numpy())
    for offsets in (array.array("i", [8, 24]), memoryview(ENDS), (ctypes.c_int * 2)(8, 24)):
        out = wgrad.grouped_wgrad(x, dy, offsets, out_dtype="float32")
        np.testing.assert_array_equal(out, expected)
    with pytest.raises(ValueError, match="offsets is int64; it must be int32"):
        wgrad.grouped_wgrad(x, dy, array.array("q", [8, 24]))
    with pytest.raises(ValueError, match="out is read-only"):
        read_only = memoryview(bytes(2 * M * N * 4)).cast("f", (2, M, N))
        wgrad.grouped_wgrad(x, dy, ENDS, read_only)


def test_every_operand_may_be_a_buffer():
    x, dy, expected = problem(frameworks.Numpy())
    out = np.full((2, M, N), np.nan, np.float32)
    wgrad.grouped_wgrad(*map(memoryview, (x, dy, ENDS, out)))
    np.testing.assert_array_equal(out, expected)


@pytest.mark.torch
def test_frameworks_mix_on_a_cpu():
    torch, numpy = frameworks.Torch(), frameworks.Numpy()
    x, _, expected = problem(torch)
    _, dy, _ = problem(numpy)
    out = np.full((2, M, N), np.nan, np.float32)
    wgrad.grouped_wgrad(x, dy, torch.tensor(ENDS, "int32"), out)
    np.testing.assert_array_equal(out, expected)


def test_read_only_inputs_are_fine():
    x, dy, expected = problem(frameworks.Numpy())
    x.flags.writeable = dy.flags.writeable = False
    out = wgrad.grouped_wgrad(x, dy, ENDS, out_dtype="float32")
    np.testing.assert_array_equal(out, expected)


def test_views_of_unaligned_itemsize_are_refused():
    records = np.zeros(T * M, np.dtype([("value", np.float16), ("odd", np.uint8)]))
    x = records["value"].reshape(T, M)
    _, dy, _ = problem(frameworks.Numpy())
    with pytest.raises(ValueError, match="x is strided by .* bytes; it must be strided by whole"):
        wgrad.grouped_wgrad(x, dy, ENDS)


@pytest.mark.parametrize("kind", ["natural", "wrapper", "discrete", "refused"])
def test_no_reference_is_left(framework, kind):
    x, dy, _ = problem(framework)
    offsets = framework.tensor(ENDS, "int32")
    out = framework.full((2, M, N), 0.0, "float32")
    held = [x, dy, offsets, out]

    def call():
        if kind == "natural":
            wgrad.grouped_wgrad(x, dy, offsets, out)
        elif kind == "discrete":
            wgrad.grouped_wgrad(x, dy, offsets, [out[0], out[1]])
        elif kind == "wrapper":
            wgrad.grouped_gemm_wgrad_wrapper_sm100(x.T, dy, None, None, offsets, wgrad_tensor=out)
        else:
            with pytest.raises(ValueError):
                wgrad.grouped_wgrad(x, dy, offsets, out, sf_vec_size=32)

    call()  # the first compiles and remembers types
    gc.collect()
    before = [sys.getrefcount(t) for t in held]
    for _ in range(20):
        call()
    gc.collect()
    assert [sys.getrefcount(t) for t in held] == before


def test_a_large_operand_is_not_copied():
    """64 MB of bfloat16 in, and peak memory stays where it was."""
    import resource

    tokens, width = 65536, 512
    x = np.zeros((tokens, width), ml_dtypes.bfloat16)
    dy = np.zeros((tokens, 8), ml_dtypes.bfloat16)
    x[:] = 0
    ends = np.array([8], np.int32)
    wgrad.grouped_wgrad(x[:8], dy[:8], ends)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wgrad.grouped_wgrad(x, dy, ends)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 * 1024  # KiB
