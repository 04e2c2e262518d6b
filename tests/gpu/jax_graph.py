"""Runs wgrad where XLA may make CUDA graphs of launches; exits 0 where all results are right.

Prints how often XLA recorded and launched a graph, as its own log tells: profilers do not follow
every function of the driver by which a graph is launched.
"""

import os
import re
import sys
import tempfile

MODULES = ("command_buffer_thunk", "command_executor", "cuda_command_buffer")
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"  # which jax sets, and children of its processes inherit
os.environ["TF_CPP_VMODULE"] = ",".join(f"{name}=3" for name in MODULES)

import jax
import jax.numpy as jnp
import numpy as np
import wgrad.jax


@jax.jit
def step(x, dy, ends, out):
    """Three launches in a row, so that XLA has something to gather into a graph."""
    for _ in range(3):
        out = wgrad.jax.grouped_wgrad(x, dy, ends, out, accumulate=True)
    return out


def run():
    random = np.random.default_rng(0)
    x, dy = (jnp.asarray(random.integers(-4, 5, (256, w)), jnp.bfloat16) for w in (128, 64))
    out = jnp.zeros((2, 128, 64), jnp.float32)
    for k in (0, 3, 100, 256) * 3:  # the first run compiles, and XLA may wait for a later one to record
        result = np.asarray(step(x, dy, jnp.array([k, 256], jnp.int32), out))
        for got, (a, b) in zip(result, ((x[:k], dy[:k]), (x[k:], dy[k:]))):
            want = 3 * (np.asarray(a, np.float32).T @ np.asarray(b, np.float32))
            assert (got == want).all(), f"wrong with {k} tokens of the first expert"


def main():
    """XLA logs to the file of errors, which is read back."""
    with tempfile.TemporaryFile() as log:
        kept = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            run()
        finally:
            os.dup2(kept, 2)
        log.seek(0)
        text = log.read().decode(errors="replace")
    if folder := os.environ.get("WGRAD_JAX_GRAPH_LOG"):
        with open(folder, "w") as file:
            file.write(text)
    calls = len(re.findall("kCustomCall resources", text))
    launches = len(re.findall("Launch command buffer executable graph", text))
    print(f"XLA's log tells of {calls} custom calls in graphs and of {launches} launches of graphs")
    if "--required" in sys.argv and not (calls and launches):
        sys.exit("no graph with a custom call was launched")


main()
