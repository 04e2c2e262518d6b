"""Times the CPU backend beside torch's loop of per-expert matmuls, shape by shape.

Shapes are scaled to the machine by one rule: hidden and intermediate are divided by a power of two,
tokens by half of it (so that experts keep tokens), the smallest one that brings 2*M*N*T to at most
--gflop; M and N stay multiples of 32. Counts are even, so that packed FP4 takes the same shape.

Candidates, on the same threads and data, token-major x and dy:
  wgrad   wgrad.grouped_wgrad, bfloat16 in and out
  bf16    one torch.mm an expert on bfloat16 views, into the same kind of output
  widened one torch.mm an expert on float32 copies made on the way, rounded to bfloat16: what a
          user would write where torch has no quick bfloat16 matmul for the CPU
  f32     one torch.mm an expert on float32 data and output, copies not counted
and, with --formats, wgrad on block-scaled operands, FP8 token-major as bfloat16 is, and FP4 and
bfloat16 both K-major, since FP4 is packed along tokens. They take turns within a repetition, each
after a pause and an untimed run, since the threads of the one before may still spin; the
median counts. Ratios are the peer's time over wgrad's; for formats, time over bfloat16's time in the
same major. `slower` at the end of a line marks a shape where wgrad lost to torch's bfloat16 loop.

--cpu-time counts the process's CPU time instead of the wall's: with WGRAD_THREADS=1 it means
something on a machine that is busy with other work too.

    PYTHONPATH=<build>/python python bench/cpu_wgrad.py --gflop 8 --json out.json
"""

import argparse
import dataclasses
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import shapes as shape_file
import torch
import wgrad

SETTLE_SECONDS = 0.02  # for the threads of another library to go to sleep
FORMATS = ("mxfp8", "bf16-k", "mxfp4", "nvfp4")


def scaled(shape: shape_file.Shape, gflop: float) -> shape_file.Shape:
    """The shape by the module's rule."""
    by, out = 1, shape
    while out.flops > gflop * 1e9:
        by *= 2
        out = dataclasses.replace(
            shape,
            m=max(shape.m // by // 32 * 32, 32),
            n=max(shape.n // by // 32 * 32, 32),
            tokens=max(shape.tokens * 2 // by, 2 * shape.experts),
        )
    return out


def loop(x: torch.Tensor, dy: torch.Tensor, ends: list[int], out: torch.Tensor) -> None:
    """One matmul an expert."""
    begin = 0
    for e, end in enumerate(ends):
        torch.mm(x[begin:end].t(), dy[begin:end], out=out[e])
        begin = end


def widened_loop(x: torch.Tensor, dy: torch.Tensor, ends: list[int], out: torch.Tensor) -> None:
    """One float32 matmul an expert on widened operands."""
    begin = 0
    for e, end in enumerate(ends):
        out[e] = torch.mm(x[begin:end].float().t(), dy[begin:end].float())
        begin = end


def candidates(shape: shape_file.Shape, formats: bool) -> dict[str, Callable[[], object]]:
    """What is timed, by name."""
    counts = shape_file.counts(shape, multiple=2)
    offsets = torch.from_numpy(np.cumsum(counts, dtype=np.int32))
    ends = offsets.tolist()
    torch.manual_seed(0)
    x = torch.randn(shape.tokens, shape.m, dtype=torch.bfloat16)
    dy = torch.randn(shape.tokens, shape.n, dtype=torch.bfloat16)
    out = torch.zeros(shape.experts, shape.m, shape.n, dtype=torch.bfloat16)
    x32, dy32, out32 = x.float(), dy.float(), out.float()
    found: dict[str, Callable[[], object]] = {
        "wgrad": lambda: wgrad.grouped_wgrad(x, dy, offsets, out=out),
        "bf16": lambda: loop(x, dy, ends, out),
        "widened": lambda: widened_loop(x, dy, ends, out),
        "f32": lambda: loop(x32, dy32, ends, out32),
    }
    if not formats:
        return found
    for name in FORMATS:
        if name == "bf16-k":
            a, b = x.t().contiguous().t(), dy.t().contiguous().t()
        else:
            major = "mn" if name == "mxfp8" else "k"
            a = wgrad.quantize(x, offsets, name, major=major)
            b = wgrad.quantize(dy, offsets, name, major=major)
        found[name] = lambda a=a, b=b: wgrad.grouped_wgrad(a, b, offsets, out=out)
    return found


def time_all(
    found: dict[str, Callable[[], object]], repeat: int, clock: Callable[[], float]
) -> dict[str, float]:
    """Median milliseconds of each candidate, interleaved."""
    for run in found.values():
        run()
    ms: dict[str, list[float]] = {name: [] for name in found}
    for _ in range(repeat):
        for name, run in found.items():
            time.sleep(SETTLE_SECONDS)
            run()
            start = clock()
            run()
            ms[name].append((clock() - start) * 1e3)
    return {name: statistics.median(values) for name, values in ms.items()}


def ratios(ms: dict[str, float]) -> dict[str, float]:
    """Peers' time over wgrad's, and formats' time over bfloat16's in the same major."""
    out = {name: ms[name] / ms["wgrad"] for name in ("bf16", "widened", "f32")}
    for name in FORMATS:
        if name in ms:
            base = ms["bf16-k"] if name.endswith("fp4") else ms["wgrad"]
            out[name] = ms[name] / base
    return out


def geometric_mean(values: list[float]) -> float:
    return statistics.geometric_mean(values) if values else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gflop", type=float, default=8.0)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", help="one shape")
    parser.add_argument("--formats", action="store_true", help="block-scaled formats too")
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--json", help="file for the results")
    args = parser.parse_args()
    clock = time.process_time if args.cpu_time else time.perf_counter
    device = wgrad.devices()[0]
    torch.set_num_threads(device.threads)
    print(
        f"{device.name}, {device.threads} threads, avx512_bf16 {device.avx512_bf16}, "
        f"amx_bf16 {device.amx_bf16}; torch {torch.__version__}"
    )
    names = ["bf16", "widened", "f32", *(FORMATS if args.formats else ())]
    columns = " ".join(f"{name:>8}" for name in names)
    head = f"{'shape':16} {'E':>4} {'M':>5} {'N':>5} {'T':>6} {'ms':>8} {'GFLOP/s':>8} {columns}"
    print(head)
    results = []
    for full in shape_file.read_shapes():
        if args.only not in (None, full.name):
            continue
        shape = scaled(full, args.gflop)
        ms = time_all(candidates(shape, args.formats), args.repeat, clock)
        r = ratios(ms)
        rate = shape.flops / ms["wgrad"] / 1e6
        print(
            f"{shape.name:16} {shape.experts:4} {shape.m:5} {shape.n:5} {shape.tokens:6} "
            f"{ms['wgrad']:8.2f} {rate:8.1f} " + " ".join(f"{r[name]:8.2f}" for name in names),
            "" if r["bf16"] >= 1 else "slower",
            flush=True,
        )
        results.append({**dataclasses.asdict(shape), "ms": ms, "ratios": r})
    means = " ".join(f"{geometric_mean([x['ratios'][name] for x in results]):8.2f}" for name in names)
    print(f"{'geometric mean':65} {means}")
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"device": device.name, "threads": device.threads, "shapes": results}, file)


if __name__ == "__main__":
    main()
