"""support, explain and devices."""

from __future__ import annotations

import inspect
import re

import ml_dtypes
import numpy as np
import pytest

import wgrad
from wgrad._functions import NATURAL, OPERATOR, WRAPPER


def problem(**changes):
    return wgrad.Problem(**{"experts": 4, "m": 64, "n": 48, "tokens": 256, **changes})


def tensors(width=48):
    x, dy = np.ones((16, 64), ml_dtypes.bfloat16), np.ones((16, width), ml_dtypes.bfloat16)
    return x, dy, np.array([8, 16], np.int32)


def test_yes_in_three_spellings():
    for answer in (
        wgrad.support(problem()),
        wgrad.support(experts=4, m=64, n=48, tokens=256),
        wgrad.support(*tensors()),
    ):
        assert answer and answer.reasons == [] and str(answer) == "supported"


def test_a_problem_tells_all_that_it_was_given():
    given = {
        "experts": 3, "m": 64, "n": 128, "tokens": 96, "a_dtype": "float4_e2m1fn_x2",
        "b_dtype": "float8_e5m2", "a_major": "k", "b_major": "k", "input_order": "tensor_ragged",
        "scale_dtype": "float8_e4m3fn", "sf_vec_size": 16, "scale_layout": "compact",
        "global_scale": True, "wgrad_dtype": "float16", "acc_dtype": "float16",
        "output_mode": "discrete", "wgrad_expert_stride": 10000, "wgrad_row_pitch": 136,
        "accumulate": True, "mma_tiler_mn": (128, 64), "cluster_shape_mn": (4, 1),
    }
    p = wgrad.Problem(**given)
    assert {name: getattr(p, name) for name in given} == given
    for name in given:
        assert name in wgrad.Problem.__doc__
    assert eval(repr(p), {"Problem": wgrad.Problem}) == p
    plain = problem()
    assert plain.scale_dtype is None and plain.cluster_shape_mn is None
    assert plain.mma_tiler_mn == (256, 256) and plain.acc_dtype == "float32"
    assert plain.sf_vec_size is None and eval(repr(plain), {"Problem": wgrad.Problem}) == plain


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"global_scale": True}, "global_scale is True; it must be False without a scale_dtype"),
        ({"sf_vec_size": 7}, "sf_vec_size is 7; it must be 32 or 16, the defaults, without a scale"),
        ({"scale_layout": "compact"}, "scale_layout is 'compact'; it must be 'swizzled'"),
    ],
)
def test_a_problem_without_scales_takes_nothing_about_them(given, text):
    with pytest.raises(ValueError, match=text):
        problem(**given)


@pytest.mark.parametrize("width", [7, 48])
@pytest.mark.parametrize("major", ["mn", "k"])
def test_strides_of_samples_count(width, major):
    """support(), check_support() and the call agree."""
    x, dy, offsets = tensors(width)
    if major == "k":  # 17 tokens: rows of 34 bytes
        x = np.ones((64, 17), ml_dtypes.bfloat16).T
        dy = np.ones((17, width), ml_dtypes.bfloat16)
    out = np.zeros((2, 64, 8 * ((width + 7) // 8)), np.float32)[:, :, :width]
    fits = width == 48 and major == "mn"
    answer = wgrad.support(x, dy, offsets, out=out)
    assert bool(answer) is fits
    operator = wgrad.GroupedGemmWgrad(x.T, dy, None, None, offsets, out)
    calls = (operator.check_support, lambda: wgrad.grouped_wgrad(x, dy, offsets, out))
    for call in calls:
        if fits:
            call()
            continue
        assert "leading dimension" in str(answer)
        with pytest.raises(ValueError, match="a multiple of 16 bytes: pad the contiguous axis"):
            call()


def test_every_argument_of_grouped_wgrad_may_be_asked_about():
    names = inspect.signature(wgrad.grouped_wgrad).parameters
    defaults = {name: p.default for name, p in names.items() if p.default is not p.empty}
    assert wgrad.support(*tensors(), **defaults)
    assert wgrad.support(*tensors(), stream=7, validate_device_data=True)
    del defaults["backend"]
    assert wgrad.explain(*tensors(), **defaults).candidates


def test_no_with_reasons():
    answer = wgrad.support(problem(n=43, acc_dtype="bfloat16"))
    assert not answer
    assert [r.rule for r in answer.reasons] == ["acc-dtype", "row-alignment"]
    first = answer.reasons[0]
    assert (first.field, first.got, first.need) == ("acc_dtype", "bfloat16", "float32")
    assert first.bad_argument and str(first) == "acc_dtype is bfloat16; it must be float32"
    assert "acc_dtype is bfloat16" in str(answer) and "a row of the output" in repr(answer)


def test_sample_tensors_speak_of_the_arguments():
    answer = wgrad.support(*tensors(width=43))
    fields = ["N (columns of dy)", "leading dimension of dy"]
    assert [r.field for r in answer.reasons] == fields


def test_sample_tensors_that_do_not_fit_raise():
    x, _, offsets = tensors()
    with pytest.raises(ValueError, match="dy is 4 tokens long; it must be as long as x: 16"):
        wgrad.support(x, np.ones((4, 48), ml_dtypes.bfloat16), offsets)
    with pytest.raises(ValueError, match="x is a Problem; it must be the only argument"):
        wgrad.support(problem(), x, offsets)


def test_another_device_by_hand():
    gpu = wgrad.DeviceSpec(kind="cuda", name="a small GPU", arch=80, sm_count=40)
    answer = wgrad.support(problem(), device=gpu)
    assert not answer and not any(r.bad_argument for r in answer.reasons)
    assert not wgrad.support(*tensors(), device=gpu)
    with pytest.raises(ValueError, match="kind is 'tpu'; it must be 'cpu' or 'cuda'"):
        wgrad.DeviceSpec(kind="tpu")


@pytest.mark.parametrize("arch", [100, 103])
def test_kernels_that_never_ran_on_such_a_gpu_are_asked_for(arch):
    given = {"kind": "cuda", "name": "a GPU", "arch": arch, "sm_count": 148, "smem_bytes": 232448}
    gpu = wgrad.DeviceSpec(**given)
    refused = wgrad.support(*tensors(), device=gpu, backend="cuda")
    assert not refused and [r.rule for r in refused.reasons] == ["unverified"]
    assert "allow_unverified=True or WGRAD_ALLOW_UNVERIFIED=1" in str(refused)
    assert not wgrad.support(*tensors(), device=gpu, backend="cuda", allow_unverified=False)
    assert wgrad.support(*tensors(), device=gpu, backend="cuda", allow_unverified=True)
    asked = wgrad.DeviceSpec(**given, allow_unverified=True)
    assert wgrad.support(problem(), device=asked, backend="cuda")
    with pytest.raises(ValueError, match="allow_unverified is 1; it must be True or False"):
        wgrad.support(*tensors(), device=gpu, allow_unverified=1)


def test_every_front_end_asks_for_kernels_that_never_ran():
    x, dy, offsets = tensors()
    assert wgrad.grouped_wgrad(x, dy, offsets, allow_unverified=True).shape == (2, 64, 48)
    operands = {"a_tensor": x.T, "b_tensor": dy, "sfa_tensor": None, "sfb_tensor": None}
    made = wgrad.grouped_gemm_wgrad_wrapper_sm100(
        **operands, offsets_tensor=offsets, allow_unverified=True
    )
    assert made["wgrad_tensor"].shape == (2, 64, 48)
    operator = wgrad.GroupedGemmWgradSm100(
        x.T, dy, None, None, offsets, made["wgrad_tensor"], allow_unverified=True
    )
    assert operator.check_support()
    for options in (NATURAL, WRAPPER, OPERATOR):
        assert any(use.name == "allow_unverified" for use in options.uses.values())


def test_part_of_a_device_by_hand():
    gpu = {"kind": "cuda", "name": "an H200", "arch": 90, "sm_count": 132, "smem_bytes": 232448}
    part = wgrad.DeviceSpec(**gpu, sm_limit=9)
    assert part != wgrad.DeviceSpec(**gpu) and "132 SMs, at most 9 a launch" in repr(part)
    large = problem(m=4096, n=4096)
    whole = wgrad.DeviceSpec(**gpu)
    assert ", grid 4, " in wgrad.explain(*tensors(), device=whole, sm_limit=4).candidates[0].plan
    with pytest.raises(ValueError, match="sm_limit is 4; it must be None: the operands are on a CPU"):
        wgrad.explain(*tensors(), sm_limit=4)
    assert ", grid 9, " in wgrad.explain(large, device=part).candidates[0].plan
    assert ", grid 132, " in wgrad.explain(large, device=whole).candidates[0].plan
    limited = wgrad.support(problem(), device=wgrad.DeviceSpec(kind="cpu", threads=2, sm_limit=3))
    assert "sm_limit is 3; it must be 0: the device is a CPU" in str(limited)


def test_a_named_backend():
    cpu = wgrad.devices()[0]
    assert wgrad.support(problem(), device=cpu, backend="reference")
    answer = wgrad.support(problem(), device=cpu, backend="abacus")
    assert not answer and answer.reasons[0].field == "backend"
    gpu = wgrad.DeviceSpec(kind="cuda", name="a GPU", arch=90)
    assert not wgrad.support(problem(), device=gpu, backend="reference")


def test_explain_names_the_plan_and_what_has_no_effect():
    explanation = wgrad.explain(problem(mma_tiler_mn=(128, 128)), device=wgrad.devices()[0])
    chosen = explanation.candidates[0]
    assert chosen.backend and chosen.plan and chosen.reasons == []
    assert explanation.notes == ["mma_tiler_mn and cluster_shape_mn have no effect on a CPU"]
    assert chosen.plan in str(explanation) and "no effect" in str(explanation)
    refused = wgrad.explain(problem(n=43))
    assert refused.candidates[0].reasons[0].rule == "row-alignment"
    assert wgrad.explain(*tensors()).candidates
    explained = wgrad.explain(*tensors(width=43))
    assert explained.candidates[0].reasons[0].field == "N (columns of dy)"


def test_devices_begin_with_the_cpu():
    devices = wgrad.devices()
    assert devices[0].kind == "cpu" and devices[0].threads >= 1 and devices[0].name
    assert all(d.kind == "cuda" for d in devices[1:])
    assert devices[0] == wgrad.devices()[0] and "cpu" in repr(devices[0])


def test_problem_reads_back_what_was_given():
    p = problem(
        a_dtype="float8_e4m3fn",
        a_major="k",
        b_major="mn",
        scale_dtype="float8_e8m0fnu",
        input_order="tensor_ragged",
        output_mode="discrete",
        wgrad_dtype="float32",
        accumulate=True,
    )
    assert (p.experts, p.m, p.n, p.tokens) == (4, 64, 48, 256)
    assert (p.a_dtype, p.b_dtype, p.wgrad_dtype) == ("float8_e4m3fn",) * 2 + ("float32",)
    assert (p.a_major, p.b_major, p.input_order) == ("k", "mn", "tensor_ragged")
    assert (p.output_mode, p.format, p.accumulate) == ("discrete", "mxfp8", True)
    assert p != problem() and problem() == problem() and problem().format == "16-bit"
    assert repr(p).startswith("Problem(experts=4, m=64") and "tensor_ragged" in repr(p)
    for field, value in {"a_dtype": "int8", "a_major": "n", "output_mode": "both"}.items():
        with pytest.raises(ValueError, match=f"{field} is "):
            problem(**{field: value})


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: wgrad.support(experts=2**70, m=8, n=8, tokens=8), "the problem is {'experts': 11"),
        (lambda: wgrad.support(experts=1.5, m=8, n=8, tokens=8), "the problem is {'experts': 1.5"),
        (lambda: wgrad.support(experts=1), "it must be described by the fields of Problem"),
        (lambda: wgrad.support(experts=1, m=8, n=8, tokens=8, k=1), "it must be described by the"),
        (lambda: wgrad.support(problem(), device="cpu"), "device is 'cpu'; it must be a DeviceSpec"),
        (lambda: wgrad.explain(problem(), device=0), "device is 0; it must be a DeviceSpec"),
        (lambda: wgrad.support(*tensors(), device="cpu"), "device is 'cpu'; it must be a Device"),
        (lambda: wgrad.support(problem(), backend=3), "backend is 3; it must be None or the name"),
        (lambda: wgrad.support(problem(), backend="\ud800"), "backend is '\\ud800'; it must be None"),
        (lambda: wgrad.grouped_wgrad(*tensors(), backend=3), "backend is 3; it must be None or"),
        (lambda: wgrad.explain(*tensors(), backend="cpu"), "backend is 'cpu'; it must be left out"),
        (lambda: wgrad.explain(problem(), backend="cpu"), "backend is 'cpu'; it must be left out"),
        (lambda: wgrad.support(*tensors(), tokens=3), "tokens is given; it must be left out"),
        (lambda: wgrad.explain(*tensors(), k=3), "k is given; it must be left out: grouped_wgrad"),
    ],
)
def test_hostile_arguments_are_refused_by_name(call, text):
    with pytest.raises(wgrad.ValueError, match=re.escape(text)):
        call()
