"""What callers of the reference's release 1.32 rely on beside its documented API."""

from __future__ import annotations

import inspect
import logging

import numpy as np
import pytest

import drop_in
import operands
import reference
import wgrad
from wgrad import _overlap

CLASSES = (wgrad.GroupedGemmWgrad, wgrad.GroupedGemmWgradSm100)
WRAPPER = wgrad.grouped_gemm_wgrad_wrapper_sm100


@pytest.mark.parametrize("function", [WRAPPER, *CLASSES], ids=lambda f: f.__name__)
def test_the_override_is_positional_after_the_vector_size(function):
    parameters = inspect.signature(function).parameters
    names = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    at = names.index("sf_vec_size")
    assert names[at : at + 3] == ["sf_vec_size", "sf_fp8_dtype_override", "accumulate_on_output"]
    assert parameters["acc_dtype"].default is None and parameters["wgrad_dtype"].default is None


def small(framework, accumulate=False, sf_fp8_dtype_override=None, **options):
    case = drop_in.call(framework, np.random.default_rng(5), "bf16", [16, 48])
    out = framework.full((2, drop_in.M, drop_in.N), 0.0, "float32")
    samples = drop_in.samples(case["tensors"])
    first = [samples.pop(f"sample_{name}") for name in ("a", "b", "sfa", "sfb", "offsets")]
    operator = wgrad.GroupedGemmWgradSm100(
        *first, out, None, None, None, None, None, None, None, (256, 256), None, 16,
        sf_fp8_dtype_override, accumulate, "tensor2d", **options,
    )
    return case, out, operator


def test_accumulate_follows_the_override_by_position(framework):
    case, out, operator = small(framework, accumulate=True)
    operator.compile()
    for _ in range(2):
        operator.execute(**case["tensors"], wgrad_tensor=out)
    np.testing.assert_array_equal(framework.to_numpy(out), 2 * case["expected"])
    with pytest.raises(ValueError, match="forbids scale control sf_fp8_dtype_override"):
        small(framework, sf_fp8_dtype_override="e5m3")[2].check_support()


def test_attributes_that_callers_read(framework):
    _, _, operator = small(framework)
    assert operator._is_supported is False and operator.weight_mode is None
    assert operator._kernel is None and operator._compiled_kernel is None
    assert isinstance(operator._logger, logging.Logger)
    operator.compile()
    assert operator._is_supported is True
    assert operator._kernel is not None and operator._compiled_kernel is not None


def test_the_weight_mode_is_an_enumerator_that_equals_its_string(framework):
    _, _, operator = small(framework)
    operator.check_support()
    assert operator.weight_mode.name == "DENSE" and operator.weight_mode.value == "dense"
    assert operator.weight_mode == "dense" and operator.weight_mode != "discrete"
    assert str(operator.weight_mode) == "dense"


def test_messages_keep_the_capital_letters(framework):
    case, out, operator = small(framework)
    with pytest.raises(RuntimeError, match=r"Kernel not compiled; call compile\(\) first"):
        operator.execute(**case["tensors"], wgrad_tensor=out)


def test_a_table_of_no_expert_is_empty(framework):
    table = wgrad.wgrad_expert_ptrs(framework.full((0, 16, 16), 0.0, "float32"))
    assert tuple(table.shape) == (0,) and "int64" in str(table.dtype)


def test_true_and_false_are_no_positions():
    result = wgrad.TupleDict(wgrad_tensor=1, other=2)
    for index in (True, False):
        with pytest.raises(KeyError, match="neither a name nor a position"):
            result[index]


def test_fp4_with_a_power_of_two_every_16_tokens(framework):
    rng, ends = np.random.default_rng(6), reference.offsets([48, 0, 34])
    sides = [fp4_every_16(framework, rng, ends, rows) for rows in (128, 32)]
    (a, a_scales, a_values), (b, b_scales, b_values) = sides
    result = WRAPPER(
        a.T, b, a_scales, b_scales, framework.tensor(ends, "int32"), wgrad_dtype="float32"
    )
    expected = reference.product(a_values, b_values, ends)
    np.testing.assert_array_equal(framework.to_numpy(result["wgrad_tensor"]), expected)


def fp4_every_16(framework, rng, ends, rows):
    """Packed elements, swizzled scales that differ from block to block, and the values."""
    codes = rng.choice(np.array([0, 1, 2, 4, 9, 10, 12], np.uint8), (int(ends[-1]), rows))
    exponents = [
        rng.integers(-2, 3, (rows, -(-int(end - begin) // 16)))
        for begin, end in zip([0, *ends[:-1]], ends)
    ]
    values = reference.scale_rows(
        reference.E2M1[codes], [np.exp2(e.astype(np.float64)) for e in exponents], ends, 16
    )
    stored = reference.swizzle([(e + 127).astype(np.uint8) for e in exponents], rows, 0xFF)
    scales = framework.bytes_as(np.ascontiguousarray(stored.astype(np.uint8)), "float8_e8m0fnu")
    elements = operands._store_elements(framework, codes, "mxfp4", "", "k", ends, False)
    return elements, scales, values


@pytest.fixture
def margin(monkeypatch):
    return lambda text: monkeypatch.setenv("CUDNNFE_CLUSTER_OVERLAP_MARGIN", text)


def test_a_margin_says_nothing_on_a_cpu(framework, margin):
    margin("8")
    case = drop_in.call(framework, np.random.default_rng(5), "bf16", [16, 48])
    result = WRAPPER(**case["tensors"], wgrad_dtype="float32")
    np.testing.assert_array_equal(
        framework.to_numpy(result["wgrad_tensor"]), case["expected"].astype(np.float32)
    )


@pytest.mark.parametrize("text", ["some", "-1", "1.5", " 8", "²"])
def test_a_margin_that_is_no_number_is_refused(framework, margin, text):
    margin(text)
    need = "a whole number of multiprocessors, 0 or more"
    case = drop_in.call(framework, np.random.default_rng(5), "bf16", [16, 48])
    with pytest.raises(ValueError, match=f"CUDNNFE_CLUSTER_OVERLAP_MARGIN is .*{need}"):
        WRAPPER(**case["tensors"])
    with pytest.raises(ValueError, match=f"CUDNNFE_CLUSTER_OVERLAP_MARGIN is .*{need}"):
        small(framework)[2].check_support()


def test_a_margin_leaves_the_others(margin):
    """The device is by hand: what the limit does to a launch belongs to the GPU tests."""
    assert _overlap._left(8, 132) == 124 and _overlap._left(131, 132) == 1
    with pytest.raises(ValueError, match="less than the device's 132 multiprocessors"):
        _overlap._left(132, 132)
    margin("8")
    assert _overlap.default_sm_limit(16, None, "a") == 16, "an explicit limit wins"
    margin("0")
    assert _overlap.default_sm_limit(None, None, "a") is None


@pytest.mark.torch
@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("how", ["fake", "freed"])
def test_samples_may_describe_tensors_without_memory(how, discrete):
    import frameworks
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    case = drop_in.call(frameworks.Torch(), np.random.default_rng(5), "bf16", [16, 48])
    out = torch.full((2, drop_in.M, drop_in.N), float("nan"))
    mode = FakeTensorMode()

    def without_memory(tensor):
        if tensor is None:
            return None
        if how == "fake":
            return mode.from_tensor(tensor)
        freed = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
        freed.untyped_storage().resize_(0)
        return freed

    samples = {name: without_memory(t) for name, t in drop_in.samples(case["tensors"]).items()}
    if discrete:
        described = {
            "num_experts": 2, "wgrad_shape": (drop_in.M, drop_in.N), "wgrad_dtype": torch.float32,
            "sample_wgrad_expert": without_memory(out[0]),
        }
    else:
        described = {"sample_wgrad": without_memory(out)}
    operator = wgrad.GroupedGemmWgradSm100(**samples, **described)
    assert operator.check_support()
    operator.compile()
    operator.execute(**case["tensors"], wgrad_tensor=out)
    np.testing.assert_array_equal(out.numpy(), case["expected"].astype(np.float32))
