#!/usr/bin/env python3
"""Times FP8 rowwise (one fp32 scale factor a row and expert) on a CUDA device, beside torch.

One process, calls interleaved, the L2 flushed before each, median of the rounds. Prints, for each
shape, TFLOP/s of wgrad's FP8 kernel with sums promoted into FP32 and with fast accumulation, of
`torch._scaled_grouped_mm` in both ways, and of wgrad's bfloat16 kernel (token-major); then the
geometric means of the ratio to torch. Codes are random normal numbers, K-major, counts even and
multiples of 128, results bfloat16.
"""

import argparse
import statistics

import torch
from gpu_scaled import SHAPES, fp8
from timing import interleaved_ms

import wgrad


def runs(experts, m, n, tokens):
    """Name to a call without arguments, for one shape."""
    ends = torch.arange(1, experts + 1, device="cuda", dtype=torch.int32) * (tokens // experts)
    out = torch.empty(experts, m, n, device="cuda", dtype=torch.bfloat16)
    a, b = (fp8(rows, tokens, torch.float8_e4m3fn) for rows in (m, n))
    sa, sb = (torch.rand(experts, rows, device="cuda") + 0.5 for rows in (m, n))
    x, dy = (torch.randn(tokens, rows, device="cuda", dtype=torch.bfloat16) for rows in (m, n))

    def ours(fast):
        return lambda: wgrad.grouped_wgrad(a.t(), b.t(), ends, out=out, x_scale=sa, dy_scale=sb, use_fast_accum=fast)

    def torchs(fast):
        return lambda: torch._scaled_grouped_mm(
            a, b.t(), sa.flatten(), sb.flatten(), ends, out_dtype=torch.bfloat16, use_fast_accum=fast)

    return {
        "wgrad": ours(False),
        "wgrad fast": ours(True),
        "torch": torchs(False),
        "torch fast": torchs(True),
        "bf16": lambda: wgrad.grouped_wgrad(x, dy, ends, out=out),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="*", default=[], help="names of shapes; all by default")
    args = parser.parse_args()
    ratios = {"": [], " fast": []}
    for name, shape in SHAPES.items():
        if args.only and name not in args.only:
            continue
        calls = runs(*shape)
        for call in calls.values():
            call()
        times = interleaved_ms(calls, torch.device("cuda"), args.rounds)
        medians = {key: statistics.median(taken) for key, taken in times.items()}
        for way, of in ratios.items():
            of.append(medians["torch" + way] / medians["wgrad" + way])
        flops = 2 * shape[1] * shape[2] * shape[3]
        print(f"{name}:", ", ".join(f"{key} {flops / ms / 1e9:.0f}" for key, ms in medians.items()), flush=True)
        calls.clear()
        torch.cuda.empty_cache()
    for way, of in ratios.items():
        print(f"geometric mean over torch{way}: {statistics.geometric_mean(of):.2f}x, least {min(of):.2f}x")


if __name__ == "__main__":
    main()
