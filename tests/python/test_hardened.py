"""A process that may not write machine code (F133): known when an operator is made."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import ctypes, numpy as np, wgrad
x, ends = np.ones((64, 32), np.float16), np.array([24, 64], np.int32)
PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
if ctypes.CDLL(None).prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) != 0:
    print("unknown to this kernel")
    raise SystemExit
operator = wgrad.GroupedGemmWgrad(x.T, x, None, None, ends, np.zeros((2, 32, 32), np.float32), backend="cpu")
assert operator.check_support()
try:
    operator.compile()
    print("compiled")
except RuntimeError as error:
    print(error)
out = wgrad.grouped_wgrad(x, x, ends, backend="reference")
assert (out[0] == 24).all() and (out[1] == 40).all()
"""


def test_f133_a_hardened_process_is_told_at_compile_time():
    told = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
    assert told.returncode == 0, told.stderr
    if "unknown to this kernel" in told.stdout:
        pytest.skip("this kernel has no PR_SET_MDWE, which came with Linux 6.3")
    assert told.stdout.startswith("wgrad: this process is hardened (prctl PR_SET_MDWE,"), told.stdout
    assert "write machine code and execute it" in told.stdout
