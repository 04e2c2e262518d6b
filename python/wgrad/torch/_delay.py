"""Weight gradients kept for later: beside communication, or in the gaps of a pipeline."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import deque
from collections.abc import Sequence
from typing import Any

import torch

from .. import _core
from . import _main_grad
from ._weight_gradient import compute, compute_into


@dataclasses.dataclass
class Job:
    """One layer's weight gradient: operands, and the parameters that get it."""

    x: torch.Tensor
    dy: torch.Tensor
    offsets: torch.Tensor
    weights: Sequence[torch.Tensor]
    owners: Sequence[torch.Tensor]
    buffers: Sequence[torch.Tensor]
    transposed: bool
    is_first_microbatch: bool | None
    sm_limit: int | None
    ready: Any = None  #: the CUDA event after which the operands are there

    @property
    def wanted(self) -> list[bool]:
        """Of each weight, whether its parameter is to get a gradient."""
        return [weight.requires_grad for weight in self.weights]


class DelayedGradients:
    """A queue of weight gradients that backward passes leave behind, in their order.

    Given as ``delay`` to ``grouped_linear`` or a layer: its backward pass computes the input
    gradient alone and keeps the operands here. ``backward_dw()`` computes what is kept: into
    ``main_grad``, else into ``grad``, which it makes or adds to. Hooks that wait for an accumulated
    gradient (``register_post_accumulate_grad_hook``) run then.

    Args:
        stream: a torch.cuda.Stream on which the gradients are computed, behind the work that made
            their operands; ``wait()`` makes the current stream wait for it. None: the current
            stream of the call. The operands' memory is not reused before the stream is done.

    Not for two threads at once.
    """

    def __init__(self, stream: Any = None) -> None:
        self.stream = stream
        self._jobs: deque[Job] = deque()

    def __len__(self) -> int:
        return len(self._jobs)

    def put(self, job: Job) -> None:
        """Keeps `job`; on a GPU with a side stream, notes how far the current stream is."""
        if self.stream is not None and job.x.is_cuda:
            job.ready = torch.cuda.Event()  # type: ignore[no-untyped-call]
            job.ready.record(torch.cuda.current_stream(job.x.device))
        self._jobs.append(job)

    def backward_dw(self, limit: int | None = None) -> int:
        """Computes the oldest `limit` gradients, by default all; returns how many those were."""
        count = len(self._jobs) if limit is None else min(limit, len(self._jobs))
        for _ in range(count):
            self._compute(self._jobs.popleft())
        return count

    def wait(self) -> None:
        """The current stream waits for the side stream; without one nothing is to be done."""
        if self.stream is not None:
            torch.cuda.current_stream(self.stream.device).wait_stream(self.stream)

    @torch.no_grad()
    def _compute(self, job: Job) -> None:
        side = self.stream if job.x.is_cuda else None
        with torch.cuda.stream(side) if side is not None else contextlib.nullcontext():
            if side is not None:
                side.wait_event(job.ready)
            written = _deliver(job)
        if side is not None:
            for tensor in (job.x, job.dy, job.offsets, *written):
                tensor.record_stream(side)
        for owner, wanted in zip(job.owners, job.wanted):
            if not wanted:
                continue
            if job.buffers:
                _stand_in(owner)
                _main_grad.mark_added(owner)
            for hook in (getattr(owner, "_post_accumulate_grad_hooks", None) or {}).values():
                hook(owner)


def _stand_in(owner: torch.Tensor) -> None:
    """grad beside main_grad, where a framework or a hook asks for one."""
    kind = _main_grad.kind_of_grad(owner)
    if owner.grad is None and kind != "nothing":
        owner.grad = torch.zeros_like(owner) if kind == "zeros" else torch.empty_like(owner)


def _deliver(job: Job) -> Sequence[torch.Tensor]:
    """Computes into main_grad or grad; the tensors that were written. Raises RuntimeError for a
    parameter whose memory is gone, as FSDP frees that of a gathered one."""
    if any(o.numel() > 0 and o.untyped_storage().nbytes() == 0 for o in job.owners):
        raise _core.RuntimeError(
            "wgrad: the memory of a parameter was freed since the backward pass; it must be there "
            "until backward_dw(), or delay be off: FSDP divides gradients when a backward pass ends"
        )
    if job.buffers:
        outs, accumulate = job.buffers, _main_grad.accumulates(job.owners, job.is_first_microbatch)
    elif all(o.grad is None for o, wanted in zip(job.owners, job.wanted) if wanted):
        return _new_grads(job)
    else:
        outs, accumulate = _grads(job), True
    outs = _main_grad.outputs(outs, job.wanted)
    compute_into(job.x, job.dy, job.offsets, outs, accumulate, job.sm_limit)
    return outs


def _new_grads(job: Job) -> Sequence[torch.Tensor]:
    gradient = compute(
        job.x, job.dy, job.offsets, job.weights[0].dtype, job.transposed, job.sm_limit
    )
    stacked = job.weights[0].ndim == 3
    parts = [gradient] if stacked else gradient.unbind(0)
    for weight, owner, part in zip(job.weights, job.owners, parts):
        if weight.requires_grad:
            owner.grad = _main_grad.as_owner(part, weight, owner)
    return [gradient]


def _grads(job: Job) -> Sequence[torch.Tensor]:
    """grad of every parameter, in its weight's orientation; zeros where there was none. That of a
    frozen one is not written."""
    grads = []
    for weight, owner in zip(job.weights, job.owners):
        grad = torch.zeros_like(owner) if owner.grad is None else owner.grad
        if weight.requires_grad:
            owner.grad = grad
        grads.append(_main_grad.as_weight(grad, weight, owner))
    return grads


def require_leaves(weights: Sequence[torch.Tensor], owners: Sequence[torch.Tensor]) -> None:
    """Refuses weights to which no later gradient can be delivered."""
    if not all(owner.is_leaf for owner in owners):
        raise _core.RuntimeError(
            "wgrad: delay is given and weight is computed from parameters; it must be a parameter, "
            "its transpose(-2, -1), or a list of such, so that backward_dw() can deliver its gradient"
        )
    for weight, owner in zip(weights, owners):
        _main_grad.as_weight(owner, weight, owner)
