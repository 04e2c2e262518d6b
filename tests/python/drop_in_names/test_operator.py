"""The class: check_support, compile, execute, as code written for the reference uses it."""

from __future__ import annotations

import inspect
import logging

import ml_dtypes
import numpy as np
import pytest

import wgrad

import drop_in
import frameworks
import reference

FORMATS = ["bf16", "mxfp8", "mxfp4", "nvfp4"]


def check(framework, out, expected):
    rounded = reference.round_to(expected, np.dtype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(framework.to_numpy(out), rounded)


def dense(framework, case, format, **choices):
    out = framework.full((2, drop_in.M, drop_in.N), np.nan, "bfloat16")
    operator = wgrad.GroupedGemmWgradSm100(
        **drop_in.samples(case["tensors"]),
        sample_wgrad=out,
        sf_vec_size=drop_in.vec(format),
        **choices,
    )
    return operator, out


def discrete(case, format, **choices):
    return wgrad.GroupedGemmWgradSm100(
        **drop_in.samples(case["tensors"]),
        num_experts=2,
        wgrad_shape=(drop_in.M, drop_in.N),
        wgrad_dtype="bfloat16",
        sf_vec_size=drop_in.vec(format),
        **choices,
    )


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("tile", "cluster"), [((128, 128), (1, 1)), ((256, 256), (2, 1))])
def test_dense(framework, format, tile, cluster):
    case = drop_in.call(framework, np.random.default_rng(0), format, drop_in.GROUPS)
    operator, out = dense(framework, case, format, mma_tiler_mn=tile, cluster_shape_mn=cluster)
    if framework.name == "cuda" and format != "bf16" and cluster != (1, 1):
        with pytest.raises(RuntimeError, match=r"cluster_shape_mn is \(2, 1\)"):
            operator.check_support()
        return
    assert operator.check_support() is True
    operator.compile()
    assert operator.weight_mode == "dense"
    assert operator.execute(**case["tensors"], wgrad_tensor=out) is None
    check(framework, out, case["expected"])


@pytest.mark.parametrize("tokens", [0, 1, 2, 3, 8])
@pytest.mark.parametrize("format", ["ragged bf16", "mxfp8"])
def test_a_compiled_major_holds_for_one_token(format, tokens):
    """One token's operand is contiguous along either axis."""

    def call(count):
        ends = np.array([count // 2, count], np.int32)
        operand, scales = np.ones((count, 16), ml_dtypes.bfloat16, order="F"), None
        if format == "mxfp8":
            q = wgrad.quantize(operand, ends)
            operand, scales = q.elements, q.scales
        return [operand.T, operand, scales, scales, ends, np.full((2, 16, 16), np.nan, np.float32)]

    options = {"sf_vec_size": 32} if format == "mxfp8" else {"input_order": "tensor_ragged"}
    operator = wgrad.GroupedGemmWgrad(*call(64), **options)
    operator.compile()
    tensors = call(tokens)
    operator.execute(*tensors)
    counts = np.diff(tensors[4], prepend=0)
    np.testing.assert_array_equal(tensors[5], np.ones((2, 16, 16)) * counts[:, None, None])


def test_dense_mode_takes_no_second_description_of_the_output():
    x, ends = np.ones((8, 16), ml_dtypes.bfloat16), np.array([8], np.int32)
    samples = x.T, x, None, None, ends, np.empty((1, 16, 16), np.float32)
    for name, value in (("wgrad_shape", (16, 16)), ("sample_wgrad_expert", samples[5][0])):
        operator = wgrad.GroupedGemmWgrad(*samples, **{name: value})
        with pytest.raises(ValueError, match=f"{name} is given; it must be None in dense mode"):
            operator.check_support()


@pytest.mark.parametrize("format", FORMATS)
def test_discrete_three_ways(framework, format):
    case = drop_in.call(framework, np.random.default_rng(1), format, drop_in.GROUPS)
    operator = discrete(case, format)
    assert operator.check_support()
    operator.compile()
    assert operator.weight_mode == "discrete"
    shape = (drop_in.M, drop_in.N)

    stacked = framework.full((2, *shape), np.nan, "bfloat16")
    operator.execute(**case["tensors"], wgrad_tensor=stacked)
    check(framework, stacked, case["expected"])

    outputs = [framework.full(shape, np.nan, "bfloat16") for _ in range(2)]
    table = drop_in.pointers(framework, outputs)
    operator.execute(**case["tensors"], wgrad_ptrs=table)
    for got, want in zip(outputs, case["expected"]):
        check(framework, got, want)

    outputs = [framework.full(shape, np.nan, "bfloat16") for _ in range(2)]
    untouched = framework.full((2, *shape), 5.0, "bfloat16")
    table = drop_in.pointers(framework, outputs)
    operator.execute(**case["tensors"], wgrad_tensor=untouched, wgrad_ptrs=table)
    for got, want in zip(outputs, case["expected"]):
        check(framework, got, want)
    assert (framework.to_numpy(untouched) == 5).all()


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("mode", ["stacked", "pointers"])
def test_discrete_accumulate_adds_to_what_is_there(framework, format, mode):
    case = drop_in.call(framework, np.random.default_rng(2), format, drop_in.GROUPS)
    operator = discrete(case, format, accumulate_on_output=True)
    operator.compile()
    out = framework.full((2, drop_in.M, drop_in.N), 1.0, "bfloat16")
    if mode == "stacked":
        operator.execute(**case["tensors"], wgrad_tensor=out)
    else:
        table = drop_in.pointers(framework, [out[0], out[1]])
        operator.execute(**case["tensors"], wgrad_ptrs=table)
    check(framework, out, case["expected"] + 1)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("mode", ["dense", "discrete"])
def test_dynamic_tokens(framework, format, mode):
    first = drop_in.call(framework, np.random.default_rng(3), format, drop_in.GROUPS)
    operator = dense(framework, first, format)[0] if mode == "dense" else discrete(first, format)
    operator.compile()
    for counts in (drop_in.OTHER_GROUPS, [384, 256], [0, 64], [0, 0]):
        case = drop_in.call(framework, np.random.default_rng(4), format, counts)
        out = framework.full((2, drop_in.M, drop_in.N), np.nan, "bfloat16")
        operator.execute(**case["tensors"], wgrad_tensor=out)
        check(framework, out, case["expected"])


def test_call_compiles_where_needed(framework):
    case = drop_in.call(framework, np.random.default_rng(5), "bf16", drop_in.GROUPS)
    operator, out = dense(framework, case, "bf16")
    operator(**case["tensors"], wgrad_tensor=out)
    check(framework, out, case["expected"])


def test_execute_before_compile_is_a_runtime_error(framework):
    case = drop_in.call(framework, np.random.default_rng(6), "bf16", drop_in.GROUPS)
    operator, out = dense(framework, case, "bf16")
    operator.check_support()
    with pytest.raises(RuntimeError, match=r"not compiled; call compile\(\) first"):
        operator.execute(**case["tensors"], wgrad_tensor=out)


def test_check_support_may_be_called_again_and_releases_the_samples():
    numpy = frameworks.Numpy()
    case = drop_in.call(numpy, np.random.default_rng(7), "bf16", drop_in.GROUPS)
    operator, _ = dense(numpy, case, "bf16")
    assert operator.check_support() and operator.check_support()
    assert operator._given is None
    operator.compile()
    compiled = operator._stacked
    operator.compile()
    assert operator._stacked is compiled


def test_the_constructor_never_raises_for_bad_values():
    operator = wgrad.GroupedGemmWgradSm100(
        None, "b", 3, None, None, mma_tiler_mn="wide", acc_dtype="no such dtype", sf_vec_size=-1
    )
    with pytest.raises(ValueError, match="sample_wgrad and num_experts is neither given"):
        operator.check_support()


def test_a_failed_check_keeps_the_samples_for_another_try(framework):
    case = drop_in.call(framework, np.random.default_rng(8), "bf16", drop_in.GROUPS)
    operator, _ = dense(framework, case, "bf16", acc_dtype="bfloat16")
    for _ in range(2):
        with pytest.raises(ValueError, match="acc_dtype is bfloat16; it must be float32"):
            operator.check_support()


def test_no_fault_is_reported_after_a_good_run(framework):
    case = drop_in.call(framework, np.random.default_rng(10), "bf16", drop_in.GROUPS)
    operator, out = dense(framework, case, "bf16")
    operator(**case["tensors"], wgrad_tensor=out)
    assert operator.fault() is None
    operator.clear_fault()


def test_both_outputs_at_once_are_for_the_drop_in_class_alone(framework):
    case = drop_in.call(framework, np.random.default_rng(11), "bf16", drop_in.GROUPS)
    out = framework.full((2, drop_in.M, drop_in.N), np.nan, "bfloat16")
    table = drop_in.pointers(framework, [out[0], out[1]])

    def execute(kind):
        operator = kind(
            **drop_in.samples(case["tensors"]),
            num_experts=2,
            wgrad_shape=(drop_in.M, drop_in.N),
            wgrad_dtype="bfloat16",
        )
        operator.compile()
        operator.execute(**case["tensors"], wgrad_tensor=out, wgrad_ptrs=table)

    with pytest.raises(ValueError, match="wgrad_ptrs is given; it must be None together with"):
        execute(wgrad.GroupedGemmWgrad)
    assert np.isnan(framework.to_numpy(out).astype("float32")).all()
    execute(wgrad.GroupedGemmWgradSm100)
    check(framework, out, case["expected"])


def test_signatures_are_the_drop_in_ones():
    parameters = inspect.signature(wgrad.GroupedGemmWgradSm100.__init__).parameters
    positional = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional == [
        "self",
        "sample_a",
        "sample_b",
        "sample_sfa",
        "sample_sfb",
        "sample_offsets",
        "sample_wgrad",
        "sample_wgrad_expert",
        "num_experts",
        "wgrad_shape",
        "wgrad_dtype",
        "sample_global_scale_a",
        "sample_global_scale_b",
        "acc_dtype",
        "mma_tiler_mn",
        "cluster_shape_mn",
        "sf_vec_size",
        "sf_fp8_dtype_override",
        "accumulate_on_output",
        "input_order",
    ]
    defaults = {p.name: p.default for p in parameters.values()}
    assert defaults["mma_tiler_mn"] == (256, 256)
    assert defaults["sf_vec_size"] == 16
    assert defaults["input_order"] == "tensor2d"
    execute = inspect.signature(wgrad.GroupedGemmWgradSm100.execute).parameters
    positional = [p.name for p in execute.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional[1:] == [
        "a_tensor",
        "b_tensor",
        "sfa_tensor",
        "sfb_tensor",
        "offsets_tensor",
        "wgrad_tensor",
        "wgrad_ptrs",
        "global_scale_a",
        "global_scale_b",
        "current_stream",
    ]
    assert execute["descriptor_workspace"].kind is inspect.Parameter.KEYWORD_ONLY


def test_the_experimental_note_is_logged_once(caplog):
    import wgrad.operator

    wgrad.operator._noted.clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            wgrad.GroupedGemmWgradSm100(None, None, None, None, None)
    assert [r.message for r in caplog.records if r.name == "GroupedGemmWgradSm100"] == [
        "GroupedGemmWgradSm100 is an experimental API"
    ]


def test_values_of_samples_are_not_judged():
    """Samples tell shapes: their offsets may hold anything, whatever else is refused of them."""
    a, b = np.ones((64, 8), np.float16), np.ones((9, 32), np.float16)
    offsets = np.array([2**30, -7], np.int32)
    operator = wgrad.GroupedGemmWgrad(
        a, b, None, None, offsets, num_experts=2, wgrad_shape=(64, 32), wgrad_dtype="float32"
    )
    with pytest.raises(ValueError) as caught:
        operator.check_support()
    assert [reason.field for reason in caught.value.reasons] == ["sample_b"]
    with pytest.raises(ValueError) as caught:
        wgrad.support(a.T, b, offsets)
    assert [reason.field for reason in caught.value.reasons] == ["dy"]
    with pytest.raises(ValueError) as caught:
        wgrad.grouped_wgrad(a.T, b, offsets)
    assert {reason.field for reason in caught.value.reasons} == {"dy", "offsets[0]", "offsets[1]"}
