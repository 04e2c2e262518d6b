"""Tensors that have elements and no memory (F119), and settings of the calling thread (F129)."""

from __future__ import annotations

import ctypes
import platform

import numpy as np
import pytest

import wgrad

torch = pytest.importorskip("torch")

T, M, N = 64, 32, 16


def fake(tensor):
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode().from_tensor(tensor)


def freed(tensor):
    tensor = tensor.clone()
    tensor.untyped_storage().resize_(0)
    return tensor


def freed_view(tensor):
    """Its address is an offset: not null, and no memory."""
    both = torch.cat([tensor, tensor])
    view = both[tensor.shape[0] :]
    both.untyped_storage().resize_(0)
    return view


KINDS = {"fake": fake, "functional": torch._to_functional_tensor, "freed": freed, "view": freed_view}
X = torch.ones(T, M, dtype=torch.bfloat16)
DY = torch.ones(T, N, dtype=torch.bfloat16)
ENDS = torch.tensor([24, T], dtype=torch.int32)
OUT = torch.zeros(2, M, N, dtype=torch.bfloat16)
PTRS = wgrad.wgrad_expert_ptrs(OUT)
Q = wgrad.quantize(X.float(), ENDS)
COMPACT = wgrad.quantize(X.float(), ENDS, compact=True)
NV = wgrad.quantize(X.float(), ENDS, "nvfp4")
SCRATCH = torch.zeros(4096, dtype=torch.uint8)


def scaled(**changes):
    named = {"x_scale": Q.scales, "dy_scale": Q.scales, **changes}
    return wgrad.grouped_wgrad(Q.elements, Q.elements, ENDS, sf_vec_size=32, **named)


def with_global(**changes):
    scales = {"x_scale": NV.scales, "dy_scale": NV.scales}
    named = {"x_global_scale": NV.global_scale, "dy_global_scale": NV.global_scale, **changes}
    return wgrad.grouped_wgrad(NV.elements, NV.elements, ENDS, **scales, **named)


def wrapper(a=X.T, b=DY, ends=ENDS, **named):
    return wgrad.grouped_gemm_wgrad_wrapper_sm100(a, b, None, None, ends, **named)


def executed(**changes):
    operator = wgrad.GroupedGemmWgrad(X.T, DY, None, None, ENDS, OUT)
    operator.compile()
    named = {"a_tensor": X.T, "b_tensor": DY, "offsets_tensor": ENDS, "wgrad_tensor": OUT, **changes}
    return operator.execute(sfa_tensor=None, sfb_tensor=None, **named)


CALLS = {
    "x": (X, lambda t: wgrad.grouped_wgrad(t, DY, ENDS)),
    "dy": (DY, lambda t: wgrad.grouped_wgrad(X, t, ENDS)),
    "offsets": (ENDS, lambda t: wgrad.grouped_wgrad(X, DY, t)),
    "out": (OUT, lambda t: wgrad.grouped_wgrad(X, DY, ENDS, t)),
    "out[1]": (OUT[1], lambda t: wgrad.grouped_wgrad(X, DY, ENDS, [OUT[0].clone(), t])),
    "workspace": (SCRATCH, lambda t: wgrad.grouped_wgrad(X, DY, ENDS, workspace=t)),
    "x_scale": (Q.scales, lambda t: scaled(x_scale=t)),
    "dy_scale": (Q.scales, lambda t: scaled(dy_scale=t)),
    "x_global_scale": (NV.global_scale, lambda t: with_global(x_global_scale=t)),
    "dy_global_scale": (NV.global_scale, lambda t: with_global(dy_global_scale=t)),
    "x of quantize": (X.float(), lambda t: wgrad.quantize(t, ENDS)),
    "x of quantize in 16 bits": (X, lambda t: wgrad.quantize(t, ENDS)),
    "offsets of quantize": (ENDS, lambda t: wgrad.quantize(X.float(), t)),
    "scales of swizzle_scales": (COMPACT.scales, lambda t: wgrad.swizzle_scales(t, ENDS, 32)),
    "offsets of swizzle_scales": (ENDS, lambda t: wgrad.swizzle_scales(COMPACT.scales, t, 32)),
    "scales of unswizzle_scales": (Q.scales, lambda t: wgrad.unswizzle_scales(t, M, ENDS, 32)),
    "offsets of unswizzle_scales": (ENDS, lambda t: wgrad.unswizzle_scales(Q.scales, M, t, 32)),
    "wgrad_tensor of wgrad_expert_ptrs": (OUT, wgrad.wgrad_expert_ptrs),
    "a_tensor": (X.T, lambda t: wrapper(a=t)),
    "b_tensor": (DY, lambda t: wrapper(b=t)),
    "offsets_tensor": (ENDS, lambda t: wrapper(ends=t)),
    "wgrad_tensor": (OUT, lambda t: wrapper(wgrad_tensor=t)),
    "wgrad_ptrs": (PTRS, lambda t: wrapper(output_mode="discrete", wgrad_ptrs=t)),
    "descriptor_workspace": (SCRATCH, lambda t: wrapper(descriptor_workspace=t)),
    "a_tensor of execute": (X.T, lambda t: executed(a_tensor=t)),
    "offsets_tensor of execute": (ENDS, lambda t: executed(offsets_tensor=t)),
    "wgrad_tensor of execute": (OUT, lambda t: executed(wgrad_tensor=t)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("argument", CALLS)
def test_f119_a_tensor_without_memory_is_refused_by_name(argument, kind):
    tensor, call = CALLS[argument]
    call(tensor)  # which is right with its memory
    lost = KINDS[kind](tensor)
    with pytest.raises(ValueError) as caught:
        call(lost)
    name = argument.split(" of ")[0]
    got = "(a FakeTensor" if kind == "fake" else "(a Tensor"
    text = f"wgrad: {name} is null {got} without memory: fake, functional or freed)"
    assert str(caught.value).startswith(text), caught.value


def test_f119_a_tensor_of_no_element_needs_none():
    empty = freed(X)[:0]
    got = wgrad.grouped_wgrad(empty, DY[:0], torch.zeros(2, dtype=torch.int32))
    assert not got.any()


_libm = ctypes.CDLL("libm.so.6")
UPWARDS = 0x800  # FE_UPWARD of x86


@pytest.fixture(params=["flush to zero", "round upwards"])
def strange_thread(request):
    """What another library may have set on this thread; undone afterwards."""
    if platform.machine() != "x86_64":
        pytest.skip("the rounding modes' numbers are x86's")
    if request.param == "flush to zero":
        torch.set_flush_denormal(True)
    else:
        assert _libm.fesetround(UPWARDS) == 0
    yield request.param
    torch.set_flush_denormal(False)
    _libm.fesetround(0)


RNG = np.random.default_rng(5)
HALVES = RNG.standard_normal((T, M)).astype(np.float16)
HALVES[:, 0] = np.float16(6e-8)
TINY = RNG.standard_normal((T, M)) * 1e-39
SOURCES = (HALVES, TINY, TINY.astype(np.float32))


def computes(backend):
    """Whether this build has `backend`."""
    try:
        wgrad.grouped_wgrad(HALVES, HALVES, ENDS.numpy(), backend=backend)
    except wgrad.ValueError:
        return False
    return True


def results():
    """The bytes of everything that computes, of data whose results round and are subnormal."""
    ends = ENDS.numpy()
    backends = [backend for backend in ("cpu", "reference") if computes(backend)]
    arrays = [
        wgrad.grouped_wgrad(HALVES, HALVES, ends, out_dtype=dtype, backend=backend)
        for dtype in ("float32", "float16")
        for backend in backends
    ]
    for source in SOURCES:
        for format in ("mxfp8", "mxfp4", "nvfp4"):
            q = wgrad.quantize(source, ends, format)
            arrays += [q.elements, q.scales, q.global_scale, wgrad.grouped_wgrad(q, q, ends)]
    return [np.ascontiguousarray(a).tobytes() for a in arrays if a is not None]


@pytest.fixture(scope="module")
def expected():
    """On a thread as it is usual."""
    return results()


def test_f129_bits_do_not_follow_the_threads_float_environment(expected, strange_thread):
    assert results() == expected
