"""Every refusal that Python can reach: the message names the argument, what was given, the need."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

import wgrad

import drop_in
import frameworks
import operands
import reference

BF16 = ml_dtypes.bfloat16
T, M, N, E = 24, 16, 32, 2


def refused(call, text, error=ValueError):
    """`call` raises wgrad's own class of `error`, saying exactly `text` somewhere."""
    with pytest.raises(error, match=re.escape(text)) as caught:
        call()
    assert isinstance(caught.value, (wgrad.ValueError, wgrad.RuntimeError))
    return caught.value


def plain(**changes):
    """A good call of grouped_wgrad, with changes."""
    call = {
        "x": np.ones((T, M), BF16),
        "dy": np.ones((T, N), BF16),
        "offsets": np.array([8, T], np.int32),
    }
    call.update(changes)
    return call


def drop(**changes):
    """The same call of the wrapper, A and B token-major."""
    call = plain()
    call = {
        "a_tensor": call["x"].T,
        "b_tensor": call["dy"],
        "sfa_tensor": None,
        "sfb_tensor": None,
        "offsets_tensor": call["offsets"],
    }
    call.update(changes)
    return call


def unaligned(shape, dtype):
    """Memory one element past a 16-byte boundary."""
    raw = np.zeros(int(np.prod(shape)) * np.dtype(dtype).itemsize + 64, np.uint8)
    start = -raw.ctypes.data % 64 + np.dtype(dtype).itemsize
    return (
        raw[start : start + int(np.prod(shape)) * np.dtype(dtype).itemsize]
        .view(dtype)
        .reshape(shape)
    )


def read_only(array):
    array.flags.writeable = False
    return array


NATURAL = {
    "no tensor": (
        {"x": [1, 2]},
        "x is a list; it must be a tensor: a numpy array, a torch tensor, or anything that speaks "
        "DLPack or the buffer protocol",
    ),
    "None": ({"dy": None}, "dy is a NoneType; it must be a tensor"),
    "rank of x": (
        {"x": np.ones((2, 3, 4), BF16)},
        "x is of shape (2, 3, 4); it must be 2-D, (T, M)",
    ),
    "rank of dy": ({"dy": np.ones(4, BF16)}, "dy is of shape (4,); it must be 2-D, (T, N)"),
    "rank of offsets": (
        {"offsets": np.ones((1, 2), np.int32)},
        "offsets is of shape (1, 2); it must be 1-D, (E,)",
    ),
    "dtype of x": (
        {"x": np.ones((T, M), np.float64)},
        "x is float64; it must be bfloat16, float16, float8_e4m3fn, float8_e5m2, float4_e2m1fn_x2 "
        "or uint8 (packed FP4)",
    ),
    "dtype of offsets": (
        {"offsets": np.array([8, T])},
        "offsets is int64; it must be int32, the cumulative ends of the experts",
    ),
    "strided offsets": (
        {"offsets": np.array([8, 0, T, 0], np.int32)[::2]},
        "offsets is strided; it must be contiguous",
    ),
    "byte order": (
        {"offsets": np.array([8, T], np.int32).astype(">i4")},
        "offsets is byte-swapped or structured; it must be of plain numbers in native byte order",
    ),
    "token counts differ": (
        {"dy": np.ones((T + 1, N), BF16)},
        "dy is 25 tokens long; it must be as long as x: 24 tokens",
    ),
    "mixed dtypes": (
        {"dy": np.ones((T, N), np.float16)},
        "dtypes of x, dy and scale factors is A bfloat16, B float16, scale factors none; it must "
        "be A and B both bfloat16 or both float16 without scale factors",
    ),
    "no contiguous axis": (
        {"x": np.ones((2 * T, 2 * M), BF16)[::2, ::2]},
        "x is strided by (2, 64) elements; it must be contiguous along one of its axes",
    ),
    "broadcast rows": (
        {"dy": np.broadcast_to(np.ones(N, BF16), (T, N))},
        "dy is broadcast: its rows share memory (stride 0); it must be a tensor whose rows lie "
        "apart",
    ),
    "row pitch of x": (
        {"x": np.ones((T, M + 1), BF16)[:, :M]},
        "leading dimension of x is 17 elements (34 bytes); it must be a multiple of 16 bytes: pad the "
        "contiguous axis",
    ),
    "unaligned x": ({"x": unaligned((T, M), BF16)}, "; it must be aligned to 16 bytes"),
    "unaligned width": (
        {"dy": np.ones((T, 43), BF16)},
        "N (columns of dy) is 43 (86 bytes a row of the output); it must be a multiple of 8, unless "
        "the output's rows are padded",
    ),
    "no expert": (
        {"offsets": np.zeros(0, np.int32)},
        "E (length of offsets) is 0; it must be from 1 to",
    ),
    "M of zero": (
        {"x": np.ones((T, 0), BF16)},
        "M (columns of x) is 0; it must be from 1 to",
    ),
    "offsets decrease": (
        {"offsets": np.array([8, 4], np.int32)},
        "offsets[1] is 4; it must be at least 8, the end of the expert before it",
    ),
    "negative offset": (
        {"offsets": np.array([-1, 4], np.int32)},
        "offsets[0] is -1; it must be at least 0, the end of the expert before it",
    ),
    "offsets exceed T": (
        {"offsets": np.array([8, 25], np.int32)},
        "offsets[1] is 25; it must be at most T = 24",
    ),
    "rank of out": ({"out": np.ones((M, N), BF16)}, "out is of shape (16, 32); it must be 3-D"),
    "shape of out": (
        {"out": np.ones((E, N, M), BF16)},
        "out is of shape (2, 32, 16); it must be (E, M, N) = (2, 16, 32)",
    ),
    "experts of out": (
        {"out": np.ones((3, M, N), BF16)},
        "offsets is of shape (2,); it must be (3,), one end per expert of out",
    ),
    "dtype of out": (
        {"out": np.ones((E, M, N), np.float64)},
        "out is float64; it must be bfloat16, float16 or float32",
    ),
    "read-only out": (
        {"out": read_only(np.ones((E, M, N), BF16))},
        "out is read-only; it must be writable",
    ),
    "out strided along N": (
        {"out": np.ones((E, M, 2 * N), BF16)[:, :, ::2]},
        "out is strided by (1024, 64, 2) elements; it must be contiguous along N",
    ),
    "out rows off the alignment": (
        {"out": np.ones((E, M, N + 1), BF16)[:, :, :N]},
        "out row pitch is 33 elements (66 bytes) for N = 32; it must be at least N and a multiple "
        "of 16 bytes",
    ),
    "overlapping experts": (
        {"out": np.lib.stride_tricks.as_strided(np.ones(4096, BF16), (E, M, N), (16, 64, 2))},
        "out expert stride is 8 elements (16 bytes); it must be at least 512 elements, so that "
        "experts do not overlap",
    ),
    "broadcast out": (
        {"out": np.lib.stride_tricks.as_strided(np.ones(4096, BF16), (E, M, N), (0, 64, 2))},
        "out is broadcast: its rows share memory (stride 0)",
    ),
    "unaligned out": ({"out": unaligned((E, M, N), BF16)}, "; it must be aligned to 16 bytes"),
    "out_dtype contradicts out": (
        {"out": np.ones((E, M, N), np.float32), "out_dtype": "bfloat16"},
        "out_dtype is bfloat16; it must be None or float32, the dtype of the given output",
    ),
    "empty list": (
        {"out": []},
        "out is an empty list; it must be a list of (M, N) tensors, one per expert",
    ),
    "list too short": (
        {"out": [np.ones((M, N), BF16)]},
        "out is a list of 1 tensors; it must be a list of 2, one per expert",
    ),
    "shape of a listed output": (
        {"out": [np.ones((M, N), BF16), np.ones((N, M), BF16)]},
        "out[1] is of shape (32, 16) and strides (16, 1); it must be (M, N) = (16, 32), contiguous",
    ),
    "dtypes of listed outputs": (
        {"out": [np.ones((M, N), BF16), np.ones((M, N), np.float32)]},
        "out[1] is float32; it must be of the dtype of the first: bfloat16",
    ),
    "unaligned listed output": (
        {"out": [np.ones((M, N), np.float32), unaligned((M, N), np.float32)]},
        "a non-null address aligned to 16 bytes",
    ),
    "no tensor in the list": (
        {"out": [np.ones((M, N), BF16), None]},
        "out[1] is a NoneType; it must be a tensor",
    ),
    "scale control": (
        {"x_scale": np.ones((128, 4), np.uint8)},
        "x_scale is given; it must be None: BF16 forbids scale control x_scale",
    ),
    "global scale control": (
        {"dy_global_scale": np.ones(E, np.float32)},
        "dy_global_scale is given; it must be None: BF16 forbids scale control dy_global_scale",
    ),
    "vector size": (
        {"sf_vec_size": 32},
        "sf_vec_size is 32; it must be 16, its default: BF16 forbids scale control sf_vec_size",
    ),
    "compact scales": (
        {"compact_scales": True},
        "compact_scales is True; it must be False: BF16 forbids scale control compact_scales",
    ),
    "sm limit": (
        {"sm_limit": 8},
        "sm_limit is 8; it must be None: the operands are on a CPU",
    ),
    "sm limit of nothing": (
        {"sm_limit": 0},
        "sm_limit is 0; it must be None or a positive number of multiprocessors",
    ),
    "stream": (
        {"stream": 0},
        "stream is given; it must be None: the operands are on a CPU",
    ),
    "input order": (
        {"input_order": "tensor3d"},
        "input_order is 'tensor3d'; it must be 'tensor2d' or 'tensor_ragged' (unsupported "
        "input_order 'tensor3d')",
    ),
    "accumulate": (
        {"accumulate": 1.5},
        "accumulate is 1.5; it must be True or False",
    ),
    "out_dtype": (
        {"out_dtype": "float64"},
        "out_dtype is float64; it must be bfloat16, float16 or float32",
    ),
    "out_dtype unknown": (
        {"out_dtype": "wide"},
        "out_dtype is 'wide'; it must be a dtype such as 'bfloat16' or 'float32' (Unsupported "
        "tensor data type.)",
    ),
    "acc_dtype": ({"acc_dtype": "bfloat16"}, "acc_dtype is bfloat16; it must be float32"),
    "tile": (
        {"mma_tiler_mn": (96, 128)},
        "mma_tiler_mn is (96, 128); it must be M 128 or 256 and N 64, 128, 192 or 256",
    ),
    "tile is no pair": (
        {"mma_tiler_mn": 128},
        "mma_tiler_mn is 128; it must be a pair of integers (M, N)",
    ),
    "cluster": (
        {"cluster_shape_mn": (3, 1)},
        "cluster_shape_mn is (3, 1) with mma_tiler_mn (256, 256); it must be powers of two with a "
        "product of at most 16, M even when the tile's M is 256",
    ),
    "cluster of zeros": ({"cluster_shape_mn": (0, 0)}, "cluster_shape_mn is (0, 0); it must be None"),
    "backend": ({"backend": "abacus"}, "backend is 'abacus'; it must be one of "),
    "workspace dtype": (
        {"workspace": np.zeros(4096, np.int32)},
        "workspace is int32; it must be uint8: workspace must have dtype uint8",
    ),
    "workspace strides": (
        {"workspace": np.zeros(4096, np.uint8)[::2]},
        "workspace is strided; it must be contiguous: workspace must be contiguous",
    ),
    "workspace size": (
        {"workspace": np.zeros(0, np.uint8)},
        "workspace is 0 bytes; it must be at least 1024 bytes",
    ),
}


def test_options_that_change_under_us_are_read_anew():
    torch = pytest.importorskip("torch")
    vec, tile = torch.tensor(16), torch.tensor([128, 128])
    wgrad.grouped_wgrad(**plain(sf_vec_size=vec, mma_tiler_mn=tile))
    vec.fill_(99)
    refused(lambda: wgrad.grouped_wgrad(**plain(sf_vec_size=vec)), "sf_vec_size is 99")
    tile[0] = 3
    refused(lambda: wgrad.grouped_wgrad(**plain(mma_tiler_mn=tile)), "mma_tiler_mn is (3, 128)")


class Unprintable:
    def __repr__(self):
        raise KeyError

    __index__ = __repr__


@pytest.mark.parametrize("value", ["meta", 10**5000, Unprintable()], ids=["meta", "huge", "own"])
@pytest.mark.parametrize("argument", ["mma_tiler_mn", "sf_vec_size", "sm_limit"])
def test_options_that_cannot_be_read_are_refused(argument, value):
    if value == "meta":
        value = pytest.importorskip("torch").empty(2, device="meta")
    refused(lambda: wgrad.grouped_wgrad(**plain(**{argument: value})), f"wgrad: {argument} is ")


@pytest.mark.parametrize("fault", NATURAL)
def test_grouped_wgrad(fault):
    changes, text = NATURAL[fault]
    refused(lambda: wgrad.grouped_wgrad(**plain(**changes)), text)


DROP_IN = {
    "rank": ({"a_tensor": np.ones(4, BF16)}, "a_tensor is of shape (4,); it must be 2-D, (M, T)"),
    "tokens": (
        {"b_tensor": np.ones((T + 1, N), BF16)},
        "b_tensor is 25 tokens long; it must be as long as a_tensor: 24 tokens",
    ),
    "offsets": (
        {"offsets_tensor": np.array([8, T])},
        "offsets_tensor is int64; it must be int32",
    ),
    "offset values": (
        {"offsets_tensor": np.array([8, 25], np.int32)},
        "offsets_tensor[1] is 25; it must be at most T = 24",
    ),
    "output mode": (
        {"output_mode": "sparse"},
        "output_mode is 'sparse'; it must be 'dense' or 'discrete' (unsupported output_mode "
        "'sparse')",
    ),
    "pointers in dense mode": (
        {"wgrad_ptrs": np.zeros(E, np.int64)},
        "wgrad_ptrs is given; it must be None: dense output_mode forbids wgrad_ptrs",
    ),
    "dtype of pointers": (
        {"wgrad_ptrs": np.zeros(E, np.int32), "output_mode": "discrete"},
        "wgrad_ptrs is int32; it must be int64, one address per expert",
    ),
    "length of pointers": (
        {"wgrad_ptrs": np.zeros(3, np.int64), "output_mode": "discrete"},
        "wgrad_ptrs is of shape (3,); it must be (2,), one entry per expert",
    ),
    "null pointer": (
        {"wgrad_ptrs": np.zeros(E, np.int64), "output_mode": "discrete"},
        "wgrad_ptrs[0] is 0x0; it must be a non-null address aligned to 16 bytes",
    ),
    "unaligned pointer": (
        {"wgrad_ptrs": np.array([16, 24], np.int64), "output_mode": "discrete"},
        "wgrad_ptrs[1] is 0x18; it must be a non-null address aligned to 16 bytes",
    ),
    "overlapping outputs": (
        {"wgrad_ptrs": np.array([4096, 4112], np.int64), "output_mode": "discrete"},
        f"wgrad_ptrs[1] is 0x1010, within the output of expert 0 at 0x1000; it must be at least "
        f"{M * N * 2} bytes from every other",
    ),
    "shape of a tensor beside pointers": (
        {
            "wgrad_ptrs": np.array([16, 32], np.int64),
            "wgrad_tensor": np.ones((E, M, 8), BF16),
            "output_mode": "discrete",
        },
        "wgrad_tensor is of shape (2, 16, 8); it must be (E, M, N) = (2, 16, 32)",
    ),
    "scale control": (
        {"sfa_tensor": np.ones((128, 4), np.uint8)},
        "sfa_tensor is given; it must be None: BF16 forbids scale control sfa_tensor",
    ),
    "vector size": (
        {"sf_vec_size": 32},
        "sf_vec_size is 32; it must be 16, its default: BF16 forbids scale control sf_vec_size",
    ),
    "vector size of zero": ({"sf_vec_size": 0}, "BF16 forbids scale control sf_vec_size"),
    "stream": (
        {"current_stream": 0},
        "current_stream is given; it must be None: the operands are on a CPU",
    ),
    "workspace": (
        {"descriptor_workspace": np.zeros(4096, np.float32)},
        "descriptor_workspace must have dtype uint8",
    ),
    "width": (
        {"b_tensor": np.ones((T, 43), BF16)},
        "N (columns of b_tensor) is 43 (86 bytes a row of the output)",
    ),
    "accumulate": (
        {"accumulate_on_output": "yes"},
        "accumulate_on_output is 'yes'; it must be True or False",
    ),
}


@pytest.mark.parametrize("fault", DROP_IN)
def test_wrapper(fault):
    changes, text = DROP_IN[fault]
    refused(lambda: wgrad.grouped_gemm_wgrad_wrapper_sm100(**drop(**changes)), text)


def samples(**changes):
    call = {name.replace("_tensor", ""): value for name, value in drop().items()}
    call = {"sample_" + name: value for name, value in call.items()}
    call["sample_wgrad"] = np.zeros((E, M, N), BF16)
    call.update(changes)
    return call


def discrete(**changes):
    kind = {"num_experts": E, "wgrad_shape": (M, N), "wgrad_dtype": "bfloat16"}
    return samples(sample_wgrad=None, **{**kind, **changes})


CLASS = {
    "both modes": (
        samples(num_experts=E),
        "sample_wgrad and num_experts is both given; it must be one of them: Provide",
    ),
    "neither mode": (samples(sample_wgrad=None), "sample_wgrad and num_experts is neither given"),
    "no shape": (discrete(wgrad_shape=None), "wgrad_shape is None; it must be given: "),
    "no dtype": (discrete(wgrad_dtype=None), "wgrad_dtype is None; it must be given: "),
    "experts": (
        discrete(num_experts=3),
        "num_experts is 3; it must be 2, as sample_offsets is long",
    ),
    "shape": (
        discrete(wgrad_shape=(M, M)),
        "wgrad_shape is (16, 16); it must be (M, N) = (16, 32)",
    ),
    "expert sample": (
        discrete(sample_wgrad_expert=np.zeros((M, M), BF16)),
        "sample_wgrad_expert is of shape (16, 16); it must be (M, N) = (16, 32), or (16, 32, 1)",
    ),
    "dtype of the expert sample": (
        discrete(sample_wgrad_expert=np.zeros((M, N), np.float32)),
        "sample_wgrad_expert is float32; it must be bfloat16, as wgrad_dtype says",
    ),
    "rank": (
        samples(sample_a=np.ones(3, BF16)),
        "sample_a is of shape (3,); it must be 2-D, (M, T)",
    ),
    "offsets": (
        samples(sample_offsets=np.array([1, 2, 3, 4], np.int32)),
        "sample_offsets is of shape (4,); it must be (2,), one end per expert of sample_wgrad",
    ),
    "scale control": (
        samples(sample_sfb=np.ones((128, 4), np.uint8)),
        "sample_sfb is given; it must be None: BF16 forbids scale control sample_sfb",
    ),
    "override": (
        samples(sf_fp8_dtype_override="e5m3"),
        "BF16 forbids scale control sf_fp8_dtype_override",
    ),
    "acc_dtype": (samples(acc_dtype=np.float16), "acc_dtype is float16; it must be float32"),
    "tile": (samples(mma_tiler_mn=(64, 64)), "mma_tiler_mn is (64, 64)"),
    "dtype": (
        samples(wgrad_dtype="float32"),
        "wgrad_dtype is float32; it must be None or bfloat16, the dtype of the given output",
    ),
}


@pytest.mark.parametrize("fault", CLASS)
def test_check_support(fault):
    arguments, text = CLASS[fault]
    operator = wgrad.GroupedGemmWgradSm100(**arguments)  # never raises
    refused(operator.check_support, text)


def static_contract(**changes):
    operator = wgrad.GroupedGemmWgradSm100(**samples())
    operator.compile()
    call = {"wgrad_tensor": np.zeros((E, M, N), BF16), **changes}
    return lambda: operator.execute(**{**drop(), **call})


STATIC = {
    "M": (
        {"a_tensor": np.ones((T, 8), BF16).T, "wgrad_tensor": np.zeros((E, 8, N), BF16)},
        "M (rows of a_tensor) is 8; it must be 16, as compiled",
    ),
    "E": (
        {"offsets_tensor": np.zeros(3, np.int32), "wgrad_tensor": np.zeros((3, M, N), BF16)},
        "E (length of offsets_tensor) is 3; it must be 2, as compiled",
    ),
    "major": (
        {"a_tensor": np.ones((M, T), BF16)},
        "a_tensor is K-major; it must be MN-major, as compiled",
    ),
    "dtype": (
        {"a_tensor": np.ones((T, M), np.float16).T, "b_tensor": np.ones((T, N), np.float16)},
        "a_tensor is float16; it must be bfloat16, as compiled",
    ),
    "output dtype": (
        {"wgrad_tensor": np.zeros((E, M, N), np.float32)},
        "wgrad_tensor is float32; it must be bfloat16, as compiled",
    ),
    "output strides": (
        {"wgrad_tensor": np.zeros((E, M, N + 8), BF16)[:, :, :N]},
        "wgrad_tensor is strided by (640, 40, 1); it must be strided by (512, 32, 1), as compiled",
    ),
    "no output": ({"wgrad_tensor": None}, "wgrad_tensor is None; it must be given"),
    "pointers": (
        {"wgrad_tensor": None, "wgrad_ptrs": np.array([16, 32], np.int64)},
        "wgrad_ptrs is given; it must be None in dense mode, where wgrad_tensor is written",
    ),
}


@pytest.mark.parametrize("change", STATIC)
def test_execute_refuses_a_changed_contract(change):
    changes, text = STATIC[change]
    refused(static_contract(**changes), text)


def test_discrete_execute_needs_an_output():
    operator = wgrad.GroupedGemmWgradSm100(**discrete())
    operator.compile()
    refused(lambda: operator.execute(**drop()), "wgrad_tensor is None; it must be given")


def scaled(format="mxfp8", **changes):
    numpy = frameworks.Numpy()
    case = drop_in.call(numpy, np.random.default_rng(0), format, [32, 64])
    call = {**case["tensors"], "sf_vec_size": drop_in.vec(format), **changes}
    return lambda: wgrad.grouped_gemm_wgrad_wrapper_sm100(**call)


def fp8(shape):
    return np.zeros(shape, ml_dtypes.float8_e8m0fnu)


SCALED = {
    "no scales": (
        "mxfp8",
        {"sfa_tensor": None},
        "sfa_tensor is None; it must be given: the block-scaled formats need scale factors",
    ),
    "scale dtype": (
        "mxfp8",
        {"sfb_tensor": np.zeros((640, 4), np.float32)},
        "sfb_tensor is float32; it must be of the dtype of sfa_tensor: float8_e8m0fnu",
    ),
    "different scale dtypes": (
        "mxfp4",
        {"sfb_tensor": np.zeros((640, 8), ml_dtypes.float8_e4m3fn)},
        "sfb_tensor is float8_e4m3fn; it must be of the dtype of sfa_tensor: float8_e8m0fnu",
    ),
    "scale rows": (
        "mxfp8",
        {"sfa_tensor": fp8((100, 8))},
        "sfa_tensor is of shape (100, 8); it must be (384, columns), or flat with a multiple of "
        "384 elements",
    ),
    "scale columns": (
        "mxfp8",
        {"sfa_tensor": fp8((384, 4))},
        "sfa_tensor is 4 columns wide; it must be at least 8 columns wide for these offsets",
    ),
    "strided scales": (
        "mxfp8",
        {"sfa_tensor": fp8((8, 384)).T},
        "sfa_tensor is strided by (1, 384); it must be contiguous, row-major",
    ),
    "vector size": (
        "mxfp8",
        {"sf_vec_size": 16},
        "sf_vec_size is 16; it must be 32 or 128 for float8_e4m3fn elements with float8_e8m0fnu scale",
    ),
    "one global scale": (
        "nvfp4",
        {"global_scale_b": None},
        "global_scale_b is None; it must be given too: it and global_scale_a must be provided "
        "together",
    ),
    "no global scale": (
        "nvfp4",
        {"global_scale_a": None, "global_scale_b": None},
        "global_scale_a and global_scale_b is absent; it must be given for both operands, (E,) "
        "float32, in the NVFP4 format",
    ),
    "global scale dtype": (
        "nvfp4",
        {"global_scale_a": np.ones(2)},
        "global_scale_a is float64; it must be float32",
    ),
    "global scale shape": (
        "nvfp4",
        {"global_scale_a": np.ones(3, np.float32)},
        "global_scale_a is of shape (3,); it must be (2,), one entry per expert",
    ),
    "odd begin": (
        "mxfp4",
        {"offsets_tensor": np.array([33, 96], np.int32)},
        "expert 1 is starting at token 33; it must be starting at an even token: packed FP4 holds "
        "two tokens per byte",
    ),
    "override": (
        "mxfp8",
        {"sf_fp8_dtype_override": "e4m3"},
        "sf_fp8_dtype_override must be None",
    ),
    "tile": (
        "mxfp8",
        {"mma_tiler_mn": (128, 64)},
        "mma_tiler_mn is (128, 64); it must be M 128 or 256 and N 128 or 256 in a block-scaled",
    ),
    "MN-major FP4": (
        "mxfp4",
        {"b_tensor": np.zeros((48, 640), np.uint8)},
        "b_tensor is MN-major; it must be K-major (tokens contiguous) for packed FP4",
    ),
    "unpacked FP4": (
        "mxfp4",
        {"b_tensor": np.zeros((96, 640), ml_dtypes.float4_e2m1fn)},
        "b_tensor is float4_e2m1fn, one element per byte; it must be packed two tokens per byte, "
        "as wgrad.pack_fp4 does it",
    ),
}


@pytest.mark.parametrize("fault", SCALED)
def test_block_scaled(fault):
    format, changes, text = SCALED[fault]
    refused(scaled(format, **changes), text)


def test_uint8_scales_of_fp4_need_the_vector_size():
    rng = np.random.default_rng(0)
    numpy = frameworks.Numpy()
    ends = reference.offsets([32])
    x, dy = (
        operands.block_scaled(numpy, rng, ends, rows, "mxfp4", scale_tensor_dtype="uint8")
        for rows in (16, 32)
    )
    call = {"x_scale": x.scales, "dy_scale": dy.scales}
    refused(
        lambda: wgrad.grouped_wgrad(x.tokens, dy.tokens, ends, **call),
        "x_scale is uint8; it must be float8_e8m0fnu or float8_e4m3fn, or uint8 together with "
        "sf_vec_size",
    )


def test_a_quantized_operand_brings_its_own_scales():
    x = np.ones((32, 16), np.float32)
    ends = reference.offsets([32])
    q = wgrad.quantize(x, ends)
    for call in (wgrad.grouped_wgrad, wgrad.support, wgrad.explain):
        for argument, given in [("x", "x_scale"), ("dy", "dy_scale"), ("dy", "dy_global_scale")]:
            refused(
                lambda call=call, given=given: call(q, q, ends, **{given: q.scales}),
                f"{argument}_scale or {argument}_global_scale is given; it must be None: "
                f"{argument} is a Quantized and brings its own",
            )


def test_all_reasons_come_at_once():
    call = plain(x=np.ones((T, M), np.float64), offsets=np.array([1.0]))
    error = refused(lambda: wgrad.grouped_wgrad(**call), "x is float64")
    assert "offsets is float64" in str(error)
    assert [r.field for r in error.reasons] == ["x", "offsets"]
    assert all(r.bad_argument and r.rule and r.got and r.need for r in error.reasons)
    assert str(error.reasons[1]).startswith("offsets is float64; it must be int32")


def test_nothing_is_written_by_a_refused_call():
    out = np.full((E, M, N), 7, BF16)
    refused(
        lambda: wgrad.grouped_wgrad(**plain(out=out, offsets=np.array([8, 25], np.int32))),
        "offsets[1] is 25",
    )
    assert (out == 7).all()


@pytest.mark.torch
@pytest.mark.parametrize("argument", ["x", "dy", "offsets", "out", "out[1]"])
def test_a_negated_view_is_refused(argument):
    """torch negates lazily: the memory holds the values before."""
    torch = pytest.importorskip("torch")
    call = {
        "x": torch.ones(T, M, dtype=torch.bfloat16),
        "dy": torch.ones(T, N, dtype=torch.bfloat16),
        "offsets": torch.tensor([8, T], dtype=torch.int32),
        "out": torch.zeros(E, M, N),
    }
    if argument == "out[1]":
        call["out"] = [call["out"][0], torch._neg_view(call["out"][1])]
    else:
        call[argument] = torch._neg_view(call[argument])
    refused(
        lambda: wgrad.grouped_wgrad(**call),
        f"{argument} is a negated view of other values; it must be stored: resolve_neg() does",
    )
    if argument == "x":
        out = wgrad.grouped_wgrad(**{**call, "x": call["x"].resolve_neg()})
        assert out[0, 0, 0] == -8


def test_the_error_classes_are_the_builtin_ones_too():
    assert issubclass(wgrad.ValueError, ValueError)
    assert issubclass(wgrad.RuntimeError, RuntimeError)
    assert wgrad.ValueError is not ValueError


@pytest.mark.torch
def test_device_mismatch_is_named():
    import torch

    if torch.cuda.is_available():
        offsets = torch.tensor([8, T], dtype=torch.int32, device="cuda")
        refused(lambda: wgrad.grouped_wgrad(**plain(offsets=offsets)), "offsets is on cuda:0")
        return
    meta = torch.ones((T, M), dtype=torch.bfloat16, device="meta")
    error = refused(lambda: wgrad.grouped_wgrad(**plain(x=meta)), "x is nothing DLPack describes")
    assert "meta" in str(error)


def test_a_refusal_does_not_depend_on_earlier_calls():
    """1 equals True and 256.0 equals 256, but only the latter of each are allowed."""
    wgrad.clear_caches()
    for good, bad in (
        ({"accumulate": False}, {"accumulate": 0}),
        ({"mma_tiler_mn": (128, 128)}, {"mma_tiler_mn": (128.0, 128)}),
    ):
        wgrad.grouped_wgrad(**plain(**good))
        refused(lambda bad=bad: wgrad.grouped_wgrad(**plain(**bad)), f"wgrad: {next(iter(bad))} is ")
        wgrad.grouped_wgrad(**plain(**good))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool", "complex64", "object"])
def test_operands_of_other_dtypes_are_refused_as_such(dtype):
    """float32 too, which newcomers try first: not by the scale factors that it has not."""
    x, dy = np.ones((T, M), dtype), np.ones((T, N), dtype)
    error = refused(
        lambda: wgrad.grouped_wgrad(**plain(x=x, dy=dy)), f"x is {dtype}; it must be bfloat16, "
    )
    assert [r.field for r in error.reasons] == ["x", "dy"]
