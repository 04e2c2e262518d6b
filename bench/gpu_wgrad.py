#!/usr/bin/env python3
"""Times wgrad beside every peer found on this GPU, over the named shapes or random ones.

One process, candidates interleaved, the L2 flushed before each call, median of the rounds; results
are checked before anything is timed. Figures: `docs/design/performance.md` defines attainment.
`--random N --seed S` draws N shapes from `models.txt` (draws.py) and ends with the distribution of
the ratio to the best peer. `--candidates` times every candidate of the planner too.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

import torch

import distribution
import peers
import planner
import timing
from draws import random_shapes
from shapes import SHAPES_FILE, counts, read_shapes

HBM_BYTES_PER_MS = 4.07e9  # measured copy bandwidth of an H200, bytes per millisecond


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=Path, default=SHAPES_FILE)
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N random shapes instead")
    parser.add_argument("--seed", type=int, default=0, help="of the random shapes")
    parser.add_argument("--candidates", action="store_true", help="time all that the planner considers")
    parser.add_argument("--only", nargs="*", default=[], help="names of shapes to run; all by default")
    parser.add_argument("--modes", nargs="*", default=list(peers.MODES), choices=list(peers.MODES))
    parser.add_argument("--counts", nargs="*", choices=["aligned", "odd"],
                        help="both by default; random shapes: odd")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--peers", nargs="*", default=[], help="names of peers to run; all by default")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.counts is None:
        args.counts = ["odd"] if args.random else ["aligned", "odd"]
    return args


def worst_error(x, dy, ends, out, sample=3) -> float:
    """Largest error of a few experts relative to the peak of each, against float32 matmuls."""
    worst, begin = 0.0, 0
    step = max(1, len(ends) // sample)
    for e, end in enumerate(ends):
        if e % step == 0:
            want = x[begin:end].float().t() @ dy[begin:end].float()
            peak = want.abs().max().clamp(min=1e-30)
            worst = max(worst, ((out[e].float() - want).abs().max() / peak).item())
        begin = end
    return worst


def measure(shape, mode, k, args) -> dict:
    """One row: milliseconds of each candidate that computes this mode correctly."""
    torch.manual_seed(0)
    x = torch.randn(shape.tokens, shape.m, device="cuda", dtype=torch.bfloat16)
    dy = torch.randn(shape.tokens, shape.n, device="cuda", dtype=torch.bfloat16)
    ends = [int(v) for v in k.cumsum()]
    offsets = torch.tensor(ends, dtype=torch.int32, device="cuda")
    out = torch.empty(shape.experts, shape.m, shape.n, device="cuda", dtype=mode.dtype)
    dense = torch.empty(shape.m, shape.n, device="cuda", dtype=torch.bfloat16)
    candidates = {"dense": lambda: torch.mm(x.t(), dy, out=dense)}
    errors, failures = {}, {}
    found, missing = peers.found(k)
    for peer in found:
        if mode.name not in peer.modes or (args.peers and peer.name not in args.peers):
            continue
        if peer.aligned_only and (k % 128).any():
            continue
        out.fill_(0 if mode.accumulate else float("nan"))
        try:
            result = peer.call(x, dy, offsets, out, mode.accumulate)
            errors[peer.name] = worst_error(x, dy, ends, out if result is None else result)
        except Exception as error:  # a peer that refuses a shape is a finding, not the end
            failures[peer.name] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
            continue
        candidates[peer.name] = lambda call=peer.call: call(x, dy, offsets, out, mode.accumulate)
    plans = []
    if args.candidates:
        plans = planner.candidates(x, dy, offsets, out, mode.accumulate)
        for plan in plans:
            out.fill_(0 if mode.accumulate else float("nan"))
            plan.call()
            errors[plan.name] = worst_error(x, dy, ends, out)
            candidates[plan.name] = plan.call
    times = timing.interleaved_ms(candidates, x.device, args.rounds)
    ms = {name: statistics.median(t) for name, t in times.items()}
    moved = 2 * shape.tokens * (shape.m + shape.n)
    moved += shape.experts * shape.m * shape.n * mode.bytes_per_element
    floor = max(ms["dense"], moved / HBM_BYTES_PER_MS)
    of_plans = [plan.row(ms.pop(plan.name)) for plan in plans]
    return {"shape": shape.name, "mode": mode.name, "ms": ms, "errors": errors, "failures": failures,
            "missing": missing, "floor_ms": floor, "flops": shape.flops, "plans": of_plans,
            "sizes": [shape.experts, shape.m, shape.n, shape.tokens], "skew": shape.distribution}


def describe(row) -> str:
    """One line a row: wgrad first, then attainment and the ratio to the best peer."""
    def rate(ms):
        return row["flops"] / ms / 1e9

    ms = row["ms"]
    peer_ms = distribution.peers_of(row)
    parts = [f"{row['shape']:<16} {row['mode']:<9}{row['counts']:<8}"]
    if "wgrad" in ms:
        parts.append(f"wgrad {ms['wgrad']:7.3f} ms {rate(ms['wgrad']):4.0f} TF "
                     f"att {row['floor_ms'] / ms['wgrad']:.3f}")
        if peer_ms:
            best = min(peer_ms, key=peer_ms.get)
            parts.append(f"x{peer_ms[best] / ms['wgrad']:.2f} best {best}")
    parts.append(" ".join(f"{n} {rate(t):.0f}" for n, t in ms.items() if n != "wgrad"))
    parts += [f"[{n}: {text}]" for n, text in row["failures"].items()]
    if row["plans"]:
        parts.append(planner.describe(row["plans"]))
    return "  ".join(parts)


def main() -> int:
    args = arguments()
    rows = []
    report = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}
    shapes = random_shapes(args.random, args.seed) if args.random else read_shapes(args.shapes)
    shapes = [s for s in shapes if not args.only or s.name in args.only]
    modes = [peers.MODES[m] for m in args.modes]
    planner.compile_side_by_side(((s, m) for s in shapes for m in modes), args.candidates)
    for shape in shapes:
        for kind in args.counts:
            k = counts(shape, 256 if kind == "aligned" else 1)
            for mode in modes:
                row = measure(shape, mode, k, args) | {"counts": kind}
                rows.append(row)
                print(describe(row), flush=True)
                if args.json:
                    args.json.write_text(json.dumps(report, indent=1))
    if args.random:
        print(distribution.summary(rows))
    if args.candidates:
        print(planner.summary(rows))
    bad = [r for r in rows if any(e > 1e-2 for n, e in r["errors"].items() if n.startswith("wgrad"))
           or "wgrad" not in r["errors"]]
    for row in bad:
        print(f"wrong: {row['shape']} {row['mode']}: {row['errors']} {row['failures']}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
