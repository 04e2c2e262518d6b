#!/usr/bin/env python3
"""Times wgrad beside every peer found on this GPU, over the named shapes.

One process, candidates interleaved, the L2 flushed before each call, median of the rounds; results
are checked before anything is timed. Figures: `docs/design/performance.md` defines attainment.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

import torch

import peers
import timing
from shapes import SHAPES_FILE, counts, read_shapes

HBM_BYTES_PER_MS = 4.07e9  # measured copy bandwidth of an H200, bytes per millisecond


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=Path, default=SHAPES_FILE)
    parser.add_argument("--only", nargs="*", default=[], help="names of shapes to run; all by default")
    parser.add_argument("--modes", nargs="*", default=list(peers.MODES), choices=list(peers.MODES))
    parser.add_argument("--counts", nargs="*", default=["aligned", "odd"], choices=["aligned", "odd"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--peers", nargs="*", default=[], help="names of peers to run; all by default")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


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
    times = timing.interleaved_ms(candidates, x.device, args.rounds)
    ms = {name: statistics.median(t) for name, t in times.items()}
    moved = 2 * shape.tokens * (shape.m + shape.n)
    moved += shape.experts * shape.m * shape.n * mode.bytes_per_element
    floor = max(ms["dense"], moved / HBM_BYTES_PER_MS)
    return {"shape": shape.name, "mode": mode.name, "ms": ms, "errors": errors, "failures": failures,
            "missing": missing, "floor_ms": floor, "flops": shape.flops}


def describe(row) -> str:
    """One line a row: wgrad first, then attainment and the ratio to the best peer."""
    def rate(ms):
        return row["flops"] / ms / 1e9

    ms = row["ms"]
    peer_ms = {n: t for n, t in ms.items() if n not in ("dense", "wgrad")}
    parts = [f"{row['shape']:<16}{row['mode']:<9}{row['counts']:<8}"]
    if "wgrad" in ms:
        parts.append(f"wgrad {ms['wgrad']:7.3f} ms {rate(ms['wgrad']):4.0f} TF "
                     f"att {row['floor_ms'] / ms['wgrad']:.3f}")
        if peer_ms:
            best = min(peer_ms, key=peer_ms.get)
            parts.append(f"x{peer_ms[best] / ms['wgrad']:.2f} best {best}")
    parts.append(" ".join(f"{n} {rate(t):.0f}" for n, t in ms.items() if n != "wgrad"))
    parts += [f"[{n}: {text}]" for n, text in row["failures"].items()]
    return "  ".join(parts)


def main() -> int:
    args = arguments()
    rows = []
    report = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}
    for shape in read_shapes(args.shapes):
        if args.only and shape.name not in args.only:
            continue
        for kind in args.counts:
            k = counts(shape, 256 if kind == "aligned" else 1)
            for mode in args.modes:
                row = measure(shape, peers.MODES[mode], k, args) | {"counts": kind}
                rows.append(row)
                print(describe(row), flush=True)
                if args.json:
                    args.json.write_text(json.dumps(report, indent=1))
    bad = [r for r in rows if r["errors"].get("wgrad", 1.0) > 1e-2]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
