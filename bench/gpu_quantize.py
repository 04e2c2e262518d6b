#!/usr/bin/env python3
"""TB/s that quantising on a GPU moves, beside those of a copy: source read once (twice where global
scales are computed), codes and scale factors written once. Usage: gpu_quantize.py [--json FILE]"""

import argparse
import json
import statistics

import torch
import wgrad
from timing import interleaved_ms

TOKENS, ROWS, EXPERTS = 65536, 7168, 32
KINDS = {
    "mxfp8": {"format": "mxfp8"},
    "mxfp8 mn": {"format": "mxfp8", "major": "mn"},
    "mxfp4": {"format": "mxfp4"},
    "nvfp4": {"format": "nvfp4"},
    "nvfp4 given": {"format": "nvfp4", "global": True},
    "nvfp4 random": {"format": "nvfp4", "stochastic_seed": 1},
    "nvfp4 hadamard": {"format": "nvfp4", "hadamard_seed": 1},
    "nvfp4 both": {"format": "nvfp4", "stochastic_seed": 1, "hadamard_seed": 1},
}


def ends(step: int) -> torch.Tensor:
    """Counts of 1/2 to 3/2 of the mean, multiples of `step`."""
    generator = torch.Generator().manual_seed(1)
    mean = TOKENS // EXPERTS
    counts = torch.randint(mean // 2, mean + mean // 2, (EXPERTS,), generator=generator)
    counts = counts * TOKENS // counts.sum() // step * step
    return counts.cumsum(0).to(torch.int32).cuda()


def moved_bytes(x: torch.Tensor, kind: dict, q: wgrad.Quantized, tokens: int) -> int:
    reads = 2 if kind["format"] == "nvfp4" and not kind.get("global") else 1
    read = reads * tokens * x.shape[1] * x.element_size()
    return read + q.elements.numel() * q.elements.element_size() + q.scales.numel()


def cases():
    x = torch.randn(TOKENS, ROWS, device="cuda").to(torch.bfloat16)
    wide = x[: TOKENS // 2].float()
    turned = x.t().contiguous().t()
    for counts, step in (("128s", 128), ("any", 2)):
        for name, kind in KINDS.items():
            yield f"{name}, counts {counts}", x, kind, ends(step)
    for name in ("mxfp8", "mxfp4", "nvfp4"):
        yield f"{name}, K-major source", turned, KINDS[name], ends(128)
        yield f"{name}, float32", wide, KINDS[name], (ends(256) // 256 * 128).to(torch.int32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    device = torch.device("cuda", torch.cuda.current_device())
    calls, sizes = {}, {}
    source, target = (torch.empty(1 << 30, dtype=torch.uint8, device=device) for _ in range(2))
    source.random_()
    calls["copy"], sizes["copy"] = lambda: target.copy_(source), 2 << 30
    for name, x, kind, offsets in cases():
        arguments = {key: value for key, value in kind.items() if key != "global"}
        if kind.get("global"):
            arguments["global_scale"] = torch.full((EXPERTS,), 1e-3, device=device)

        def call(x=x, offsets=offsets, arguments=arguments):
            return wgrad.quantize(x, offsets, **arguments)

        calls[name] = call
        sizes[name] = moved_bytes(x, kind, call(), int(offsets[-1]))
    times = interleaved_ms(calls, device, options.rounds)
    rates = {name: sizes[name] / statistics.median(ms) / 1e9 for name, ms in times.items()}
    for name, rate in rates.items():
        milliseconds = statistics.median(times[name])
        print(f"{name:28s} {milliseconds:7.3f} ms {rate:5.2f} TB/s {rate / rates['copy']:5.2f} of a copy")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"tb_per_s": rates, "ms": times}, file, indent=1)


if __name__ == "__main__":
    main()
