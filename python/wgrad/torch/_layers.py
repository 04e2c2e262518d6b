"""GroupedLinear and GroupedMLP: one linear layer, one feed-forward network, an expert."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .. import _core
from .._checks import whole
from .._refusals import shown
from ._checks import MULTIPLE
from ._delay import DelayedGradients
from ._linear import grouped_linear
from ._matmul import Matmul
from ._tracing import refuse


class GroupedLinear(torch.nn.Module):
    """``y[begin:end] = x[begin:end] @ weight[e] + bias[e]`` for the tokens of every expert e.

    Called with (x, offsets), as grouped_linear. The parameters are ``weight`` (num_experts,
    in_features, out_features) and, with ``bias``, ``bias`` (num_experts, out_features); with
    ``separate``, ``weight0`` .. of one expert each, and one ``bias`` still.

    Args:
        num_experts, in_features, out_features: E, M, N; M and N are multiples of 8.
        bias: whether each expert has a bias.
        dtype, device: of the parameters; default: torch's. Without autocast the dtype is x's.
        transposed: parameters are (E, out_features, in_features), as of torch.nn.Linear.
        separate: a parameter an expert.
        matmul, sm_limit: as grouped_linear.
        delay: True: ``backward_dw()`` computes the weight gradients; a DelayedGradients: it does.
    """

    def __init__(
        self,
        num_experts: int,
        in_features: int,
        out_features: int,
        bias: bool = False,
        dtype: torch.dtype | None = None,
        device: Any = None,
        *,
        transposed: bool = False,
        separate: bool = False,
        matmul: Matmul | None = None,
        delay: bool | DelayedGradients = False,
        sm_limit: int | None = None,
    ) -> None:
        super().__init__()
        _check_extent("num_experts", num_experts, 1)
        _check_extent("in_features", in_features, MULTIPLE)
        _check_extent("out_features", out_features, MULTIPLE)
        if not isinstance(delay, (bool, DelayedGradients)):
            raise refuse("delay", shown(delay), "True, False or a DelayedGradients")
        self.num_experts, self.in_features, self.out_features = num_experts, in_features, out_features
        self.transposed, self.separate = transposed, separate
        self.matmul, self.sm_limit = matmul, sm_limit
        self.delayed = delay if isinstance(delay, DelayedGradients) else None
        if delay is True:
            self.delayed = DelayedGradients()
        self._after_wgrad: list[Callable[..., Any]] = []
        shape = (out_features, in_features) if transposed else (in_features, out_features)
        whole = torch.empty((num_experts, *shape), dtype=dtype, device=device)
        if separate:  # of one memory, where the forward pass finds them stacked
            for e in range(num_experts):
                self.register_parameter(f"weight{e}", torch.nn.Parameter(whole[e]))
        else:
            self.weight = torch.nn.Parameter(whole)
        biases = torch.empty((num_experts, out_features), dtype=dtype, device=device)
        self.bias = torch.nn.Parameter(biases) if bias else None
        if self.delayed is not None:
            for weight in self.weights():
                weight.skip_backward_post_hook = True  # type: ignore[attr-defined]
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform in +-1/sqrt(in_features), as torch.nn.Linear."""
        bound = 1 / math.sqrt(self.in_features)
        for parameter in self.parameters():
            torch.nn.init.uniform_(parameter, -bound, bound)

    def weights(self) -> list[torch.nn.Parameter]:
        """The parameters that hold weights: one, or one an expert."""
        if not self.separate:
            return [self.weight]
        return [getattr(self, f"weight{e}") for e in range(self.num_experts)]

    def forward(
        self, x: torch.Tensor, offsets: torch.Tensor, is_first_microbatch: bool | None = None
    ) -> torch.Tensor:
        """(T, in_features) to (T, out_features); is_first_microbatch=True overwrites main_grad.

        Raises what grouped_linear does; RuntimeError for delay where FSDP holds the parameters.
        """
        if self.delayed is not None and getattr(self, "_is_fsdp_managed_module", False):
            raise _core.RuntimeError(
                "wgrad: delay is given and FSDP holds the layer's parameters; it must be off, or they "
                "be among its ignored_params: FSDP divides gradients when a backward pass ends"
            )
        parameters = self.weights()
        turned = [p.transpose(-2, -1) if self.transposed else p for p in parameters]
        return grouped_linear(
            x,
            turned if self.separate else turned[0],
            offsets,
            self.bias,
            main_grad=_main_grads(parameters, self.transposed),
            owners=parameters,
            is_first_microbatch=is_first_microbatch,
            matmul=self.matmul,
            delay=self.delayed,
            sm_limit=self.sm_limit,
        )

    def backward_dw(self, limit: int | None = None) -> int:
        """Computes the weight gradients that backward passes left behind, the oldest `limit` of
        them or all; returns how many, 0 where delay is off."""
        if self.delayed is None:
            return 0
        count = self.delayed.backward_dw(limit)
        if count:
            for hook in self._after_wgrad:
                hook()
        return count

    def register_wgrad_accumulation_and_reduce_hooks(self, hook: Callable[..., Any]) -> None:
        """`hook()` runs after backward_dw(), once the gradients are there; distributed wrappers of
        parameters whose ``skip_backward_post_hook`` is true call this."""
        self._after_wgrad.append(hook)

    def extra_repr(self) -> str:
        return (
            f"num_experts={self.num_experts}, in_features={self.in_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class GroupedMLP(torch.nn.Module):
    """``down(silu(gate(x)) * up(x))`` for the tokens of every expert.

    Args:
        num_experts, hidden_size, intermediate_size: E, and the widths outside and inside.
        fused: gate and up are one GroupedLinear ``gate_up`` of twice the width, gate first;
            otherwise ``gate`` and ``up``.
        bias, dtype, device, and the rest: as GroupedLinear, for every layer.
    """

    def __init__(
        self,
        num_experts: int,
        hidden_size: int,
        intermediate_size: int,
        bias: bool = False,
        dtype: torch.dtype | None = None,
        device: Any = None,
        *,
        fused: bool = True,
        **options: Any,
    ) -> None:
        super().__init__()
        if options.get("delay") is True:
            options["delay"] = DelayedGradients()

        def linear(m: int, n: int) -> GroupedLinear:
            return GroupedLinear(num_experts, m, n, bias, dtype, device, **options)

        self.fused = fused
        if fused:
            self.gate_up = linear(hidden_size, 2 * intermediate_size)
        else:
            self.gate = linear(hidden_size, intermediate_size)
            self.up = linear(hidden_size, intermediate_size)
        self.down = linear(intermediate_size, hidden_size)

    def forward(
        self, x: torch.Tensor, offsets: torch.Tensor, is_first_microbatch: bool | None = None
    ) -> torch.Tensor:
        """(T, hidden_size) to (T, hidden_size)."""
        if self.fused:
            gate, up = self.gate_up(x, offsets, is_first_microbatch).chunk(2, -1)
        else:
            gate = self.gate(x, offsets, is_first_microbatch)
            up = self.up(x, offsets, is_first_microbatch)
        inner = torch.nn.functional.silu(gate) * up
        y: torch.Tensor = self.down(inner, offsets, is_first_microbatch)
        return y

    def backward_dw(self) -> int:
        """Computes all weight gradients that backward passes left behind; returns how many."""
        return sum(layer.backward_dw() for layer in self.children())  # type: ignore[operator]


def _main_grads(
    parameters: list[torch.nn.Parameter], transposed: bool
) -> list[torch.Tensor] | None:
    attributes = [getattr(p, "main_grad", None) for p in parameters]
    found: list[torch.Tensor] = [grad for grad in attributes if grad is not None]
    if not found:
        return None
    return [grad.transpose(-2, -1) for grad in found] if transposed else found


def _check_extent(name: str, value: Any, multiple: int) -> None:
    number = whole(value)
    if number is None or number < 1 or number % multiple:
        need = "1 or more" if multiple == 1 else f"a multiple of {multiple}, {multiple} or more"
        raise refuse(name, shown(value), need)
