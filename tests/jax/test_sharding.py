"""Divided by jit's own partitioners, and by shard_map: the same bits, no operand gathered."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import wgrad.jax
from cases import bits, case, weights
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

COLLECTIVES = r"all-gather|all-to-all|collective-permute|dynamic-slice"
DIVISIONS = {
    "tokens": (P("d"), P("d"), P()),
    "tokens by both axes": (P(("d", "f")), P(("d", "f")), P()),
    "features of both": (P(None, "d"), P(None, "f"), P(None, "d", "f")),
    "tokens and M": (P("d", "f"), P("d"), P(None, "f")),
    "tokens and N": (P("d"), P("d", "f"), P(None, None, "f")),
    "N alone": (P(), P(None, "f"), P(None, None, "f")),
}


def mesh(*sizes, names):
    auto = (jax.sharding.AxisType.Auto,) * len(sizes)
    return jax.make_mesh(sizes, names, axis_types=auto)


def placed(arrays, on, specs):
    return [jax.device_put(a, NamedSharding(on, spec)) for a, spec in zip(arrays, specs)]


@pytest.mark.parametrize("x,dy,out", DIVISIONS.values(), ids=DIVISIONS)
@pytest.mark.parametrize("adds", [False, True], ids=["overwrite", "accumulate"])
def test_jit_follows_the_operands_and_gathers_none(x, dy, out, adds):
    c = case([40, 1, 0, 37], m=64, n=128)
    c.x[-2:], c.dy[-2:] = 1, 1  # rows past the last end, for JAX's own sums too
    main_grad = weights(c, "float32")
    arrays = placed((c.x, c.dy, c.ends, main_grad), mesh(4, 2, names=("d", "f")), (x, dy, P(), out))

    def function(x, dy, ends, main_grad):
        return wgrad.jax.grouped_wgrad(x, dy, ends, main_grad, accumulate=adds)

    compiled = jax.jit(function).lower(*arrays).compile()
    assert not re.findall(COLLECTIVES, compiled.as_text())
    assert ("all-reduce" in compiled.as_text()) == ("d" in str(x[0] if x else None))
    expected = c.by_cpp("float32", main_grad) if adds else c.by_cpp("float32")
    result = jax.jit(function)(*arrays)
    np.testing.assert_array_equal(bits(result), expected)
    assert result.sharding.is_equivalent_to(NamedSharding(arrays[0].sharding.mesh, out), 3)


def test_an_eager_call_of_divided_arrays_is_divided_too():
    c = case([40, 1, 0, 39], m=64, n=128, tail=0)
    arrays = placed((c.x, c.dy, c.ends), mesh(8, names=("d",)), (P(None, "d"), P(), P()))
    result = wgrad.jax.grouped_wgrad(*arrays)
    assert result.sharding.spec == P(None, "d")
    np.testing.assert_array_equal(bits(result), c.by_cpp("bfloat16"))


def test_parts_whose_rows_would_not_be_aligned_stay_whole():
    c = case(m=32, n=48, tail=0)
    arrays = placed((c.x, c.dy, c.ends), mesh(8, names=("d",)), (P(None, "d"), P(), P()))
    np.testing.assert_array_equal(bits(wgrad.jax.grouped_wgrad(*arrays)), c.by_cpp("bfloat16"))


@pytest.mark.parametrize("counted", [True, False], ids=["vma checked", "unchecked"])
def test_shard_map_over_experts(counted):
    cases = [case(seed=seed) for seed in range(8)]
    together = [np.concatenate(each) for each in zip(*((c.x, c.dy, c.ends) for c in cases))]
    on = mesh(8, names=("e",))
    function = jax.shard_map(
        wgrad.jax.grouped_wgrad, mesh=on, in_specs=P("e"), out_specs=P("e"), check_vma=counted
    )
    result = jax.jit(function)(*placed(together, on, [P("e")] * 3))
    expected = np.concatenate([c.by_cpp("bfloat16") for c in cases])
    np.testing.assert_array_equal(bits(result), expected)


@pytest.mark.parametrize("counted", [True, False], ids=["vma checked", "unchecked"])
def test_shard_map_over_data(counted):
    c = case([40, 1, 0, 39], tail=0)
    on = mesh(8, names=("d",))

    def function(x, dy, ends):
        rows = x.shape[0]
        ends = jnp.clip(ends - jax.lax.axis_index("d") * rows, 0, rows)
        return jax.lax.psum(wgrad.jax.grouped_wgrad(x, dy, ends, out_dtype="float32"), "d")

    specs = (P("d"), P("d"), P())
    divided = jax.shard_map(function, mesh=on, in_specs=specs, out_specs=P(), check_vma=counted)
    result = jax.jit(divided)(*placed((c.x, c.dy, c.ends), on, specs))
    np.testing.assert_array_equal(bits(result), c.by_cpp("float32"))


def test_the_gradient_of_ragged_dot_within_shard_map():
    cases = [case(seed=seed, tail=0) for seed in range(8)]
    on = mesh(8, names=("e",))
    sizes = np.concatenate([np.diff(c.ends, prepend=0) for c in cases])
    rhs = np.concatenate([weights(c, "bfloat16", seed) for seed, c in enumerate(cases)])
    lhs, dy = (np.concatenate(each) for each in zip(*((c.x, c.dy) for c in cases)))

    def loss(rhs, lhs, sizes, dy):
        result = wgrad.jax.ragged_dot(lhs, rhs, sizes) * dy
        return jax.lax.psum(result.astype(jnp.float32).sum(), "e")

    divided = jax.shard_map(loss, mesh=on, in_specs=P("e"), out_specs=P())
    drhs = jax.jit(jax.grad(divided))(*placed((rhs, lhs, sizes, dy), on, [P("e")] * 4))
    expected = np.concatenate([c.by_cpp("bfloat16") for c in cases])
    np.testing.assert_array_equal(bits(drhs), expected)
