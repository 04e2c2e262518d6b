#!/usr/bin/env python3
"""Times the block-scaled kernels beside the 16-bit one on a CUDA device, interleaved. Usage: gpu_scaled.py [ROUNDS]

Prints, for each shape, the 16-bit kernel's TFLOP/s (token-major, bfloat16 out) and each other kernel's time as a multiple of its.
K-major codes are random normal numbers (FP8) or uniform nibbles (FP4); scale factors vary within six powers of two.
"""
import statistics
import sys

import torch

import wgrad

SHAPES = {"dsv3-ep64-gate": (4, 4096, 7168, 32768), "dsv3-ep32-down": (8, 7168, 2048, 32768),
          "mixtral-8x7b": (8, 4096, 14336, 32768), "qwen3-30b-a3b": (128, 2048, 768, 131072),
          "gpt-oss-120b": (128, 2880, 2880, 65536), "olmoe": (64, 2048, 1024, 65536)}
TILES = ((256, 128), (128, 256), (128, 128))


def scales(rows, tokens, vec_size):
    """Swizzled scale factors of that many rows, all of whose experts have whole atoms."""
    low, high, dtype = (118, 124, torch.float8_e8m0fnu) if vec_size == 32 else (48, 64, torch.float8_e4m3fn)
    shape = ((rows + 127) // 128 * 128, tokens // vec_size)
    return torch.randint(low, high, shape, device="cuda", dtype=torch.uint8).view(dtype)


def runs(experts, m, n, tokens):
    """Name to a call without arguments, for one shape."""
    offsets = torch.arange(1, experts + 1, device="cuda", dtype=torch.int32) * (tokens // experts)
    out = torch.empty(experts, m, n, device="cuda", dtype=torch.bfloat16)
    ones = torch.ones(experts, device="cuda")
    x, dy = (torch.randn(tokens, rows, device="cuda", dtype=torch.bfloat16) for rows in (m, n))
    x8, dy8 = (torch.randn(rows, tokens, device="cuda").to(torch.float8_e4m3fn) for rows in (m, n))
    x8_mn, dy8_mn = x8.t().contiguous(), dy8.t().contiguous()
    x4, dy4 = (torch.randint(0, 256, (rows, tokens // 2), device="cuda", dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
               for rows in (m, n))
    mx = {"x_scale": scales(m, tokens, 32), "dy_scale": scales(n, tokens, 32)}
    nv = {"x_scale": scales(m, tokens, 16), "dy_scale": scales(n, tokens, 16), "x_global_scale": ones,
          "dy_global_scale": ones}

    def call(a, b, **more):
        return lambda: wgrad.grouped_wgrad(a, b, offsets, out=out, **more)

    calls = {"bf16": call(x, dy)}
    for tile in TILES:
        text = f"{tile[0]}x{tile[1]}"
        calls[f"mxfp8 K {text}"] = call(x8.t(), dy8.t(), mma_tiler_mn=tile, **mx)
        calls[f"mxfp8 MN {text}"] = call(x8_mn, dy8_mn, mma_tiler_mn=tile, **mx)
        calls[f"nvfp4 {text}"] = call(x4.t(), dy4.t(), mma_tiler_mn=tile, **nv)
        calls[f"mxfp4 {text}"] = call(x4.t(), dy4.t(), mma_tiler_mn=tile, sf_vec_size=32, **mx)
    return calls


def timed(call):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    flush = torch.empty(128 << 20, device="cuda", dtype=torch.uint8)
    for name, shape in SHAPES.items():
        times = {}
        for key, call in runs(*shape).items():
            try:
                call()
                times[key] = (call, [])
            except ValueError as refused:  # a tile that the format's kernels do not have
                print(f"  {key}: {str(refused)[:120]}")
        for _ in range(rounds):
            for call, taken in times.values():
                flush.zero_()
                taken.append(timed(call))
        medians = {key: statistics.median(taken) for key, (_, taken) in times.items()}
        base = medians.pop("bf16")
        flops = 2 * shape[1] * shape[2] * shape[3]
        print(f"{name}: bf16 {flops / base / 1e9:.0f} TFLOP/s;", ", ".join(f"{k} {v / base:.2f}" for k, v in medians.items()),
              flush=True)
        times.clear()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
