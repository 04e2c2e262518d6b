"""Samples that describe a tensor without holding memory."""

from __future__ import annotations

import sys
from typing import Any


def with_memory(sample: Any) -> Any:
    """`sample`; a torch tensor that is fake or whose memory was freed: an uninitialised one like it
    on the device it names, for as long as samples are read."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(sample, torch.Tensor) or sample.layout != torch.strided:
        return sample
    from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily

    fake = isinstance(sample, FakeTensor)
    if not fake and (sample.numel() == 0 or sample.untyped_storage().nbytes() > 0):
        return sample
    if not fake and sample.device.type == "meta":
        return sample
    device = sample.fake_device if fake else sample.device
    with unset_fake_temporarily():
        shape, strides = tuple(map(int, sample.shape)), tuple(map(int, sample.stride()))
        return torch.empty_strided(shape, strides, dtype=sample.dtype, device=device)
