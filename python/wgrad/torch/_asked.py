"""What a backward pass is to do with a layer's weight gradients.

``y.backward()`` accumulates those of all parameters. ``torch.autograd.grad(y, inputs)`` and
``y.backward(inputs=...)`` concern some tensors alone, and the former accumulates nowhere: pipelines
that divide a backward pass in two ask so for input gradients first, for those of weights later.
"""

from __future__ import annotations

import enum
from typing import Any

import torch


class Asked(enum.Enum):
    """What the gradients of weights are asked for."""

    NOT = "nothing: others are asked for alone"
    ACCUMULATED = "a parameter's grad, or its main_grad"
    RETURNED = "the caller of torch.autograd.grad, so that main_grad is not touched"


def asked_for(node: Any, count: int) -> Asked:
    """Within the backward pass of `node`, whose inputs are x, offsets and then `count` weights."""
    probe = getattr(torch._C, "_will_engine_execute_node", None)
    if probe is None:  # an older torch: as if all were asked for
        return Asked.ACCUMULATED
    answers = [_of(each, probe) for each, _ in node.next_functions[2 : 2 + count]]
    for asked in (Asked.ACCUMULATED, Asked.RETURNED):
        if asked in answers:
            return asked
    return Asked.NOT


def _of(node: Any, probe: Any) -> Asked:
    """Of one weight: a parameter, a view of one, what is computed from some; None: a frozen one."""
    if node is None:
        return Asked.NOT
    leaf = node
    while leaf is not None and leaf.next_functions:
        leaf = leaf.next_functions[0][0]
    try:
        if not probe(node):
            return Asked.NOT
        accumulated = leaf is not None and probe(leaf)
    except RuntimeError:  # what torch says of a leaf whose gradient autograd.grad() returns
        return Asked.RETURNED
    return Asked.ACCUMULATED if accumulated else Asked.RETURNED
