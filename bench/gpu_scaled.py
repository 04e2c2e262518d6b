#!/usr/bin/env python3
"""Times the block-scaled kernels beside the 16-bit one on a CUDA device.

One process, calls interleaved, the L2 flushed before each, median of the rounds. Prints, for each
shape, the 16-bit kernel's TFLOP/s (token-major, bfloat16 out) and each format's time as a multiple
of its ("x BF16"), then the geometric means. Peers: torch decoding MN-major MXFP8 to bfloat16 and then
its grouped_mm; torch's grouped product of FP8 by rows (another computation, for scale). K-major codes are random normal numbers (FP8) or
uniform nibbles (FP4); scale factors vary within six powers of two; counts are even and multiples
of 128. `--tiles` times every tile instead of the planner's choice.
"""

import argparse
import statistics

import torch
from timing import interleaved_ms

import wgrad

SHAPES = {
    "dsv3-ep64-gate": (4, 4096, 7168, 32768),
    "dsv3-ep32-down": (8, 7168, 2048, 32768),
    "mixtral-8x7b": (8, 4096, 14336, 32768),
    "qwen3-30b-a3b": (128, 2048, 768, 131072),
    "gpt-oss-120b": (128, 2880, 2880, 65536),
    "olmoe": (64, 2048, 1024, 65536),
}
CHOSEN = (256, 256)  # mma_tiler_mn that leaves the tile to the planner
TILES = ((256, 128), (128, 256), (128, 128))


def scales(rows, tokens, vec_size):
    """Swizzled scale factors of that many rows, all of whose experts have whole atoms."""
    if vec_size == 32:
        low, high, dtype = 118, 124, torch.float8_e8m0fnu
    else:
        low, high, dtype = 48, 64, torch.float8_e4m3fn
    shape = ((rows + 127) // 128 * 128, tokens // vec_size)
    return torch.randint(low, high, shape, device="cuda", dtype=torch.uint8).view(dtype)


def fp8(rows, tokens, dtype):
    return torch.randn(rows, tokens, device="cuda").to(dtype)


def fp4(rows, tokens):
    codes = torch.randint(0, 256, (rows, tokens // 2), device="cuda", dtype=torch.uint8)
    return codes.view(torch.float4_e2m1fn_x2)


def decoded_by_torch(codes, ends):
    """MN-major MXFP8: all operands as bfloat16 in memory, then torch's grouped_mm."""
    factors = [torch.full((c.shape[0] // 32, 1, c.shape[1]), 0.125, device="cuda", dtype=torch.bfloat16)
               for c in codes]

    def decoded(c, by):
        return (c.to(torch.bfloat16).view(-1, 32, c.shape[1]) * by).view(c.shape)

    def run():
        x, dy = (decoded(c, by) for c, by in zip(codes, factors, strict=True))
        return torch.nn.functional.grouped_mm(x.t(), dy, offs=ends)

    return run


def fp8_by_rows(codes, ends, experts):
    """K-major FP8 with one factor a row and expert."""
    x, dy = codes
    by = [torch.ones(experts * c.shape[0], device="cuda") for c in codes]
    return lambda: torch._scaled_grouped_mm(x, dy.t(), *by, offs=ends, out_dtype=torch.bfloat16, use_fast_accum=False)


def runs(experts, m, n, tokens, tiles):
    """Name to a call without arguments, for one shape; the 16-bit kernel's is "bf16"."""
    ends = torch.arange(1, experts + 1, device="cuda", dtype=torch.int32) * (tokens // experts)
    out = torch.empty(experts, m, n, device="cuda", dtype=torch.bfloat16)
    ones = torch.ones(experts, device="cuda")
    mx = {"x_scale": scales(m, tokens, 32), "dy_scale": scales(n, tokens, 32)}
    nv = {"x_scale": scales(m, tokens, 16), "dy_scale": scales(n, tokens, 16), "x_global_scale": ones,
          "dy_global_scale": ones}
    e4m3 = [fp8(rows, tokens, torch.float8_e4m3fn) for rows in (m, n)]
    formats = {
        "mxfp8 K": ([codes.t() for codes in e4m3], mx),
        "mxfp8 MN": ([codes.t().contiguous() for codes in e4m3], mx),
        "mxfp8-e5m2 K": ([fp8(rows, tokens, torch.float8_e5m2).t() for rows in (m, n)], mx),
        "mxfp4": ([fp4(rows, tokens).t() for rows in (m, n)], {**mx, "sf_vec_size": 32}),
        "nvfp4": ([fp4(rows, tokens).t() for rows in (m, n)], nv),
    }

    def call(a, b, **more):
        return lambda: wgrad.grouped_wgrad(a, b, ends, out=out, **more)

    calls = {"bf16": call(*(torch.randn(tokens, rows, device="cuda", dtype=torch.bfloat16) for rows in (m, n)))}
    calls["torch, decoded"] = decoded_by_torch([codes.t().contiguous() for codes in e4m3], ends)
    calls["torch, FP8 by rows"] = fp8_by_rows(e4m3, ends, experts)
    for name, (operands, more) in formats.items():
        for tile in tiles:
            full = name if tile == CHOSEN else f"{name} {tile[0]}x{tile[1]}"
            calls[full] = call(*operands, mma_tiler_mn=tile, **more)
    return calls


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tiles", action="store_true", help="every tile instead of the planner's choice")
    parser.add_argument("--only", nargs="*", default=[], help="names of shapes; all by default")
    args = parser.parse_args()
    ratios = {}
    for name, shape in SHAPES.items():
        if args.only and name not in args.only:
            continue
        calls = runs(*shape, TILES if args.tiles else (CHOSEN,))
        for key in list(calls):
            try:
                calls[key]()
            except (AttributeError, RuntimeError, ValueError) as refused:  # a tile, or a torch, without it
                print(f"  {key}: {str(refused)[:120]}")
                del calls[key]
        times = interleaved_ms(calls, torch.device("cuda"), args.rounds)
        medians = {key: statistics.median(taken) for key, taken in times.items()}
        base = medians.pop("bf16")
        for key, taken in medians.items():
            ratios.setdefault(key, []).append(taken / base)
        flops = 2 * shape[1] * shape[2] * shape[3]
        print(f"{name}: bf16 {flops / base / 1e9:.0f} TFLOP/s; x BF16:",
              ", ".join(f"{key} {taken / base:.2f}" for key, taken in medians.items()), flush=True)
        calls.clear()
        torch.cuda.empty_cache()
    print("geometric mean:", ", ".join(f"{key} {statistics.geometric_mean(r):.2f}" for key, r in ratios.items()))


if __name__ == "__main__":
    main()
