"""A jitted step goes through jax.export and back; wgrad imports without jax."""

from __future__ import annotations

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


@pytest.mark.parametrize("platform", ["cuda", "cpu"])
def test_a_step_can_be_lowered_for_another_platform(platform):
    exported = jax.export.export(jax.jit(step), platforms=[platform], disabled_checks=KNOWN)(
        *case().arrays, jnp.zeros((4, 64, 48), jnp.float32)
    )
    assert "wgrad_grouped_wgrad" in exported.mlir_module()


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
