"""The wrapper: results, output modes, and the cache that leaves token-sized axes out of its key."""

from __future__ import annotations

import inspect

import ml_dtypes
import numpy as np
import pytest

import wgrad
from wgrad import grouped_gemm_wgrad_wrapper_sm100 as wrapper

import drop_in
import frameworks
import operands
import reference
from fake_cuda import FakeCuda

FORMATS = ["bf16", "mxfp8", "mxfp4", "nvfp4"]
CACHE = wgrad._cache_of_GroupedGemmWgradSm100Objects


def check(framework, out, expected):
    rounded = reference.round_to(expected, np.dtype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(framework.to_numpy(out), rounded)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("mode", ["dense", "discrete"])
def test_allocates_and_reuses_its_operator(framework, format, mode):
    case = drop_in.call(framework, np.random.default_rng(0), format, drop_in.GROUPS)
    for _ in range(2):
        result = wrapper(**case["tensors"], output_mode=mode, sf_vec_size=drop_in.vec(format))
        assert isinstance(result, wgrad.TupleDict) and list(result.keys()) == ["wgrad_tensor"]
        check(framework, result["wgrad_tensor"], case["expected"])
        (unpacked,) = result
        assert unpacked is result["wgrad_tensor"]
    assert len(CACHE) == 1


@pytest.mark.parametrize("mode", ["dense", "discrete"])
def test_returns_the_given_tensor_itself(framework, mode):
    case = drop_in.call(framework, np.random.default_rng(1), "bf16", drop_in.GROUPS)
    out = framework.full((2, drop_in.M, drop_in.N), np.nan, "bfloat16")
    result = wrapper(**case["tensors"], output_mode=mode, wgrad_tensor=out)
    assert result["wgrad_tensor"] is out
    check(framework, out, case["expected"])


def test_pointers_alone_return_none(framework):
    case = drop_in.call(framework, np.random.default_rng(2), "bf16", drop_in.GROUPS)
    outputs = [framework.full((drop_in.M, drop_in.N), np.nan, "float32") for _ in range(2)]
    result = wrapper(
        **case["tensors"],
        output_mode="discrete",
        wgrad_ptrs=drop_in.pointers(framework, outputs),
        wgrad_dtype="float32",
    )
    assert result["wgrad_tensor"] is None and len(result) == 1
    for got, want in zip(outputs, case["expected"]):
        np.testing.assert_array_equal(framework.to_numpy(got), want)


def test_tensor_and_pointers_return_the_tensor(framework):
    case = drop_in.call(framework, np.random.default_rng(3), "bf16", drop_in.GROUPS)
    out = framework.full((2, drop_in.M, drop_in.N), np.nan, "bfloat16")
    table = drop_in.pointers(framework, [out[0], out[1]])
    result = wrapper(**case["tensors"], output_mode="discrete", wgrad_tensor=out, wgrad_ptrs=table)
    assert result["wgrad_tensor"] is out
    check(framework, out, case["expected"])


def test_groups_with_an_empty_expert(framework):
    case = drop_in.call(framework, np.random.default_rng(4), "bf16", [256, 0, 256])
    result = wrapper(**case["tensors"])
    check(framework, result["wgrad_tensor"], case["expected"])
    assert not framework.raw(result["wgrad_tensor"][1]).any()


def test_a_float32_output_wins_over_the_default_dtype(framework):
    case = drop_in.call(framework, np.random.default_rng(5), "bf16", drop_in.GROUPS)
    for mode in ("dense", "discrete"):
        out = framework.full((2, drop_in.M, drop_in.N), np.nan, "float32")
        wrapper(**case["tensors"], output_mode=mode, wgrad_tensor=out)
        np.testing.assert_array_equal(framework.to_numpy(out), case["expected"])


def test_only_an_explicit_dtype_contradicts_the_output(framework):
    case = drop_in.call(framework, np.random.default_rng(6), "bf16", drop_in.GROUPS)
    out = framework.full((2, drop_in.M, drop_in.N), np.nan, "float32")
    with pytest.raises(
        ValueError, match="wgrad_dtype is float16; it must be None or float32, the dtype of the"
    ):
        wrapper(**case["tensors"], wgrad_tensor=out, wgrad_dtype="float16")


@pytest.mark.parametrize("format", ["bf16", "mxfp8", "nvfp4"])
@pytest.mark.parametrize("accumulate", [False, True])
def test_accumulate(framework, format, accumulate):
    case = drop_in.call(framework, np.random.default_rng(7), format, drop_in.GROUPS)
    out = framework.full((2, drop_in.M, drop_in.N), 1.0, "bfloat16")
    chosen = {"accumulate_on_output": accumulate, "sf_vec_size": drop_in.vec(format)}
    wrapper(**case["tensors"], wgrad_tensor=out, **chosen)
    check(framework, out, case["expected"] + accumulate)
    allocated = wrapper(**case["tensors"], **chosen)
    check(framework, allocated["wgrad_tensor"], case["expected"])


@pytest.mark.parametrize("format", ["mxfp4", "nvfp4", "bf16"])
def test_ragged_equals_tensor2d(framework, format):
    ends = reference.offsets(drop_in.GROUPS)
    results = {}
    for order in ("tensor2d", "tensor_ragged"):
        kind = {"ragged": order == "tensor_ragged", "major": "k"}
        rng = np.random.default_rng(8)
        if format == "bf16":
            a = operands.sixteen_bit(framework, rng, ends, drop_in.M, **kind)
            b = operands.sixteen_bit(framework, rng, ends, drop_in.N, **kind)
        else:
            a = operands.block_scaled(framework, rng, ends, drop_in.M, format, **kind)
            b = operands.block_scaled(framework, rng, ends, drop_in.N, format, **kind)
        results[order] = wrapper(
            a.tokens.T,
            b.tokens,
            a.scales,
            b.scales,
            framework.tensor(ends, "int32"),
            global_scale_a=a.global_scale,
            global_scale_b=b.global_scale,
            mma_tiler_mn=(128, 128),
            cluster_shape_mn=(1, 1),
            sf_vec_size=drop_in.vec(format),
            input_order=order,
        )["wgrad_tensor"]
    np.testing.assert_array_equal(
        framework.raw(results["tensor2d"]), framework.raw(results["tensor_ragged"])
    )
    expected = reference.product(a.values, b.values, ends)
    check(framework, results["tensor2d"], expected)


class CountingOperator(wgrad.GroupedGemmWgradSm100):
    """Records what the wrapper does with the class instead of doing it."""

    compiles = 0
    executed: list[dict] = []

    def compile(self):
        CountingOperator.compiles += 1

    def execute(self, *args, **kwargs):
        CountingOperator.executed.append({"args": args, **kwargs})


@pytest.fixture
def counting(monkeypatch):
    import wgrad.wrapper

    monkeypatch.setattr(wgrad.wrapper, "GroupedGemmWgradSm100", CountingOperator)
    CountingOperator.compiles = 0
    CountingOperator.executed = []
    return CountingOperator


def small(framework, counts, m=32, n=64):
    """A (M, T) K-major, B (T, N) strides (1, T)."""
    ends = reference.offsets(counts)
    rng = np.random.default_rng(9)
    a = operands.sixteen_bit(framework, rng, ends, m, major="k")
    b = operands.sixteen_bit(framework, rng, ends, n, major="k")
    return [a.tokens.T, b.tokens, None, None, framework.tensor(ends, "int32")]


@pytest.mark.parametrize("mode", ["dense", "discrete"])
def test_another_token_count_hits_the_cache(framework, counting, mode):
    for counts in ([8, 16], [80, 80]):
        wrapper(*small(framework, counts), output_mode=mode)
    assert counting.compiles == 1 and len(CACHE) == 1 and len(counting.executed) == 2


@pytest.mark.parametrize("majors", ["kk", "kn", "mk", "mn"])
def test_calls_without_tokens_use_whatever_majors_are_kept(framework, majors):
    for tokens in (32, 8, 0, 0, 32):
        values = np.ones((64, tokens)), np.ones((tokens, 32))
        a, b = (framework.tensor(v, "bfloat16") for v in values)
        if majors[0] == "m":
            a = framework.tensor(np.ones((tokens, 64)), "bfloat16").T
        if majors[1] == "k":
            b = framework.tensor(np.ones((32, tokens)), "bfloat16").T
        offsets = framework.tensor(np.array([tokens // 2, tokens]), "int32")
        result = wrapper(a, b, None, None, offsets)["wgrad_tensor"]
        assert (framework.to_numpy(result) == tokens // 2).all()
        assert len(CACHE) == 1


def test_one_16_bit_token_of_packed_k_major_rows_has_an_operator_of_its_own(framework):
    """As K-major its rows would be 2 bytes apart, which no kernel reads."""
    for tokens, kept in ((32, 1), (1, 2), (32, 2), (1, 2)):
        a = framework.tensor(np.ones((64, tokens)), "bfloat16")
        b = framework.tensor(np.ones((32, tokens)), "bfloat16").T
        offsets = framework.tensor(np.array([0, tokens]), "int32")
        result = framework.to_numpy(wrapper(a, b, None, None, offsets)["wgrad_tensor"])
        natural = framework.to_numpy(wgrad.grouped_wgrad(a.T, b, offsets))
        for got in (result, natural):
            assert (got[0] == 0).all() and (got[1] == tokens).all()
        assert len(CACHE) == kept


@pytest.mark.block_scaled
def test_fp8_calls_of_few_tokens_share_an_operator(framework):
    for counts in ([256, 384], [0, 1], [0, 0], [32, 32]):
        case = drop_in.call(framework, np.random.default_rng(14), "mxfp8", counts)
        result = wrapper(**case["tensors"], sf_vec_size=32)
        check(framework, result["wgrad_tensor"], case["expected"])
        assert len(CACHE) == 1


@pytest.mark.block_scaled
def test_flat_scales_share_the_operator_of_2d_ones(framework):
    for counts in (drop_in.GROUPS, drop_in.OTHER_GROUPS):
        case = drop_in.call(framework, np.random.default_rng(15), "mxfp8", counts)
        flat = {name: case["tensors"][name].reshape(-1) for name in ("sfa_tensor", "sfb_tensor")}
        for tensors in (case["tensors"], {**case["tensors"], **flat}):
            result = wrapper(**tensors, sf_vec_size=32)
            check(framework, result["wgrad_tensor"], case["expected"])
            assert len(CACHE) == 1


def test_an_execute_put_in_its_place_gets_keywords(framework, monkeypatch):
    seen = []
    put = lambda self, **given: seen.append(given)
    monkeypatch.setattr(wgrad.GroupedGemmWgradSm100, "execute", put)
    tensors = small(framework, [8, 16])
    wrapper(*tensors)
    assert seen[0]["a_tensor"] is tensors[0] and seen[0]["offsets_tensor"] is tensors[4]


def test_a_compile_put_in_its_place_leaves_nothing_compiled(framework, monkeypatch):
    monkeypatch.setattr(wgrad.GroupedGemmWgradSm100, "compile", lambda self: None)
    with pytest.raises(RuntimeError, match=r"not compiled; call compile\(\) first"):
        wrapper(*small(framework, [8, 16]))


def test_another_input_order_is_another_operator(framework, counting):
    for order in ("tensor2d", "tensor_ragged"):
        wrapper(*small(framework, [8, 16]), input_order=order)
    assert counting.compiles == 2 and len(CACHE) == 2


@pytest.mark.parametrize("mode", ["dense", "discrete"])
@pytest.mark.parametrize("with_workspace", [False, True])
def test_another_output_hits_and_the_workspace_arrives(framework, counting, mode, with_workspace):
    workspace = framework.full((1024,), 0, "uint8") if with_workspace else None
    for _ in range(2):
        out = framework.full((2, 32, 64), 0.0, "bfloat16")
        wrapper(
            *small(framework, [8, 16]),
            output_mode=mode,
            wgrad_tensor=out,
            descriptor_workspace=workspace,
        )
    assert counting.compiles == 1 and len(CACHE) == 1
    assert all(call["descriptor_workspace"] is workspace for call in counting.executed)


def test_spellings_of_one_dtype_share_an_operator(framework, counting):
    for dtype in (None, "float32", framework.dtype("float32"), np.float32):
        wrapper(*small(framework, [8, 16]), acc_dtype=dtype)
    assert counting.compiles == 1


CHANGES = {
    "another M": {"m": 40},
    "another N": {"n": 72},
    "another E": {"counts": [8, 8, 8]},
    "output dtype": {"wgrad_dtype": "float16"},
    "accumulate": {"accumulate_on_output": True},
    "mode": {"output_mode": "discrete"},
    "tile": {"mma_tiler_mn": (128, 128)},
    "cluster": {"cluster_shape_mn": (2, 1)},
    "validation": {"validate_device_data": True},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_contract_is_another_operator(framework, counting, change):
    options = dict(CHANGES[change])
    sizes = {key: options.pop(key) for key in ("m", "n") if key in options}
    counts = options.pop("counts", [8, 16])
    wrapper(*small(framework, [8, 16]))
    wrapper(*small(framework, counts, **sizes), **options)
    assert counting.compiles == 2 and len(CACHE) == 2


def test_another_major_or_input_dtype_is_another_operator(framework, counting):
    a, b, _, _, offsets = small(framework, [8, 16])
    wrapper(a, b, None, None, offsets)
    ends = reference.offsets([8, 16])
    rng = np.random.default_rng(0)
    other = operands.sixteen_bit(framework, rng, ends, 32, major="mn")
    wrapper(other.tokens.T, b, None, None, offsets)
    half = [
        operands.sixteen_bit(framework, rng, ends, rows, major="k", dtype="float16")
        for rows in (32, 64)
    ]
    wrapper(half[0].tokens.T, half[1].tokens, None, None, offsets)
    assert counting.compiles == 3 and len(CACHE) == 3


def test_a_refused_call_leaves_no_entry(framework):
    with pytest.raises(ValueError, match="acc_dtype is float16; it must be float32"):
        wrapper(*small(framework, [8, 16]), acc_dtype="float16")
    with pytest.raises(ValueError, match="mma_tiler_mn is"):
        wrapper(*small(framework, [8, 16]), mma_tiler_mn=(96, 128))
    assert len(CACHE) == 0


def test_a_cleared_cache_compiles_again(framework, counting):
    wrapper(*small(framework, [8, 16]))
    CACHE.clear()
    wrapper(*small(framework, [8, 16]))
    assert counting.compiles == 2 and len(CACHE) == 1


def test_cached_results_are_bit_equal_to_cold_ones(framework):
    case = drop_in.call(framework, np.random.default_rng(10), "bf16", [384, 256])
    cold = wrapper(**case["tensors"])["wgrad_tensor"]
    CACHE.clear()
    warm_up = drop_in.call(framework, np.random.default_rng(11), "bf16", [256, 384])
    wrapper(**warm_up["tensors"])
    warm = wrapper(**case["tensors"])["wgrad_tensor"]
    assert len(CACHE) == 1
    np.testing.assert_array_equal(framework.raw(cold), framework.raw(warm))


def test_one_key_serves_what_the_dtype_and_the_caller_say_alike(framework):
    """A vector size left to uint8 bytes, and a dtype behind pointers, survive a shared operator."""
    case = drop_in.call(framework, np.random.default_rng(12), "bf16", drop_in.GROUPS)
    out = framework.full((2, drop_in.M, drop_in.N), np.nan, "float32")
    table = drop_in.pointers(framework, [out[0], out[1]])
    wrapper(**case["tensors"], output_mode="discrete", wgrad_tensor=out, wgrad_ptrs=table)
    wrapper(**case["tensors"], output_mode="discrete", wgrad_ptrs=table, wgrad_dtype="float32")
    assert len(CACHE) == 1
    np.testing.assert_array_equal(framework.to_numpy(out), case["expected"])


def test_the_signature_is_the_drop_in_one():
    parameters = inspect.signature(wrapper).parameters
    positional = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional == [
        "a_tensor",
        "b_tensor",
        "sfa_tensor",
        "sfb_tensor",
        "offsets_tensor",
        "output_mode",
        "wgrad_tensor",
        "wgrad_ptrs",
        "global_scale_a",
        "global_scale_b",
        "acc_dtype",
        "wgrad_dtype",
        "mma_tiler_mn",
        "cluster_shape_mn",
        "sf_vec_size",
        "sf_fp8_dtype_override",
        "accumulate_on_output",
        "input_order",
        "current_stream",
    ]
    assert parameters["descriptor_workspace"].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters["sf_fp8_dtype_override"].default is None
    assert wrapper.supports_canonical_layouts and wrapper.supports_bf16_canonical_layouts


def test_sf_fp8_dtype_override(framework):
    tensors = small(framework, [8, 16])
    wrapper(*tensors, sf_fp8_dtype_override=None)
    with pytest.raises(ValueError, match="BF16 forbids scale control sf_fp8_dtype_override"):
        wrapper(*tensors, sf_fp8_dtype_override="e5m3")
    case = drop_in.call(framework, np.random.default_rng(13), "mxfp8", drop_in.GROUPS)
    with pytest.raises(ValueError, match="sf_fp8_dtype_override must be None"):
        wrapper(**case["tensors"], sf_vec_size=32, sf_fp8_dtype_override="e5m3")


def test_workspace_size_query():
    size = wgrad.get_grouped_gemm_wgrad_workspace_size_sm100
    assert size(2) == 1024
    assert size(2, input_order="tensor_ragged") == 1024
    assert size(2, input_order=wgrad.WGradInputOrder.TensorRagged) == 1024
    assert size(np.int64(1), output_mode="discrete") == 640
    for bad in (0, -1, True, 1.5):
        with pytest.raises(ValueError, match="num_experts must be positive"):
            size(bad)
    with pytest.raises(ValueError, match="unsupported output_mode 'sparse'"):
        size(1, output_mode="sparse")
    with pytest.raises(ValueError, match="unsupported input_order 'tensor3d'"):
        size(1, input_order="tensor3d")


def test_numpy_results_are_numpy():
    numpy = frameworks.Numpy()
    result = wrapper(*small(numpy, [8, 16]))
    assert isinstance(result["wgrad_tensor"], np.ndarray)
    assert result["wgrad_tensor"].dtype == ml_dtypes.bfloat16


class Counted(FakeCuda):
    """Host memory that counts how often it is read through DLPack."""

    __module__ = "cupy"  # whose memory may be written, though its capsule has no version

    def __init__(self, array):
        super().__init__(array, device=0, device_type=1)
        self.reads = 0

    def __dlpack__(self, **options):
        self.reads += 1
        return super().__dlpack__(**options)


@pytest.mark.parametrize("mode", ["given", "new", "pointers"])
def test_a_warm_call_reads_each_tensor_once(mode):
    x, dy = np.ones((16, 24), np.float16), np.ones((24, 8), np.float16)
    out = np.zeros((2, 16, 8), np.float32)
    table = np.array([out[0].ctypes.data, out[1].ctypes.data])
    given = {
        "given": {"wgrad_tensor": Counted(out)},
        "new": {"wgrad_dtype": "float32"},
        "pointers": {
            "wgrad_ptrs": Counted(table),
            "output_mode": "discrete",
            "wgrad_dtype": "float32",
        },
    }[mode]
    tensors = [Counted(x), Counted(dy), None, None, Counted(np.array([8, 24], np.int32))]
    counted = [t for t in [*tensors, *given.values()] if isinstance(t, Counted)]
    for call in range(3):
        result = wrapper(*tensors, **given)
        if call == 0:  # which compiles, by way of the class
            for tensor in counted:
                tensor.reads = 0
    assert [tensor.reads for tensor in counted] == [2] * len(counted)
    results = {"given": lambda: given["wgrad_tensor"].array, "pointers": lambda: out}
    got = results.get(mode, lambda: result["wgrad_tensor"])()
    assert (got[0] == 8).all() and (got[1] == 16).all()


def test_a_device_fault_is_told_of_every_kept_operator(framework, monkeypatch):
    case = drop_in.call(framework, np.random.default_rng(7), "bf16", drop_in.GROUPS)
    wrapper(**case["tensors"])
    tensors = case["tensors"]
    wgrad.grouped_wgrad(tensors["a_tensor"].T, tensors["b_tensor"], tensors["offsets_tensor"])
    assert wgrad.device_fault() is None
    operator = next(iter(wgrad.cache.wrapper.values()))
    faults = ["offsets decrease"]
    monkeypatch.setattr(operator, "fault", lambda: next(iter(faults), None))
    monkeypatch.setattr(operator, "clear_fault", faults.clear)
    assert wgrad.device_fault() == "offsets decrease"
    wgrad.clear_device_fault()
    assert wgrad.device_fault() is None
