"""What cuDNN Frontend's release 1.32 says of bad arguments, word for word, within our sentences.

Callers and tests written for it look for its words, capital letters included. Values that it tells
behind them ("got ...") stand in our own sentence before.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import wgrad

M, N, T = 128, 256, 512
BF16, E4M3, E8M0 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu


def zeros(*shape, dtype=BF16):
    return np.zeros(shape, dtype)


def ends(*values):
    return np.array(values or (T // 2, T), np.int32)


def wrapper(**changes):
    call = dict(
        a_tensor=zeros(M, T), b_tensor=zeros(T, N), sfa_tensor=None, sfb_tensor=None,
        offsets_tensor=ends(),
    )
    return wgrad.grouped_gemm_wgrad_wrapper_sm100(**{**call, **changes})


def operator(**changes):
    samples = dict(
        sample_a=zeros(M, T), sample_b=zeros(T, N), sample_sfa=None, sample_sfb=None,
        sample_offsets=ends(), sample_wgrad=zeros(2, M, N),
    )
    made = wgrad.GroupedGemmWgradSm100(**{**samples, **changes})
    made.check_support()
    return made


def scaled(**changes):
    samples = dict(
        sample_a=zeros(M, T, dtype=E4M3), sample_b=zeros(N, T, dtype=E4M3).T, sf_vec_size=32,
        sample_sfa=zeros(128, 16, dtype=E8M0), sample_sfb=zeros(256, 16, dtype=E8M0),
    )
    return operator(**{**samples, **changes})


def discrete(**changes):
    named = dict(sample_wgrad=None, num_experts=2, wgrad_shape=(M, N), wgrad_dtype="float32")
    return operator(**{**named, **changes})


def execute(made=operator, **changes):
    compiled = made()
    compiled.compile()
    call = dict(
        a_tensor=zeros(M, T), b_tensor=zeros(T, N), sfa_tensor=None, sfb_tensor=None,
        offsets_tensor=ends(),
    )
    if made is operator:
        call["wgrad_tensor"] = zeros(2, M, N)
    compiled.execute(**{**call, **changes})


def addresses(*values):
    return {"wgrad_ptrs": np.array(values, np.int64)}


SAID = {
    'output_mode must be "dense" or "discrete"': lambda: wrapper(output_mode="x"),
    "a_tensor and b_tensor must both be rank-2": lambda: wrapper(a_tensor=zeros(1, M, T)),
    "a_tensor and b_tensor token dimensions must match": lambda: wrapper(b_tensor=zeros(8, N)),
    "offsets_tensor must be rank-1": lambda: wrapper(offsets_tensor=ends()[None]),
    "dense output_mode forbids wgrad_ptrs": lambda: wrapper(**addresses(64, 128)),
    "BF16 forbids scale control sfa_tensor": lambda: wrapper(sfa_tensor=zeros(128, 16, dtype=E8M0)),
    "BF16 forbids scale control sf_vec_size": lambda: wrapper(sf_vec_size=32),
    "BF16 forbids scale control sf_fp8_dtype_override": lambda: wrapper(sf_fp8_dtype_override="e5m3"),
    "offsets_tensor must be a non-decreasing cumulative sum": lambda: wrapper(offsets_tensor=ends(9, 8)),
    "offsets_tensor last value must not exceed total tokens": (
        lambda: wrapper(offsets_tensor=ends(9, 600))),
    "Provide either sample_wgrad for dense mode or (num_experts, wgrad_shape, wgrad_dtype) for "
    "discrete mode, but not both": lambda: operator(num_experts=2),
    "wgrad_shape and wgrad_dtype are required in discrete mode": lambda: discrete(wgrad_dtype=None),
    "sample_a must be rank-2": lambda: operator(sample_a=zeros(1, M, T)),
    "sample_b must be rank-2": lambda: operator(sample_b=zeros(1, T, N)),
    "sample_a and sample_b token dimensions must match": lambda: operator(sample_b=zeros(8, N)),
    "A tensor must use a supported K-major or M-major layout": (
        lambda: operator(sample_a=zeros(M, 2 * T)[:, ::2])),
    "B tensor must use a supported K-major or N-major layout": (
        lambda: operator(sample_b=zeros(T, 2 * N)[:, ::2])),
    "acc_dtype must be torch.float32": lambda: operator(acc_dtype="bfloat16"),
    "sample_offsets must be int32": lambda: operator(sample_offsets=ends().astype(np.int64)),
    "sample_offsets must be contiguous": lambda: operator(sample_offsets=ends(0, 0, 0, 0)[::2]),
    "sample_wgrad must be rank-3": lambda: operator(sample_wgrad=zeros(M, N)),
    "sample_wgrad shape mismatch": lambda: operator(sample_wgrad=zeros(2, N, M)),
    "sample_wgrad must be contiguous in expert/M/N order": (
        lambda: operator(sample_wgrad=zeros(2, N, M).transpose(0, 2, 1))),
    "wgrad_dtype must be bfloat16, float16, or float32": (
        lambda: operator(sample_wgrad=zeros(2, M, N, dtype=np.float64))),
    "wgrad_shape mismatch": lambda: discrete(wgrad_shape=(N, M)),
    "sample_wgrad_expert shape mismatch": (
        lambda: discrete(sample_wgrad_expert=zeros(N, M, dtype=np.float32))),
    "sample_wgrad_expert must be contiguous in M/N order": (
        lambda: discrete(sample_wgrad_expert=zeros(N, M, dtype=np.float32).T)),
    "sample_sfa must have dtype float8_e8m0fnu or float8_e4m3fn": (
        lambda: scaled(sample_sfa=zeros(128, 16, dtype=np.float32))),
    "must be provided together": lambda: scaled(sample_global_scale_a=zeros(2, dtype=np.float32)),
    "sf_fp8_dtype_override must be": lambda: scaled(sf_fp8_dtype_override="e4m3"),
    "NVFP4 wgrad requires sample_global_scale_a and sample_global_scale_b": lambda: scaled(
        sample_a=zeros(M, T // 2, dtype=np.uint8), sample_b=zeros(N, T // 2, dtype=np.uint8).T,
        sample_sfa=zeros(128, 32, dtype=E4M3), sample_sfb=zeros(256, 32, dtype=E4M3), sf_vec_size=16),
    "name the same buffer": lambda: execute(
        workspace=zeros(1024, dtype=np.uint8), descriptor_workspace=zeros(1024, dtype=np.uint8)),
    "descriptor_workspace must have dtype uint8": (
        lambda: execute(descriptor_workspace=zeros(1024, dtype=np.int8))),
    "descriptor_workspace requires at least 1024 bytes, got 64": (
        lambda: execute(descriptor_workspace=zeros(64, dtype=np.uint8))),
    "descriptor_workspace must be contiguous": (
        lambda: execute(descriptor_workspace=zeros(4096, dtype=np.uint8)[::2])),
    "wgrad_tensor shape mismatch": lambda: execute(wgrad_tensor=zeros(2, N, M)),
    "a_tensor dtype mismatch": lambda: execute(a_tensor=zeros(M, T, dtype=np.float16)),
    "b_tensor dtype mismatch": lambda: execute(b_tensor=zeros(T, N, dtype=np.float16)),
    "a_tensor shape mismatch: expected static dimension 128 at axis 0, got 136": (
        lambda: execute(a_tensor=zeros(M + 8, T))),
    "b_tensor shape mismatch: expected static dimension 256 at axis 1, got 248": (
        lambda: execute(b_tensor=zeros(T, N - 8))),
    "a_tensor layout mismatch": lambda: execute(a_tensor=zeros(T, M).T),
    "b_tensor layout mismatch": lambda: execute(b_tensor=zeros(N, T).T),
    "wgrad_tensor dtype mismatch": (
        lambda: execute(wgrad_tensor=zeros(2, M, N, dtype=np.float32))),
    "offsets_tensor must be a contiguous rank-1 int32 tensor with one entry per expert": (
        lambda: execute(offsets_tensor=ends(1, 2, 3))),
    "Dense execution requires wgrad_tensor and forbids wgrad_ptrs": (
        lambda: execute(wgrad_tensor=None)),
    "forbids wgrad_ptrs": lambda: execute(**addresses(64, 128)),
    "Discrete execution requires wgrad_tensor or wgrad_ptrs": lambda: execute(discrete),
    "Unsupported BF16 grouped GEMM wgrad configuration: check mma_tiler, cluster, and alignment": (
        lambda: operator(mma_tiler_mn=(64, 64))),
    "check mma_tiler, cluster, and alignment": lambda: operator(cluster_shape_mn=(1, 1)),
    "mma_tiler_mn[0] must be 128 or 256": lambda: scaled(mma_tiler_mn=(64, 128)),
    "mma_tiler_mn[1] must be 128 or 256": lambda: scaled(mma_tiler_mn=(128, 64)),
    "cluster_shape_mn[0] must be divisible by 2 when use_2cta_instrs=True": (
        lambda: scaled(cluster_shape_mn=(1, 2))),
    "cluster shape product must be <= 16": lambda: scaled(cluster_shape_mn=(4, 8)),
    "cluster shape values must be powers of 2": lambda: scaled(cluster_shape_mn=(2, 3)),
    "wgrad_ptrs must be int64": lambda: execute(discrete, wgrad_ptrs=ends()),
    "wgrad_ptrs length mismatch": lambda: execute(discrete, **addresses(64, 128, 192)),
    "wgrad_ptrs entries must be non-null and 16-byte aligned": (
        lambda: execute(discrete, **addresses(0, 4097))),
    "num_experts must be positive": lambda: wgrad.get_grouped_gemm_wgrad_workspace_size_sm100(0),
    "unsupported output_mode 'q'": (
        lambda: wgrad.get_grouped_gemm_wgrad_workspace_size_sm100(1, output_mode="q")),
    "unsupported input_order 'q'": lambda: wrapper(input_order="q"),
}


@pytest.mark.parametrize("words", SAID)
def test_the_references_words_are_there(words):
    with pytest.raises(wgrad.ValueError) as caught:
        SAID[words]()
    assert words in str(caught.value)


def test_wgrads_own_names_keep_to_wgrads_own_words():
    with pytest.raises(ValueError) as caught:
        wgrad.grouped_wgrad(zeros(T, M), zeros(8, N), ends())
    assert str(caught.value).endswith("it must be as long as x: 512 tokens")
