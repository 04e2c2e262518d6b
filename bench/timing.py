"""Interleaved timing of GPU callables: every candidate meets the same clocks and temperatures."""

from collections.abc import Callable, Mapping

import torch

FLUSH_BYTES = 256 << 20  # several times the largest L2


class Flusher:
    """Overwrites the L2 cache, so that each timed call starts from device memory."""

    def __init__(self, device: torch.device):
        self._buffer = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=device)

    def __call__(self) -> None:
        self._buffer.zero_()


def interleaved_ms(
    candidates: Mapping[str, Callable[[], object]], device: torch.device, rounds: int, warmup: int = 2
) -> dict[str, list[float]]:
    """Milliseconds of each call: one call of every candidate a round, L2 flushed before each."""
    flush = Flusher(device)
    for call in candidates.values():
        for _ in range(warmup):
            call()
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        events = []
        for name, call in candidates.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flush()
            start.record()
            call()
            end.record()
            events.append((name, start, end))
        torch.cuda.synchronize(device)
        for name, start, end in events:
            times[name].append(start.elapsed_time(end))
    return times
