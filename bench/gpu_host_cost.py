#!/usr/bin/env python3
"""Host microseconds of a warm call on a GPU, and seconds of a first one, for several expert counts.

Calls are queued without waiting, a few hundred at a time, so the host's own cost is what is timed.
"""

import argparse
import statistics
import time

import torch
import wgrad

CALLS = 200
ROUNDS = 15


def tensors(experts: int, tokens_each: int = 4, m: int = 64, n: int = 64):
    x = torch.randn(experts * tokens_each, m, device="cuda", dtype=torch.bfloat16)
    dy = torch.randn(experts * tokens_each, n, device="cuda", dtype=torch.bfloat16)
    offsets = torch.arange(1, experts + 1, device="cuda", dtype=torch.int32) * tokens_each
    return x, dy, offsets, torch.empty(experts, m, n, device="cuda", dtype=torch.bfloat16)


def microseconds(call) -> float:
    """Median over rounds of the host time of one call."""
    call()
    samples = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        samples.append((time.perf_counter() - start) / CALLS * 1e6)
    return statistics.median(samples)


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    x, dy, offsets, out = tensors(8)
    start = time.perf_counter()
    wgrad.grouped_wgrad(x, dy, offsets, out=out)
    torch.cuda.synchronize()
    print(f"first call: {time.perf_counter() - start:.3f} s")
    for experts in (8, 64, 512):
        x, dy, offsets, out = tensors(experts)
        op = wgrad.GroupedGemmWgrad(x.t(), dy, None, None, offsets, sample_wgrad=out)
        op.check_support()
        op.compile()
        stream = torch.cuda.current_stream().cuda_stream
        a = x.t()
        natural = microseconds(lambda: wgrad.grouped_wgrad(x, dy, offsets, out=out))
        execute = microseconds(
            lambda: op.execute(a, dy, None, None, offsets, out, current_stream=stream)
        )
        peer = microseconds(lambda: torch.nn.functional.grouped_mm(x.t(), dy, offs=offsets))
        print(
            f"E {experts:4d}: grouped_wgrad {natural:5.1f} us, execute {execute:5.1f} us, "
            f"torch grouped_mm {peer:5.1f} us"
        )


if __name__ == "__main__":
    main()
