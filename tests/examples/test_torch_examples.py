"""The torch examples do what they say, on short runs in processes of their own."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import wgrad

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed"
)


def run(*arguments):
    """The output of an example, on one thread a process."""
    environment = {
        **os.environ, "PYTHONPATH": str(Path(wgrad.__file__).parent.parent),
        "OMP_NUM_THREADS": "1", "WGRAD_THREADS": "1", "CUDA_VISIBLE_DEVICES": "",
    }
    result = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout


def test_the_torch_mixture_trains_and_times_both_backward_passes():
    out = run("examples/torch_moe/train.py", "--epochs", "3", "--rounds", "4", "--device", "cpu")
    first, last = map(float, re.search(r"loss ([\d.]+) -> ([\d.]+)", out).groups())
    assert last < 0.5 * first
    assert re.search(r"a step of 1437 pictures, weight gradient by wgrad: [\d.]+ ms", out)
    assert re.search(r"weight gradient by grouped_mm: [\d.]+ ms", out) or "no grouped_mm" in out


def test_expert_parallel_losses_equal_one_process_and_survive_a_checkpoint(tmp_path):
    """Two ranks, then four that go on from their checkpoint with two copies of every expert; the
    third and the sixth step leave ranks without a token."""
    parts = [
        ("--processes", "2", "--save", str(tmp_path / "saved")),
        ("--processes", "4", "--replicas", "2", "--load", str(tmp_path / "saved"), "--first", "3"),
    ]
    for options in parts:
        out = run("examples/moe_ep/train.py", "--steps", "3", "--check", *options)
        assert len(re.findall(r"\d+\.\d{6}", out.splitlines()[0])) == 3
        assert float(re.search(r"from one process: ([\d.e-]+)", out).group(1)) < 2e-3


def test_the_layer_benchmark_compares_gradients_and_times_every_product():
    """At 1/64 of the widths, on a CPU: its figures mean nothing there."""
    out = run("bench/gpu_layer.py", "--device", "cpu", "--scale", "64", "--rounds", "1", "--only", "olmoe")
    assert re.search(r"wgrad step +[\d.]+ ms, weight gradients", out)
