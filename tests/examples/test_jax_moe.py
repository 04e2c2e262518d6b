"""The JAX mixture trains alike with its experts on one device and divided among eight."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "jax_moe" / "train.py"


@pytest.mark.skipif(
    importlib.util.find_spec("jax") is None and os.environ.get("WGRAD_REQUIRE_JAX") != "1",
    reason="jax is not installed; WGRAD_REQUIRE_JAX=1 forbids this",
)
def test_losses_are_a_loops_on_one_device_and_on_eight():
    losses = {}
    for devices in (1, 8):
        flags = f"--xla_force_host_platform_device_count={devices} --xla_backend_optimization_level=0"
        environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
        command = [sys.executable, str(EXAMPLE), "--epochs", "2"]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        assert ran.returncode == 0, ran.stderr
        assert f"on {devices} cpu device(s)" in ran.stdout
        assert "44 steps equal a loop over experts" in ran.stdout
        losses[devices] = [float(text) for text in re.findall(r"loss (\d\.\d+)\n", ran.stdout)]
    assert losses[1] == pytest.approx(losses[8], abs=2e-3)
    assert losses[1][-1] < 0.6 * losses[1][0]
