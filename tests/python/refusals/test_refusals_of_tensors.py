"""Refusals of tensors that are unlike any other, of states, and every API's own argument names."""

from __future__ import annotations

import re
import sys

import ml_dtypes
import numpy as np
import pytest

import wgrad
from wgrad import _core

import drop_in
import frameworks
import reference
from fake_cuda import FakeCuda

BF16 = ml_dtypes.bfloat16
T, M, N, E = 24, 16, 32, 2


def refused(call, text, error=wgrad.ValueError):
    with pytest.raises(error, match=re.escape(text)):
        call()


def natural(**changes):
    call = {
        "x": np.ones((T, M), BF16),
        "dy": np.ones((T, N), BF16),
        "offsets": np.array([8, T], np.int32),
        **changes,
    }
    return lambda: wgrad.grouped_wgrad(**call)


def wrapper(**changes):
    call = {
        "a_tensor": np.ones((T, M), BF16).T,
        "b_tensor": np.ones((T, N), BF16),
        "sfa_tensor": None,
        "sfb_tensor": None,
        "offsets_tensor": np.array([8, T], np.int32),
        **changes,
    }
    return lambda: wgrad.grouped_gemm_wgrad_wrapper_sm100(**call)


def operator(**changes):
    tensors = {
        "sample_a": np.ones((T, M), BF16).T,
        "sample_b": np.ones((T, N), BF16),
        "sample_sfa": None,
        "sample_sfb": None,
        "sample_offsets": np.array([8, T], np.int32),
    }
    if "num_experts" not in changes:
        tensors["sample_wgrad"] = np.zeros((E, M, N), BF16)
    return wgrad.GroupedGemmWgradSm100(**{**tensors, **changes})


class NoCapsule:
    """Says that it speaks DLPack, and does not."""

    def __dlpack__(self, **_):
        return None


def between_elements():
    """float16 rows 33 bytes apart."""
    return np.ndarray((T, M), np.float16, buffer=bytearray(T * 33), strides=(33, 2))


def wide(strides):
    """(T, M) float16 at `strides` elements, in memory that is large enough."""
    memory = np.zeros(T * M * 8, np.float16)
    return np.lib.stride_tricks.as_strided(memory, (T, M), tuple(2 * s for s in strides))


def one_token(step):
    """(1, M) float16, `step` elements from feature to feature."""
    return np.zeros(M * step, np.float16).reshape(1, -1)[:, ::step]


UNUSUAL = {
    "ragged broadcast": (
        {
            "x": wide((1, 0)),
            "dy": np.ones((T, N), np.float16),
            "input_order": "tensor_ragged",
        },
        "x is broadcast: its rows share memory (stride 0)",
    ),
    "ragged token in no block": (
        {
            "x": one_token(8),
            "dy": np.ones((1, N), np.float16),
            "offsets": np.array([0, 1], np.int32),
            "input_order": "tensor_ragged",
        },
        "x is strided by ",
    ),
    "stride in bytes": (
        {"x": between_elements()},
        "x is strided by 33 bytes; it must be strided by whole elements",
    ),
    "no capsule": (
        {"x": NoCapsule()},
        "x is without a DLPack capsule; it must be a tensor that speaks DLPack",
    ),
    "buffer of doubles": (
        {"x": memoryview(bytes(8 * T * M)).cast("d", (T, M))},
        "x is of buffer format 'd'; it must be bfloat16, float16, ",
    ),
    "structured": (
        {"x": np.zeros((T, M), [("a", np.float16), ("b", np.float16)])},
        "x is byte-swapped or structured; it must be of plain numbers in native byte order",
    ),
    "many axes": (
        {"x": np.ones((1, 1, 1, 1, T, M), BF16)},
        "x is of shape (1, 1, 1, 1, ...); it must be 2-D, (T, M)",
    ),
    "scalar": ({"x": np.ones((), BF16)}, "x is of shape (); it must be 2-D, (T, M)"),
    "workspace of many axes": (
        {"workspace": np.zeros((64, 4), np.uint8).T},
        "workspace is strided; it must be contiguous: workspace must be contiguous",
    ),
    "pair of booleans": (
        {"cluster_shape_mn": (True, 1)},
        "cluster_shape_mn is (True, 1); it must be a pair of integers (M, N)",
    ),
    "vector size": ({"sf_vec_size": "32"}, "sf_vec_size is '32'; it must be 16 or 32"),
    "compact scales": ({"compact_scales": 1}, "compact_scales is 1; it must be True or False"),
    "validation": (
        {"validate_device_data": "on"},
        "validate_device_data is 'on'; it must be True or False",
    ),
    "sm limit": (
        {"sm_limit": 1.5},
        "sm_limit is 1.5; it must be None or a positive number of multiprocessors",
    ),
}


@pytest.mark.parametrize("fault", UNUSUAL)
def test_unusual_arguments(fault):
    changes, text = UNUSUAL[fault]
    refused(natural(**changes), text)


def endless(rows):
    """(2^31, rows), of which a few bytes exist: refused unread."""
    return np.lib.stride_tricks.as_strided(np.ones(64, BF16), (2**31, rows), (0, 2))


#: What is wrong, then the name of it in grouped_wgrad, the wrapper and the class.
NAMES = {
    "T": (
        {"a": endless(M), "b": endless(N)},
        ("x", "a_tensor", "sample_a"),
        " is broadcast: its rows share memory (stride 0)",
    ),
    "M": (
        {"a": np.ones((T, 0), BF16)},
        ("M (columns of x)", "M (rows of a_tensor)", "M (rows of sample_a)"),
        " is 0; it must be from 1 to 2147483647",
    ),
    "N": (
        {"b": np.ones((T, 0), BF16)},
        ("N (columns of dy)", "N (columns of b_tensor)", "N (columns of sample_b)"),
        " is 0; it must be from 1 to 2147483647",
    ),
    "E": (
        {"offsets": np.zeros(0, np.int32)},
        ("E (length of offsets)", "E (length of offsets_tensor)", "E (length of sample_offsets)"),
        " is 0; it must be from 1 to 2147483647",
    ),
    "mixed dtypes": (
        {"b": np.ones((T, N), np.float16)},
        (
            "dtypes of x, dy and scale factors",
            "dtypes of a_tensor, b_tensor and scale factors",
            "dtypes of sample_a, sample_b and scale factors",
        ),
        " is A bfloat16, B float16, scale factors none; it must be A and B both bfloat16 or both",
    ),
    "global scale": (
        {"gsa": np.ones(E, np.float32)},
        ("x_global_scale", "global_scale_a", "sample_global_scale_a"),
        " is given; it must be None: BF16 forbids scale control ",
    ),
    "scale factors": (
        {"sfb": np.ones((128, 4), np.uint8)},
        ("dy_scale", "sfb_tensor", "sample_sfb"),
        " is given; it must be None: BF16 forbids scale control ",
    ),
}
WORDS = {
    "a": ("x", "a_tensor", "sample_a"),
    "b": ("dy", "b_tensor", "sample_b"),
    "offsets": ("offsets", "offsets_tensor", "sample_offsets"),
    "gsa": ("x_global_scale", "global_scale_a", "sample_global_scale_a"),
    "sfb": ("dy_scale", "sfb_tensor", "sample_sfb"),
}


@pytest.mark.parametrize("fault", NAMES)
@pytest.mark.parametrize("api", [0, 1, 2], ids=["grouped_wgrad", "wrapper", "class"])
def test_each_api_names_its_own_arguments(fault, api):
    changes, names, text = NAMES[fault]
    call = {}
    for word, value in changes.items():
        call[WORDS[word][api]] = value.T if word == "a" and api > 0 else value
    if api == 2 and fault in ("M", "N", "E"):  # dense samples would contradict the empty extent
        experts = 0 if fault == "E" else E
        shape = (0 if fault == "M" else M, 0 if fault == "N" else N)
        call.update(num_experts=experts, wgrad_shape=shape, wgrad_dtype="bfloat16")
    run = [natural, wrapper, lambda **changes: operator(**changes).check_support][api]
    refused(run(**call), names[api] + text)


def compiled(format="bf16", **changes):
    """A compiled operator and its call of the drop-in problem."""
    case = drop_in.call(frameworks.Numpy(), np.random.default_rng(0), format, [32, 64])
    samples = drop_in.samples(case["tensors"])
    out = np.zeros((2, drop_in.M, drop_in.N), BF16)
    kind = {"sample_wgrad": out, "sf_vec_size": drop_in.vec(format), **changes}
    made = wgrad.GroupedGemmWgradSm100(**samples, **kind)
    made.compile()
    return made, {**case["tensors"], "wgrad_tensor": out}


def test_execute_refuses_another_n_and_the_other_operands_major():
    made, call = compiled()
    narrow = np.ones((8, 96), BF16).T  # N 8, K-major
    out = np.zeros((2, drop_in.M, 8), BF16)
    refused(
        lambda: made.execute(**{**call, "b_tensor": narrow, "wgrad_tensor": out}),
        "N (columns of b_tensor) is 8; it must be 640, as compiled",
    )
    token_major = np.ascontiguousarray(call["b_tensor"])
    refused(
        lambda: made.execute(**{**call, "b_tensor": token_major}),
        "b_tensor is MN-major; it must be K-major, as compiled",
    )


def test_execute_refuses_other_scales():
    made, call = compiled("mxfp4")
    scales = np.ones(2, np.float32)
    refused(
        lambda: made.execute(**{**call, "global_scale_a": scales, "global_scale_b": scales}),
        "sfa_tensor is float8_e8m0fnu with global scales; it must be float8_e8m0fnu, as compiled",
    )


def test_execute_refuses_another_device():
    arrays = [
        np.ones((M, T), np.float16),
        np.ones((T, N), np.float16),
        None,
        None,
        np.array([8, T], np.int32),
        np.zeros((E, M, N), np.float32),
    ]
    made = wgrad.GroupedGemmWgradSm100(*arrays)
    made.compile()
    made.execute(*arrays)
    elsewhere = [None if array is None else FakeCuda(array) for array in arrays]
    refused(
        lambda: made.execute(*elsewhere), "a_tensor is on cuda:0; it must be on cpu, as compiled"
    )


@pytest.mark.parametrize(
    ("sample", "text"),
    [
        ("an expert", "sample_wgrad_expert is a str; it must be a tensor"),
        (np.zeros((N, M), BF16).T, "sample_wgrad_expert is strided; it must be contiguous"),
    ],
)
def test_a_sample_of_an_expert(sample, text):
    kind = {"num_experts": E, "wgrad_shape": (M, N), "wgrad_dtype": "bfloat16"}
    refused(operator(sample_wgrad_expert=sample, **kind).check_support, text)


def core_contract(pointers):
    given = {
        "a_tensor": np.ones((T, M), BF16).T,
        "b_tensor": np.ones((T, N), BF16),
        "offsets_tensor": np.array([8, T], np.int32),
        "wgrad_ptrs": np.zeros(E, np.int64) if pointers else None,
    }
    return _core.Call(_core.Api.CALL, _core.Options(), given).contract(), given


@pytest.mark.parametrize("pointers", [False, True])
def test_an_operator_writes_one_kind_of_output(pointers):
    contract, given = core_contract(pointers)
    made = contract.compile(_core.Api.CALL)
    out, table = np.zeros((E, M, N), BF16), np.zeros(E, np.int64)
    given["wgrad_tensor"], given["wgrad_ptrs"] = (None, None) if pointers else (out, table)
    text = (
        "wgrad_ptrs is None; it must be given: this operator writes through addresses"
        if pointers
        else "wgrad_ptrs is given; it must be None: this operator writes into one tensor"
    )
    refused(lambda: made.run(given), text)


def test_an_operator_is_given_what_it_writes_into():
    a, b = np.ones((T, M), BF16).T, np.ones((T, N), BF16)
    ends, out = np.array([8, T], np.int32), np.zeros((E, M, N), BF16)
    made = wgrad.GroupedGemmWgradSm100(a, b, None, None, ends, sample_wgrad=out)
    made.compile()
    refused(
        lambda: made.execute(a, b, None, None, ends),
        "wgrad_tensor is None; it must be given: this operator writes into it",
    )


def test_numpy_results_need_ml_dtypes(monkeypatch):
    from wgrad._tensors import numpy_dtype

    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    assert numpy_dtype("float32") == np.float32
    refused(
        lambda: numpy_dtype("bfloat16"),
        "a numpy array of bfloat16 needs the package ml_dtypes: pip install ml_dtypes",
        ImportError,
    )


@pytest.mark.torch
def test_the_per_thread_stream_is_refused_where_torch_allocates():
    import torch

    from wgrad._torch_calls import as_stream

    refused(
        lambda: as_stream(2, torch.device("cuda", 0)),
        "stream is 2, the per-thread stream; it must be a stream that torch can name",
    )


def test_an_unknown_format_is_refused_by_the_core():
    ends = reference.offsets([32])
    layout = ("k", "tensor2d", "swizzled", 0, "floor")
    refused(
        lambda: _core.quantize(np.ones((32, 8), np.float32), ends, "fp6", "float4_e2m1fn", *layout),
        "format is 'fp6'; it must be ",
    )
