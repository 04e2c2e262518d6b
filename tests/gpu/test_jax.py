"""wgrad.jax on a GPU: the bits of the C++ call, eagerly, under jit, donated, differentiated, in graphs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import wgrad

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch needs memory too
jax = pytest.importorskip("jax", reason="jax is not installed")
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import gpu_case  # noqa: E402
import wgrad.jax  # noqa: E402

try:
    GPU = jax.devices("gpu")[0]
except RuntimeError:
    GPU = None
if GPU is None and os.environ.get("WGRAD_REQUIRE_JAX") == "1":
    raise RuntimeError("WGRAD_REQUIRE_JAX=1, but jax sees no GPU")
pytestmark = pytest.mark.skipif(GPU is None, reason="jax sees no GPU")

COUNTS = [130, 0, 1, 700, 257]


@pytest.fixture(scope="module")
def case():
    return gpu_case.make(COUNTS, 512, 384, slack=3)


def arrays(case):
    """x, dy and offsets as JAX arrays on the GPU."""
    x, dy = (jax.device_put(t.float().cpu().numpy(), GPU) for t in (case.x, case.dy))
    ends = jax.device_put(case.offsets.cpu().numpy(), GPU)
    return x.astype(jnp.bfloat16), dy.astype(jnp.bfloat16), ends


def by_cpp(case, dtype, start=None):
    """What the C++ call writes, as integers of the elements' size."""
    out = case.output(dtype) if start is None else torch.full_like(case.output(dtype), start)
    wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out, accumulate=start is not None)
    integers = torch.int32 if out.element_size() == 4 else torch.int16
    return out.view(integers).cpu().numpy()


def bits(array):
    array = np.asarray(array)
    return array.view(f"i{array.dtype.itemsize}")


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_bits_are_the_cpp_calls(case, name, wrap):
    call = wrap(lambda *given: wgrad.jax.grouped_wgrad(*given, out_dtype=name))
    np.testing.assert_array_equal(bits(call(*arrays(case))), by_cpp(case, getattr(torch, name)))


def test_a_donated_output_is_updated_in_place(case):
    def step(x, dy, ends, out):
        return wgrad.jax.grouped_wgrad(x, dy, ends, out, accumulate=True)

    out = jax.device_put(jnp.full((5, 512, 384), 3, jnp.float32), GPU)
    given = arrays(case)
    jitted = jax.jit(step, donate_argnums=3)
    compiled = jitted.lower(*given, out).compile()
    assert compiled.memory_analysis().alias_size_in_bytes == out.nbytes
    assert " copy(" not in compiled.as_text()
    address = out.unsafe_buffer_pointer()
    result = jitted(*given, out)
    assert result.unsafe_buffer_pointer() == address
    np.testing.assert_array_equal(bits(result), by_cpp(case, torch.float32, 3))


def test_the_gradient_of_ragged_dot(case):
    x, dy, ends = arrays(case)
    x, dy = (jnp.nan_to_num(each) for each in (x, dy))  # the forward pass reads all rows
    sizes = jnp.diff(ends, prepend=jnp.zeros(1, ends.dtype))
    rhs = jnp.ones((5, 512, 384), jnp.bfloat16)

    @jax.jit
    def gradient(rhs):
        return jax.grad(lambda rhs: (wgrad.jax.ragged_dot(x, rhs, sizes) * dy).sum())(rhs)

    np.testing.assert_array_equal(bits(gradient(rhs)), by_cpp(case, torch.bfloat16))


def test_results_go_through_addresses(case):
    x, dy, ends = arrays(case)
    tokens = x.shape[0] // 8 * 8  # rows of a K-major A are multiples of 16 bytes
    a, b = x[:tokens].T, dy[:tokens]
    outs = [torch.full((512, 384), float("nan"), device="cuda") for _ in COUNTS]
    table = np.array([out.data_ptr() for out in outs], np.int64).view(np.uint8)
    torch.cuda.synchronize()
    ends = jnp.minimum(ends, tokens)
    call = jax.jit(lambda *g: wgrad.grouped_gemm_wgrad_jax_sm100(*g, wgrad_dtype="float32"))
    jax.block_until_ready(call(a, b, ends, jax.device_put(table, GPU)))
    expected = wgrad.jax.grouped_wgrad(x, dy, ends, out_dtype="float32")
    for out, want in zip(outs, expected):
        np.testing.assert_array_equal(out.cpu().numpy(), np.asarray(want))


def test_faults_in_device_data_are_told(case):
    x, dy, ends = arrays(case)
    wgrad.jax.clear_device_fault()
    bad = ends.at[2].set(5)
    jax.block_until_ready(wgrad.jax.grouped_wgrad(x, dy, bad))
    assert wgrad.jax.device_fault()[:2] == ("offsets decrease", 2)
    wgrad.jax.clear_device_fault()
    assert wgrad.jax.device_fault() is None


@pytest.mark.parametrize("format,vec", [("mxfp8", 32), ("mxfp4", 32), ("nvfp4", 16)])
def test_block_scaled_operands(format, vec):
    """A dense output, as the oracle has it of the same bytes; FP8 also as torch tensors give it."""
    random, counts = np.random.default_rng(4), [64, 0, 128, 320]
    ends = np.cumsum(counts, dtype=np.int32)
    x, dy = (random.normal(size=(512, width)).astype(np.float32) for width in (256, 128))
    quantized = [wgrad.quantize(each, ends, format) for each in (x, dy)]
    elements = [np.asarray(q.elements) for q in quantized]  # (T or T / 2, rows), K-major
    b = elements[1] if format == "mxfp8" else elements[1].T
    optional = {}
    if format == "nvfp4":
        scales = [jnp.asarray(np.asarray(q.global_scale)) for q in quantized]
        optional = dict(zip(("global_scale_a", "global_scale_b"), scales))
    call = jax.jit(
        lambda a, b, ends, sfa, sfb, optional: wgrad.grouped_gemm_wgrad_jax_sm100(
            *(a, b, ends), sfa_tensor=sfa, sfb_tensor=sfb, sf_vec_size=vec, wgrad_dtype="float32",
            **optional,
        )
    )
    arrays = [jax.device_put(np.ascontiguousarray(each), GPU) for each in (elements[0].T, b, ends)]
    got = call(*arrays, *(jnp.asarray(np.asarray(q.scales)) for q in quantized), optional)[0]
    expected = wgrad.grouped_wgrad(*quantized, ends, out_dtype="float32", backend="reference")
    worst = np.abs(np.asarray(got) - expected).max() / np.abs(expected).max()
    assert worst < 1e-5, worst
    assert not np.asarray(got)[1].any(), "an expert without tokens"


def test_what_no_gpu_computes_is_refused_in_words():
    """FP8 rows that are no whole 16 bytes, MN-major."""
    a, b = jnp.zeros((128, 64), jnp.float8_e4m3fn), jnp.zeros((64, 136), jnp.float8_e4m3fn)
    sfa, sfb, ends = jnp.zeros((128, 4), jnp.uint8), jnp.zeros((256, 4), jnp.uint8), jnp.array([64], jnp.int32)
    with pytest.raises((wgrad.RuntimeError, wgrad.ValueError), match="it must be"):
        wgrad.grouped_gemm_wgrad_jax_sm100(a, b, ends, sfa_tensor=sfa, sfb_tensor=sfb)


def test_new_offsets_are_followed_in_the_graphs_that_xla_makes():
    """In a process of its own, whose XLA makes a graph of any sequence of launches."""
    flags = "--xla_gpu_graph_min_graph_size=1"
    environment = {**os.environ, "XLA_FLAGS": flags, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    program = Path(__file__).with_name("jax_graph.py")
    ran = subprocess.run(
        [sys.executable, str(program), "--required"], env=environment, capture_output=True, text=True, timeout=300
    )
    print(ran.stdout)
    assert ran.returncode == 0, ran.stdout + ran.stderr
