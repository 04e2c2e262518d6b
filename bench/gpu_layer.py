#!/usr/bin/env python3
"""Times a layer of a mixture of experts in training: gate and up fused, SwiGLU, down; 8 micro-batches
forward and backward, weight gradients added to float32 main_grad.

Every product found here computes the same layer in turns. The time in weight gradients is what a step
takes beyond one whose weights are frozen. Gradients are compared before anything is timed.
"""

import argparse
import json
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import layer_products

MICRO_BATCHES = 8


@dataclass(frozen=True)
class Layer:
    """E experts of `hidden` to `inner` and back, `tokens` rows a micro-batch over all experts."""

    name: str
    experts: int
    hidden: int
    inner: int
    tokens: int


LAYERS = [
    Layer("qwen3-30b-a3b", 128, 2048, 768, 131072),
    Layer("gpt-oss-120b-ep4", 32, 2880, 2880, 65536),
    Layer("olmoe", 64, 2048, 1024, 65536),
    Layer("mixtral-8x7b", 8, 4096, 14336, 32768),
]


def jittered_counts(layer: Layer) -> np.ndarray:
    """Tokens of each expert, 0.7 to 1.3 of even."""
    weights = np.random.default_rng(0).uniform(0.7, 1.3, layer.experts)
    ends = np.floor(np.cumsum(weights) / weights.sum() * layer.tokens).astype(np.int64)
    ends[-1] = layer.tokens
    return np.diff(ends, prepend=0)


class Candidate:
    """The layer with one product; weights are shared, parameters and main_grads its own."""

    def __init__(self, product, gate_up, down, x, offsets):
        self.product, self.x, self.offsets = product, x, offsets
        self.gate_up, self.down = product.parameter(gate_up), product.parameter(down)
        for parameter in self.parameters:
            parameter.main_grad = torch.zeros(parameter.shape, device=x.device)
        self.dy = torch.randn_like(x)

    @property
    def parameters(self):
        return self.gate_up, self.down

    def micro_batch(self) -> None:
        gate, up = self.product(self.x, self.gate_up, self.offsets).chunk(2, -1)
        inner = torch.nn.functional.silu(gate) * up
        self.product(inner, self.down, self.offsets).backward(self.dy)
        self.x.grad = None

    def step(self, micro_batches=MICRO_BATCHES) -> None:
        for _ in range(micro_batches):
            self.micro_batch()

    def frozen(self, flag: bool) -> None:
        for parameter in self.parameters:
            parameter.requires_grad_(not flag)


def milliseconds(device, call) -> float:
    if device.type != "cuda":
        start = time.perf_counter()
        call()
        return 1e3 * (time.perf_counter() - start)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    torch.cuda.synchronize(device)
    return start.elapsed_time(end)


def peak_gib(device, call) -> float:
    """Most memory beyond what is held already."""
    if device.type != "cuda":
        return 0.0
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    call()
    torch.cuda.synchronize(device)
    return (torch.cuda.max_memory_allocated(device) - before) / 2**30


def worst_difference(one, other) -> float:
    """Largest difference of two candidates' main_grads, relative to their peaks."""
    worst = 0.0
    for a, b in zip(one.parameters, other.parameters):
        a, b = layer_products.main_grad(a), layer_products.main_grad(b)
        worst = max(worst, ((a - b).abs().max() / b.abs().max().clamp(min=1e-30)).item())
    return worst


def measure(layer: Layer, device: torch.device, rounds: int) -> dict:
    torch.manual_seed(0)
    counts = jittered_counts(layer)
    offsets = torch.tensor(counts.cumsum(), dtype=torch.int32, device=device)
    like = {"dtype": torch.bfloat16, "device": device}
    gate_up = torch.randn(layer.experts, layer.hidden, 2 * layer.inner, **like) * layer.hidden**-0.5
    down = torch.randn(layer.experts, layer.inner, layer.hidden, **like) * layer.inner**-0.5
    x = torch.randn(layer.tokens, layer.hidden, **like).requires_grad_()
    products, missing = layer_products.found(counts)
    candidates, failures = {}, {}
    dy = torch.randn_like(x)
    for name, product in products.items():
        candidate = Candidate(product, gate_up, down, x, offsets)
        candidate.dy = dy
        try:
            candidate.step(1)
        except Exception as error:  # one that refuses a shape is a finding, not the end
            failures[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
            continue
        candidates[name] = candidate
    differences = {name: worst_difference(c, candidates["wgrad"]) for name, c in candidates.items()}
    row = {"layer": layer.name, "experts": layer.experts, "hidden": layer.hidden,
           "inner": layer.inner, "tokens": layer.tokens, "differences": differences,
           "failures": failures, "missing": missing, "step_ms": {}, "wgrad_ms": {}, "peak_gib": {}}
    steps = {name: [] for name in candidates}
    frozen = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, candidate in candidates.items():
            steps[name].append(milliseconds(device, candidate.step))
            candidate.frozen(True)
            frozen[name].append(milliseconds(device, candidate.step))
            candidate.frozen(False)
    for name, candidate in candidates.items():
        row["step_ms"][name] = statistics.median(steps[name])
        row["wgrad_ms"][name] = row["step_ms"][name] - statistics.median(frozen[name])
        row["peak_gib"][name] = peak_gib(device, candidate.step)
    return row


def describe(row: dict) -> str:
    parts = [f"{row['layer']:<18}"]
    for name, ms in row["step_ms"].items():
        parts.append(f"{name} step {ms:8.2f} ms, weight gradients {row['wgrad_ms'][name]:8.2f} ms, "
                     f"peak {row['peak_gib'][name]:.2f} GiB")
    if "grouped_mm" in row["step_ms"]:
        ratio = row["wgrad_ms"]["grouped_mm"] / max(row["wgrad_ms"]["wgrad"], 1e-9)
        step = row["step_ms"]["grouped_mm"] / row["step_ms"]["wgrad"]
        parts.append(f"step x{step:.2f}, weight gradients x{ratio:.2f}")
    parts += [f"[{name}: {text}]" for name, text in row["failures"].items()]
    return "; ".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], help="names of layers; all by default")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--scale", type=int, default=1, help="divides all widths and tokens: a trial")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    device = torch.device(args.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    report = {"device": name, "torch": torch.__version__, "micro_batches": MICRO_BATCHES, "rows": []}
    for layer in LAYERS:
        if args.only and layer.name not in args.only:
            continue
        s = args.scale
        layer = Layer(layer.name, layer.experts, layer.hidden // s, layer.inner // s, layer.tokens // s)
        row = measure(layer, device, args.rounds)
        report["rows"].append(row)
        print(describe(row), flush=True)
        if args.json:
            args.json.write_text(json.dumps(report, indent=1))
    return 1 if any(max(row["differences"].values()) > 2e-2 for row in report["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main())
