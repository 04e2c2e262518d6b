"""Runs wgrad where XLA may make CUDA graphs of launches; exits 0 where all results are right.

Prints the graph launches that the profiler saw; it does not follow every function of the driver.
"""

import jax
import jax.numpy as jnp
import numpy as np
import torch
import wgrad.jax


@jax.jit
def step(x, dy, ends, out):
    """Three launches in a row, so that XLA has something to gather into a graph."""
    for _ in range(3):
        out = wgrad.jax.grouped_wgrad(x, dy, ends, out, accumulate=True)
    return out


def main():
    random = np.random.default_rng(0)
    x, dy = (jnp.asarray(random.integers(-4, 5, (256, w)), jnp.bfloat16) for w in (128, 64))
    out = jnp.zeros((2, 128, 64), jnp.float32)
    splits = (0, 3, 100, 256)
    results = {k: step(x, dy, jnp.array([k, 256], jnp.int32), out) for k in splits}
    jax.block_until_ready(results)  # compiled and, where XLA waits for a second run, recorded
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for k in splits:
            results[k] = step(x, dy, jnp.array([k, 256], jnp.int32), out)
        jax.block_until_ready(results)
    for k, result in results.items():
        parts = [(x[:k], dy[:k]), (x[k:], dy[k:])]
        for got, (a, b) in zip(np.asarray(result), parts):
            want = 3 * (np.asarray(a, np.float32).T @ np.asarray(b, np.float32))
            assert (got == want).all(), f"wrong with {k} tokens of the first expert"
    launches = [event.key for event in profile.key_averages() if "GraphLaunch" in event.key]
    print(f"graph launches seen: {launches}")


main()
