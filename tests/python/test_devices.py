"""CUDA tensors as far as a machine without CUDA can tell: places, refusals, no hidden host path."""

from __future__ import annotations

import types

import numpy as np
import pytest

import wgrad
from wgrad import _core

from fake_cuda import FakeCuda

T, M, N, E = 24, 16, 32, 2


def call(device=0, **changes):
    return {
        "x": FakeCuda(np.ones((T, M), np.float16), device),
        "dy": FakeCuda(np.ones((T, N), np.float16), device),
        "offsets": FakeCuda(np.array([8, T], np.int32), device),
        **changes,
    }


def describe(sm_limit=None, **given):
    options = _core.Options(sm_limit=sm_limit)
    return _core.Call(_core.Api.NATURAL, options, given).contract()


@pytest.mark.parametrize("device", [0, 3])
def test_the_device_is_the_tensors(device):
    contract = describe(**call(device))
    assert contract.device == f"cuda:{device}"
    assert contract.wgrad_shape == (E, M, N) and contract.wgrad_dtype == "float16"


def test_another_device_is_another_operator():
    x, dy = np.ones((T, M), np.float16), np.ones((T, N), np.float16)
    cpu = describe(x=x, dy=dy, offsets=np.array([8], np.int32))
    keys = {describe(**call(device)).key for device in (0, 0, 1)}
    assert len(keys) == 2 and cpu.key not in keys


def test_another_sm_limit_is_another_operator():
    keys = {describe(**call(), sm_limit=limit).key for limit in (None, 8, 8, 16)}
    assert len(keys) == 3


def test_pinned_host_memory_is_host_memory():
    pinned = FakeCuda(np.array([8, T], np.int32), device_type=3)
    x, dy = np.ones((T, M), np.float16), np.ones((T, N), np.float16)
    out = wgrad.grouped_wgrad(x, dy, pinned)
    assert (out[0] == 8).all() and (out[1] == 16).all()


MIXED = {
    "offsets on the host": (
        {"offsets": np.array([8, T], np.int32)},
        "offsets is on cpu; it must be on the same device as x, which is cuda:0",
    ),
    "dy elsewhere": (
        {"dy": FakeCuda(np.ones((T, N), np.float16), 1)},
        "dy is on cuda:1; it must be on the same device as x, which is cuda:0",
    ),
    "out on the host": (
        {"out": np.zeros((E, M, N), np.float32)},
        "out is on cpu; it must be on the same device as x, which is cuda:0",
    ),
    "x alone on the host": (
        {"x": np.ones((T, M), np.float16)},
        "dy is on cuda:0; it must be on the same device as x, which is cpu",
    ),
}


@pytest.mark.parametrize("mix", MIXED)
def test_f082_f095_every_tensor_is_on_one_device(mix):
    changes, text = MIXED[mix]
    with pytest.raises(ValueError, match=text):
        wgrad.grouped_wgrad(**call(**changes))


def test_a_foreign_device_is_refused():
    with pytest.raises(ValueError, match="x is on DLPack device type 8; it must be on a CPU or a"):
        wgrad.grouped_wgrad(**call(x=FakeCuda(np.ones((T, M), np.float16), device_type=8)))


STREAMS = {
    "a list": ([1], "stream is a list; it must be None, an integer handle, a torch stream or a CU"),
    "of another device": (
        types.SimpleNamespace(cuda_stream=5, device_index=1),
        "stream is a stream of cuda:1; it must be a stream of the operands' device: cuda:0",
    ),
}


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("out", [None, FakeCuda(np.zeros((E, M, N), np.float32))])
def test_streams_are_refused_before_anything_is_compiled_or_allocated(kind, out):
    stream, text = STREAMS[kind]
    with pytest.raises(wgrad.ValueError, match=text):
        wgrad.grouped_wgrad(**call(out=out, stream=stream))
    a = FakeCuda(np.ones((M, T), np.float16))
    with pytest.raises(wgrad.ValueError, match="current_" + text):
        wgrad.grouped_gemm_wgrad_wrapper_sm100(
            a, call()["dy"], None, None, call()["offsets"], wgrad_tensor=out, current_stream=stream
        )


@pytest.mark.skipif(_core.cuda_device_count() > 0, reason="this machine has CUDA devices")
def test_cuda_tensors_without_a_driver_are_a_runtime_error():
    with pytest.raises(wgrad.RuntimeError, match="nothing can run on a CUDA device: install one of"):
        wgrad.grouped_wgrad(**call())


@pytest.mark.torch
def test_f093_meta_tensors_are_refused_before_any_allocation():
    import torch

    x = torch.ones((T, M), dtype=torch.float16, device="meta")
    with pytest.raises(ValueError, match="x is nothing DLPack describes"):
        wgrad.grouped_wgrad(x, x, torch.tensor([T], dtype=torch.int32))
