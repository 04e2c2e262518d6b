"""A process that may not write machine code (F133), has no room for it, or ends meanwhile (F135)."""

from __future__ import annotations

import os
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


NO_ROOM = """
import resource, sys, numpy as np, wgrad
x, ends = np.ones((64, 32), np.float16), np.array([24, 64], np.int32)
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = mapped + int(sys.argv[1]) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    wgrad.grouped_wgrad(x, x, ends, backend="cpu")
    print("computed")
except (RuntimeError, MemoryError) as error:
    print(type(error).__name__, error)
"""


# AddressSanitizer ends a process that has no room for its own tables.
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")


@pytest.mark.parametrize("mebibytes", [12, 40] if SANITIZED else [0, 1, 4, 12, 40])
def test_f135_a_first_call_without_room_is_told(mebibytes):
    """oneDNN, which finds no room for its machine code, follows a null pointer."""
    told = subprocess.run([sys.executable, "-c", NO_ROOM, str(mebibytes)], capture_output=True, text=True, timeout=120)
    assert told.returncode == 0, told.stderr
    assert "this process may map less than 64 MiB more" in told.stdout or "MemoryError" in told.stdout, told.stdout


ENDS = """
import sys, threading, time, numpy as np, wgrad
x, ends = np.ones((2000, 512), np.float16), np.array([1000, 2000], np.int32)
threading.Thread(target=lambda: wgrad.grouped_wgrad(x, x, ends, backend="cpu"), daemon=True).start()
time.sleep(float(sys.argv[1]))
"""


@pytest.mark.parametrize("seconds", [0.0, 0.0005, 0.002, 0.005, 0.01, 0.02])
def test_f135_a_first_call_under_way_at_exit_ends_no_process(seconds):
    done = subprocess.run([sys.executable, "-c", ENDS, str(seconds)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
