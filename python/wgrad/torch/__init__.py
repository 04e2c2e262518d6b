"""Layers of a mixture of experts on torch, whose weight gradients wgrad computes.

``grouped_linear`` is the function, ``GroupedLinear`` and ``GroupedMLP`` are the modules. Tokens are
sorted by expert and ``offsets`` (E,) int32 holds the cumulative ends of the experts, on the tokens'
device: no value of it reaches the host, so nothing waits for a GPU.

Forward and input gradient go through torch's grouped matmul, or through a function that is given;
the weight gradient goes through wgrad, into ``main_grad`` where a parameter has one.
``DelayedGradients`` keeps weight gradients for later; ``patch_torch_grouped_mm`` gives models that
call torch's own grouped matmul the same weight gradients. Rows past the last offset are never read;
what they hold in results is undefined, as in torch's own grouped matmul.
"""

from __future__ import annotations

from ._delay import DelayedGradients
from ._layers import GroupedLinear, GroupedMLP
from ._linear import grouped_linear
from ._patch import GroupedMmPatch, patch_torch_grouped_mm

__all__ = [
    "DelayedGradients",
    "GroupedLinear",
    "GroupedMLP",
    "GroupedMmPatch",
    "grouped_linear",
    "patch_torch_grouped_mm",
]
