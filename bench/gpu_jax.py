#!/usr/bin/env python3
"""Times the expert weight gradient in a jitted JAX function beside other ways to compute it there.

wgrad.jax, the gradient of jax.lax.ragged_dot, tokamax's where it is installed and a Pallas kernel,
each jitted; and wgrad called from torch, which is the C++ call. A round times every candidate once,
in an order drawn anew: calls in a row that are waited for once, after as many that are not timed, so
that each meets the clocks of its own work and not of the one before it. Medians over the rounds.
Results are checked against one float32 product first.
"""

import argparse
import functools
import json
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch needs memory too

import jax
import jax.numpy as jnp
import numpy as np
import pallas_wgrad
import torch
import wgrad.jax
from shapes import SHAPES_FILE, counts, read_shapes

SECONDS_A_ROUND = 0.01  # calls of a candidate in a round take about this long
EXACT, WRONG = 1e-2, 0.3  # of the peak: above the first a result is named as inexact, above the second wrong


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=Path, default=SHAPES_FILE)
    parser.add_argument("--only", nargs="*", default=[], help="names of shapes; all by default")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peers", nargs="*", default=[], help="names of candidates; all by default")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--clocks-of-the-one-before", action="store_true",
                        help="time the first calls of each turn, as a GPU may slow down for what ran before them")
    parser.add_argument("--compile-only", action="store_true",
                        help="fill JAX's cache of compiled programs, where JAX_COMPILATION_CACHE_DIR names one")
    return parser.parse_args()


def by_gradient(dot, x, dy, sizes, like):
    """The gradient of `dot` by its right side, whose values do not matter."""
    return jax.vjp(lambda rhs: dot(x, rhs, sizes), like)[1](dy)[0]


class InPlace:
    """wgrad into an output that is donated, as a trainer's main_grad is."""

    def __init__(self):
        self._step = jax.jit(wgrad.jax.grouped_wgrad, donate_argnums=3)
        self._out = None

    def __call__(self, x, dy, sizes, ends):
        if self._out is None:
            self._out = jnp.zeros((ends.shape[0], x.shape[1], dy.shape[1]), x.dtype)
        self._out = self._step(x, dy, ends, self._out)
        return self._out


def candidates():
    """name: (x, dy, sizes, ends) -> (E, M, N); and the names of those that are not installed."""

    def by_wgrad(x, dy, sizes, ends):
        return wgrad.jax.grouped_wgrad(x, dy, ends)

    def by_pallas(x, dy, sizes, ends):
        return pallas_wgrad.grouped_wgrad(x, dy, sizes)

    def gradient_of(dot):
        def call(x, dy, sizes, ends):
            like = jnp.zeros((sizes.shape[0], x.shape[1], dy.shape[1]), x.dtype)
            return by_gradient(dot, x, dy, sizes, like)

        return call

    found = {"wgrad": jax.jit(by_wgrad), "wgrad in place": InPlace(), "pallas": jax.jit(by_pallas)}
    found["ragged_dot"] = jax.jit(gradient_of(jax.lax.ragged_dot))
    try:
        import tokamax
    except ImportError as error:
        return found, [f"tokamax ({error})"]
    found["tokamax"] = jax.jit(gradient_of(tokamax.ragged_dot))
    return found, []


def torch_call(x, dy, ends):
    """wgrad on torch tensors, into an output of its own."""
    tensors = [torch.from_dlpack(each) for each in (x, dy)]
    ends = torch.from_dlpack(ends)
    shape = (len(ends), x.shape[1], dy.shape[1])
    out = torch.empty(shape, dtype=torch.bfloat16, device="cuda")
    return functools.partial(wgrad.grouped_wgrad, *tensors, ends, out), torch.cuda.synchronize


def seconds(call, wait, repeats):
    start = time.perf_counter()
    for _ in range(repeats):
        result = call()
    wait(result)
    return (time.perf_counter() - start) / repeats


def error_of(result, x, dy, sizes):
    """Largest error of the largest expert relative to its peak."""
    e = int(np.argmax(sizes))
    end = int(np.cumsum(sizes)[e])
    rows = slice(end - int(sizes[e]), end)
    want = x[rows].astype(jnp.float32).T @ dy[rows].astype(jnp.float32)
    return float(jnp.abs(result[e].astype(jnp.float32) - want).max() / jnp.abs(want).max())


def compile_all(shape, args):
    """Compiles the candidates; what refuses does so again when it is timed."""
    described = [
        jax.ShapeDtypeStruct((shape.tokens, shape.m), jnp.bfloat16),
        jax.ShapeDtypeStruct((shape.tokens, shape.n), jnp.bfloat16),
        jax.ShapeDtypeStruct((shape.experts,), jnp.asarray(counts(shape)).dtype),
        jax.ShapeDtypeStruct((shape.experts,), jnp.int32),
    ]
    for name, function in candidates()[0].items():
        if (args.peers and name not in args.peers) or isinstance(function, InPlace):
            continue
        try:
            function.lower(*described).compile()
        except Exception as error:
            print(f"{shape.name} {name}: {type(error).__name__}", flush=True)


def ratios(rows, peer):
    """(geometric mean, smallest, largest) of `peer`'s time to wgrad's, and of how many shapes."""
    each = [row["ms"][peer] / row["ms"]["wgrad"] for row in rows if {peer, "wgrad"} <= row["ms"].keys()]
    if not each:
        return None
    return statistics.geometric_mean(each), min(each), max(each), len(each)


def measure(shape, args):
    """One row: milliseconds of each candidate that computes this shape rightly."""
    k = counts(shape)
    keys = jax.random.split(jax.random.key(0))
    x = jax.random.normal(keys[0], (shape.tokens, shape.m), jnp.bfloat16)
    dy = jax.random.normal(keys[1], (shape.tokens, shape.n), jnp.bfloat16)
    sizes, ends = jnp.asarray(k), jnp.cumsum(jnp.asarray(k), dtype=jnp.int32)
    call, wait = torch_call(x, dy, ends)
    calls = {"wgrad C++": (call, lambda _, finish=wait: finish())}
    failures, inexact = {}, {}
    found, missing = candidates()
    for name, function in found.items():
        if args.peers and name not in args.peers:
            continue
        try:
            worst = error_of(function(x, dy, sizes, ends), x, dy, k)
        except Exception as error:  # one that does not run a shape is a finding, not the end
            failures[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"
            continue
        if not worst <= WRONG:
            failures[name] = f"wrong by {worst:.1e} of the peak"
            continue
        if worst > EXACT:
            inexact[name] = worst
        calls[name] = (functools.partial(function, x, dy, sizes, ends), jax.block_until_ready)
    repeats = {n: max(1, int(SECONDS_A_ROUND / seconds(*c, 2))) for n, c in calls.items()}
    times = {name: [] for name in calls}
    order = np.random.default_rng(0)
    for _ in range(args.rounds):
        for name in order.permutation(list(calls)):
            if not args.clocks_of_the_one_before:
                seconds(*calls[name], repeats[name])
            times[name].append(seconds(*calls[name], repeats[name]))
    ms = {name: 1e3 * statistics.median(each) for name, each in times.items()}
    return {"shape": shape.name, "ms": ms, "inexact": inexact, "failures": failures, "missing": missing}


def main():
    args = arguments()
    rows = []
    for shape in read_shapes(args.shapes):
        if args.only and shape.name not in args.only:
            continue
        if args.compile_only:
            compile_all(shape, args)
            continue
        rows.append(row := measure(shape, args))
        jax.clear_caches()
        rate = shape.flops / 1e9
        print(f"{shape.name:<16}", *(f"{n} {t:.3f} ms {rate / t:.0f} TFLOP/s;" for n, t in row["ms"].items()),
              *(f"[{n}: off by {e:.1e} of the peak]" for n, e in row["inexact"].items()),
              *(f"[{n}: {text}]" for n, text in row["failures"].items()),
              *(f"[{n}: not installed]" for n in row["missing"]), flush=True)
        if args.json:
            report = {"gpu": torch.cuda.get_device_name(), "jax": jax.__version__, "rows": rows}
            args.json.write_text(json.dumps(report, indent=1))
    for peer in ("wgrad C++", "wgrad in place", "tokamax", "pallas", "ragged_dot"):
        if told := ratios(rows, peer):
            print("time of {} to that of wgrad: {:.3f} in the mean, {:.3f} to {:.3f}, {} shapes".format(peer, *told))
    return 1 if any("wgrad" not in row["ms"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
