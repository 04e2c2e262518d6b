"""What the names kept from cuDNN Frontend refuse of JAX arrays, and in what words."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import wgrad


def given(**changes):
    arrays = {
        "a_tensor": jnp.zeros((16, 8), jnp.bfloat16),
        "b_tensor": jnp.zeros((8, 24), jnp.bfloat16),
        "offsets_tensor": jnp.array([3, 8], jnp.int32),
    }
    return arrays | changes


STATIC = {
    "tokens": ({"b_tensor": jnp.zeros((16, 24), jnp.bfloat16)}, "b_tensor is 16 tokens long"),
    "rank": ({"a_tensor": jnp.zeros(8, jnp.bfloat16)}, r"a_tensor is of shape \(8,\)"),
    "dtype": ({"a_tensor": jnp.zeros((16, 8), jnp.int32)}, "a_tensor is int32"),
    "token rows": (
        {"a_tensor": jnp.zeros((16, 9), jnp.bfloat16), "b_tensor": jnp.zeros((9, 24), jnp.bfloat16)},
        "leading dimension of a_tensor",
    ),
    "vector size": ({"sf_vec_size": 64}, "sf_vec_size is 64"),
    "scales of bf16": (
        {"sfa_tensor": jnp.zeros((128, 4), jnp.uint8)},
        "sfa_tensor is given; it must be None: BF16 forbids scale control",
    ),
    "no scales": (
        {"a_tensor": jnp.zeros((16, 4), jnp.uint8), "b_tensor": jnp.zeros((24, 4), jnp.uint8)},
        "sfa_tensor is None",
    ),
    "order": ({"input_order": "tensor3d"}, "input_order"),
    "output's dtype": ({"wgrad_dtype": jnp.int32}, "wgrad_dtype is int32"),
    "accumulation": ({"acc_dtype": jnp.bfloat16}, "acc_dtype is bfloat16"),
    "addresses in int32": (
        {"wgrad_ptrs": jnp.zeros(2, jnp.int32)},
        "wgrad_ptrs is int32; it must be int64, which takes jax_enable_x64, or uint8",
    ),
    "too few bytes": (
        {"wgrad_ptrs": jnp.zeros(8, jnp.uint8)},
        r"wgrad_ptrs is of shape \(8,\) in uint8; it must be \(16,\) or \(2, 8\)",
    ),
}


@pytest.mark.parametrize("changes,words", STATIC.values(), ids=STATIC)
def test_static_faults_are_refused_under_tracing_in_the_eager_words(changes, words):
    call = wgrad.grouped_gemm_wgrad_jax_sm100
    with pytest.raises(wgrad.ValueError, match=words) as eager:
        call(**given(**changes))
    tensors = {k: v for k, v in given(**changes).items() if isinstance(v, jax.Array)}
    others = {k: v for k, v in changes.items() if k not in tensors}
    with pytest.raises(wgrad.ValueError) as traced:
        jax.jit(lambda tensors: call(**tensors, **others))(tensors)
    assert str(traced.value) == str(eager.value)


@pytest.mark.parametrize("addresses,words", [([0, 0], "null"), ([8, 24], "align")])
def test_addresses_are_refused_when_a_cpu_runs(addresses, words):
    table = jnp.asarray(np.array(addresses, np.int64).view(np.uint8))
    with pytest.raises(Exception, match=words):
        jax.block_until_ready(wgrad.grouped_gemm_wgrad_jax_sm100(**given(wgrad_ptrs=table)))


def test_operands_of_fp4_by_columns_are_refused_by_the_wrapper():
    """The reference's B is (T/2, N) with strides (1, T/2), which no JAX array has."""
    a, b = jnp.zeros((16, 16), jnp.uint8), jnp.zeros((16, 32), jnp.uint8)
    scales = jnp.zeros((128, 4), jnp.uint8)
    with pytest.raises(wgrad.ValueError, match="b_tensor is MN-major; it must be K-major"):
        wgrad.grouped_gemm_wgrad_wrapper_sm100(
            *(a, b, scales, scales, jnp.array([32], jnp.int32)), sf_vec_size=32
        )


def immutable(name):
    output = jnp.zeros((2, 16, 24), jnp.bfloat16)
    g = given()
    a, b, ends = g["a_tensor"], g["b_tensor"], g["offsets_tensor"]
    host = [np.asarray(each) for each in (a.T, b, ends)]
    operator = wgrad.GroupedGemmWgrad(a, b, None, None, ends, sample_wgrad=output)
    operator.compile()
    calls = {
        "grouped_wgrad": lambda: wgrad.grouped_wgrad(a.T, b, ends, output),
        "of numpy arrays": lambda: wgrad.grouped_wgrad(*host, output),
        "in a list": lambda: wgrad.grouped_wgrad(*host, list(output)),
        "wrapper": lambda: wgrad.grouped_gemm_wgrad_wrapper_sm100(
            a, b, None, None, ends, wgrad_tensor=output
        ),
        "execute": lambda: operator.execute(a, b, None, None, ends, output),
        "table of addresses": lambda: wgrad.wgrad_expert_ptrs(output),
    }
    return output, calls[name]


@pytest.mark.parametrize(
    "name",
    ["grouped_wgrad", "of numpy arrays", "in a list", "wrapper", "execute", "table of addresses"],
)
def test_arrays_that_nobody_may_write_are_refused_as_outputs(name):
    output, call = immutable(name)
    with pytest.raises(wgrad.ValueError, match="read-only|JAX arrays cannot be written"):
        call()
    assert not output.any()


def test_streams_and_workspaces_are_xlas():
    g = given()
    arrays = (g["a_tensor"], g["b_tensor"], None, None, g["offsets_tensor"])
    for name, value in (("current_stream", 0), ("descriptor_workspace", jnp.zeros(8, jnp.uint8))):
        with pytest.raises(wgrad.ValueError, match=f"{name} is .*None with JAX arrays"):
            wgrad.grouped_gemm_wgrad_wrapper_sm100(*arrays, **{name: value})


def test_another_contract_than_the_compiled_one_is_refused():
    g = given()
    operator = wgrad.GroupedGemmWgrad(
        *(g["a_tensor"], g["b_tensor"], None, None, g["offsets_tensor"]),
        sample_wgrad=jnp.zeros((2, 16, 24), jnp.bfloat16),
    )
    with pytest.raises(wgrad.RuntimeError, match="call compile"):
        operator.execute(g["a_tensor"], g["b_tensor"], None, None, g["offsets_tensor"])
    operator.compile()
    half = [g[name].astype(jnp.float16) for name in ("a_tensor", "b_tensor")]
    with pytest.raises(wgrad.ValueError, match="a_tensor is float16; it must be bfloat16, as compiled"):
        operator.execute(*half, None, None, g["offsets_tensor"])
    with pytest.raises(wgrad.ValueError, match="offsets_tensor is of shape"):
        operator.execute(
            g["a_tensor"], g["b_tensor"], None, None, jnp.array([1, 2, 8], jnp.int32)
        )
