"""A jitted step goes through jax.export and back; wgrad imports without jax."""

from __future__ import annotations

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import wgrad.jax
from cases import bits, case, weights

KNOWN = [jax.export.DisabledSafetyCheck.custom_call("wgrad_grouped_wgrad")]


def step(x, dy, ends, main_grad):
    return wgrad.jax.grouped_wgrad(x, dy, ends, main_grad, accumulate=True)


def test_a_step_survives_export():
    c = case()
    main_grad = weights(c, "float32")
    arrays = (*c.arrays, jnp.asarray(main_grad))
    exported = jax.export.export(jax.jit(step), disabled_checks=KNOWN)(*arrays)
    again = jax.export.deserialize(bytearray(exported.serialize()))
    np.testing.assert_array_equal(bits(again.call(*arrays)), c.by_cpp("float32", main_grad))


def test_an_exported_step_runs_in_another_process(tmp_path):
    c = case()
    arrays = (*c.arrays, jnp.asarray(weights(c, "float32")))
    exported = jax.export.export(jax.jit(step), disabled_checks=KNOWN)(*arrays)
    (tmp_path / "step").write_bytes(exported.serialize())
    program = """
import sys, jax, jax.numpy as jnp, wgrad.jax
step = jax.export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
print(step.call(*(jnp.ones(a.shape, a.dtype) for a in step.in_avals)).sum())
"""
    command = [sys.executable, "-c", program, str(tmp_path / "step")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    # Every end is 1, so the first expert has one token of ones, added to ones.
    assert float(ran.stdout) == 64 * 48 * 2 + 3 * 64 * 48


TOKENS, OTHERS, WIDTH = jax.export.symbolic_shape("T, U, W")


def shapes(x, dy, experts=4, out=True):
    """What export is told of step()'s arrays."""
    described = [
        jax.ShapeDtypeStruct((*x,), jnp.bfloat16),
        jax.ShapeDtypeStruct((*dy,), jnp.bfloat16),
        jax.ShapeDtypeStruct((experts,), jnp.int32),
    ]
    return described + [jax.ShapeDtypeStruct((4, 64, 48), jnp.float32)] * out


@pytest.mark.parametrize("tokens", [TOKENS, 2 * TOKENS], ids=str)
def test_any_number_of_tokens_runs_what_was_exported_with_a_symbolic_one(tokens):
    exported = jax.export.export(jax.jit(step), disabled_checks=KNOWN)(
        *shapes((tokens, 64), (tokens, 48))
    )
    again = jax.export.deserialize(bytearray(exported.serialize()))
    for counts in ([37, 1, 0, 90], [0, 0, 0, 0], [0, 3, 1, 0]):
        c = case(counts)
        main_grad = weights(c, "float32")
        got = again.call(*c.arrays, jnp.asarray(main_grad))
        np.testing.assert_array_equal(bits(got), c.by_cpp("float32", main_grad))


def test_a_gradient_of_symbolic_tokens():
    def gradient(rhs, lhs, sizes, dy):
        return jax.grad(lambda r: (wgrad.jax.ragged_dot(lhs, r, sizes) * dy).sum())(rhs)

    x, dy, sizes = shapes((TOKENS, 64), (TOKENS, 48), out=False)
    rhs = jax.ShapeDtypeStruct((4, 64, 48), jnp.bfloat16)
    exported = jax.export.export(jax.jit(gradient), disabled_checks=KNOWN)(rhs, x, sizes, dy)
    c = case(tail=0)
    rhs = jnp.asarray(weights(c, "bfloat16"))
    got = exported.call(rhs, c.arrays[0], jnp.diff(c.arrays[2], prepend=0), c.arrays[1])
    np.testing.assert_array_equal(bits(got), c.by_cpp("bfloat16"))


@pytest.mark.parametrize(
    "arrays,text",
    [
        (shapes((TOKENS, 64), (OTHERS, 48)), "dy is U tokens long; it must be as long as x: T tokens"),
        (shapes((TOKENS, 64), (128, 48)), "dy is 128 tokens long; it must be as long as x: T tokens"),
        (shapes((TOKENS, WIDTH), (TOKENS, 48)), "x is of shape .*only the number of tokens"),
        (shapes((9, 64), (9, 48), WIDTH), "offsets is of shape .*only the number of tokens"),
    ],
    ids=["two Ts", "one T", "M", "E"],
)
def test_symbolic_extents_that_are_refused(arrays, text):
    with pytest.raises(ValueError, match=text):
        jax.export.export(jax.jit(step), disabled_checks=KNOWN)(*arrays)


def test_a_step_divided_by_shard_map_runs_in_another_process(tmp_path):
    cases = [case(seed=seed) for seed in range(2)]
    mesh = jax.make_mesh((2,), ("e",), axis_types=(jax.sharding.AxisType.Auto,))
    by_expert = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("e"))
    together = [np.concatenate(each) for each in zip(*((c.x, c.dy, c.ends) for c in cases))]
    arrays = [jax.device_put(each, by_expert) for each in together]
    divided = jax.shard_map(
        wgrad.jax.grouped_wgrad, mesh=mesh, in_specs=by_expert.spec, out_specs=by_expert.spec
    )
    exported = jax.export.export(jax.jit(divided), disabled_checks=KNOWN)(*arrays)
    (tmp_path / "step").write_bytes(exported.serialize())
    np.savez(tmp_path / "arrays", *(bits(each) for each in together))
    program = """
import sys, jax, numpy as np, ml_dtypes, wgrad.jax
mesh = jax.make_mesh((2,), ("e",), axis_types=(jax.sharding.AxisType.Auto,))
place = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("e"))
x, dy, ends = np.load(sys.argv[2]).values()
arrays = x.view(ml_dtypes.bfloat16), dy.view(ml_dtypes.bfloat16), ends.view(np.int32)
step = jax.export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
result = jax.jit(step.call)(*(jax.device_put(each, place) for each in arrays))
np.save(sys.argv[3], np.asarray(result).view(np.uint16))
"""
    files = [str(tmp_path / name) for name in ("step", "arrays.npz", "result.npy")]
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    ran = subprocess.run(
        [sys.executable, "-c", program, *files], env=environment, capture_output=True, text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    expected = np.concatenate([c.by_cpp("bfloat16") for c in cases])
    np.testing.assert_array_equal(np.load(tmp_path / "result.npy"), expected)


@pytest.mark.parametrize("platform", ["cuda", "cpu"])
def test_a_step_can_be_lowered_for_another_platform(platform):
    exported = jax.export.export(jax.jit(step), platforms=[platform], disabled_checks=KNOWN)(
        *case().arrays, jnp.zeros((4, 64, 48), jnp.float32)
    )
    assert "wgrad_grouped_wgrad" in exported.mlir_module()


def test_wgrad_jax_is_loaded_once_asked_for():
    program = """
import sys, wgrad
assert "jax" not in sys.modules
print(wgrad.jax.ragged_dot.__name__)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert ran.stdout == "ragged_dot\n", ran.stderr


def test_wgrad_imports_without_jax():
    program = """
import sys
sys.modules["jax"] = None
import numpy as np, wgrad
x = np.ones((8, 8), np.float16)
assert wgrad.grouped_wgrad(x, x, np.array([8], np.int32)).shape == (1, 8, 8)
try:
    import wgrad.jax
except ImportError as error:
    assert "wgrad.jax needs jax" in str(error)
try:
    wgrad.grouped_gemm_wgrad_jax_sm100(x, x, x)
except wgrad.RuntimeError as error:
    assert "wgrad.jax needs jax" in str(error)
    print("refused")
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "refused\n"
