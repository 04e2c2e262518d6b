"""Trains a mixture of experts on handwritten digits in JAX, its experts divided among the devices.

    python examples/jax_moe/train.py [--epochs N] [--seed N]
    XLA_FLAGS=--xla_force_host_platform_device_count=8 python examples/jax_moe/train.py

The same command runs on one CPU, on eight devices of one CPU and on GPUs. wgrad computes the
gradients of the experts' weights. Each step's loss and gradients are compared with those of a loop
over experts, with the same parameters.
"""

import argparse
import math
import sys
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import model
import numpy as np
import wgrad.jax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

sys.path.append(str(Path(__file__).parent.parent / "digits"))
from data import CLASSES, FEATURES, digits  # noqa: E402

EXPERTS, HIDDEN, CHOSEN, BATCH, RATE = 8, 32, 2, 64, 0.004
# Gradients of bfloat16 products: each has 8 bits, and the loop's are added up in another order.
TOLERANCE = 2.0**-5
# Outputs of experts are rounded to bfloat16, so that scores differ by 2^-8 of the largest. An entropy h
# changes by less than h times as much as its scores.
SCORE_TOLERANCE = 2.0**-8


def placed(parameters, mesh):
    """Experts' weights divided among the devices of `mesh`, the router on all of them."""
    specs = {"router": P(), "w1": P("experts"), "w2": P("experts")}
    return {n: jax.device_put(p, NamedSharding(mesh, specs[n])) for n, p in parameters.items()}


def differences(ours, theirs):
    """Largest difference of each parameter's gradient, relative to its peak."""
    return {n: jnp.abs(ours[n] - theirs[n]).max() / jnp.abs(theirs[n]).max() for n in ours}


def step(mesh, parameters, moments, number, x, labels):
    """One step by wgrad: parameters, moments, loss, the loop's loss, how far they may be apart, and
    differences of gradients."""

    def by(dot, on):
        function = partial(model.loss, dot, on, CHOSEN)
        return jax.value_and_grad(function, has_aux=True)(parameters, x, labels)

    (loss, _), gradients = by(wgrad.jax.ragged_dot, mesh)
    (loop_loss, score), loop_gradients = by(model.loop, None)
    parameters, moments = model.adam(RATE, parameters, moments, gradients, number)
    may_differ = SCORE_TOLERANCE * score * loop_loss
    return parameters, moments, loss, loop_loss, may_differ, differences(gradients, loop_gradients)


def train(mesh, parameters, x, labels, epochs, seed):
    """Parameters, and the losses of all steps; raises where a step and the loop differ."""
    compiled = jax.jit(partial(step, mesh), donate_argnums=(0, 1))
    moments = {n: (jnp.zeros_like(p), jnp.zeros_like(p)) for n, p in parameters.items()}
    random = np.random.default_rng(seed)
    losses, largest, number = [], 0.0, 0
    for epoch in range(epochs):
        order = random.permutation(len(x))
        for begin in range(0, len(x) - BATCH + 1, BATCH):
            batch, number = order[begin : begin + BATCH], number + 1
            parameters, moments, loss, loop_loss, may_differ, apart = compiled(
                parameters, moments, jnp.float32(number), x[batch], labels[batch]
            )
            if not abs(loss - loop_loss) <= may_differ:
                raise AssertionError(f"step {number}: loss {loss}, by the loop {loop_loss}")
            largest = max(largest, *map(float, apart.values()))
            if not largest <= TOLERANCE:
                raise AssertionError(f"step {number}: gradients differ by {apart} of their peaks")
            losses.append(float(loss))
        if epoch % max(epochs // 6, 1) == 0 or epoch == epochs - 1:
            steps = len(x) // BATCH
            print(f"  epoch {epoch + 1:3}  loss {np.mean(losses[-steps:]):.4f}")
    return parameters, losses, largest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    train_x, train_y, test_x, test_y = digits(options.seed)

    devices = jax.devices()[: math.gcd(EXPERTS, len(jax.devices()))]
    auto = (jax.sharding.AxisType.Auto,)
    mesh = jax.make_mesh((len(devices),), ("experts",), axis_types=auto, devices=devices)
    print(f"{EXPERTS} experts of {HIDDEN} units on {len(devices)} {devices[0].platform} device(s)")
    start = time.perf_counter()
    parameters = placed(model.initial(FEATURES, HIDDEN, CLASSES, EXPERTS, options.seed), mesh)
    parameters, losses, largest = train(
        mesh, parameters, train_x, train_y, options.epochs, options.seed
    )
    seconds = time.perf_counter() - start

    scores = model.logits(wgrad.jax.ragged_dot, mesh, CHOSEN, parameters, jnp.asarray(test_x))
    right = float((scores[:, : model.DIGITS].argmax(axis=1) == jnp.asarray(test_y)).mean())
    print(f"{len(losses)} steps equal a loop over experts; gradients differ by {largest:.1e} at most")
    print(f"loss {losses[0]:.3f} -> {np.mean(losses[-20:]):.4f}; {seconds:.1f} s")
    print(f"test accuracy {right:.1%}")


if __name__ == "__main__":
    main()
