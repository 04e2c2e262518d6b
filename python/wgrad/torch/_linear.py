"""grouped_linear: one linear layer an expert, with gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .. import _core
from .._refusals import shown
from . import _main_grad, _operators
from ._asked import Asked, asked_for
from ._checks import autocast_to, check_layer
from ._delay import DelayedGradients, Job, require_leaves
from ._matmul import Matmul, bias_rows, grouped_matmul
from ._tracing import is_recorded, is_transformed, refuse
from ._weight_gradient import bias_gradient, compute, compute_into, in_rows, stack

del _operators

_TWICE = (
    b"wgrad: grouped_linear is differentiated twice; it must be once: no second derivative is "
    b"there (create_graph=True asks for one)"
)


def grouped_linear(
    x: torch.Tensor,
    weight: torch.Tensor | Sequence[torch.Tensor],
    offsets: torch.Tensor,
    bias: torch.Tensor | Sequence[torch.Tensor] | None = None,
    *,
    main_grad: torch.Tensor | Sequence[torch.Tensor] | None = None,
    is_first_microbatch: bool | None = None,
    matmul: Matmul | None = None,
    delay: DelayedGradients | None = None,
    sm_limit: int | None = None,
    owners: Sequence[torch.Tensor] | None = None,
) -> torch.Tensor:
    """``y[begin:end] = x[begin:end] @ weight[e] + bias[e]`` for the tokens of every expert e.

    Args:
        x: (T, M) tokens sorted by expert, bfloat16 or float16; any float dtype under autocast.
        weight: (E, M, N) of x's dtype (under autocast any), M and N multiples of 8: packed, or the
            transpose(-2, -1) of packed (E, N, M); or a list of E such matrices.
        offsets: (E,) int32 on x's device, the cumulative ends of the experts.
        bias: (E, N), or a list of E vectors (N,).
        main_grad: the buffer, or list of buffers, of the weight's shape that its gradient is added
            to, straight from float32: float32, bfloat16 or float16. Default: ``main_grad`` of the
            parameter, also of one whose transpose is given. With a buffer, ``grad`` stays None, or
            holds no gradient where ``grad_added_to_main_grad`` or a hook asks for one.
        is_first_microbatch: True overwrites main_grad, which then is never read. Otherwise the
            parameter's ``overwrite_main_grad`` decides.
        matmul: computes (T, M) x (E, M, N) by offsets, for the output and the input gradient.
            Default: torch's grouped matmul, or a loop where this torch has none for the device.
        delay: keeps the weight gradient for a later ``backward_dw()``.
        sm_limit: most multiprocessors of a GPU that the weight gradient may occupy; None on a CPU.
        owners: the parameters whose attributes and ``grad`` count, one for each weight. Default:
            the weights, or what they are views of; a compiled graph cannot find the latter.

    Returns:
        (T, N). Rows past the last offset are undefined, as they are in x's gradient.

    Raises:
        ValueError: a bad argument, by name, before anything is computed.
        RuntimeError: a transform of torch.func; delay while a graph is recorded, or with a weight
            that is no parameter. Second derivatives raise in the backward pass that needs them.
    """
    weights = [weight] if isinstance(weight, torch.Tensor) else list(weight)
    cast = autocast_to(x.device.type) if isinstance(x, torch.Tensor) else None
    if cast is not None:
        x = x.to(cast)
    if is_transformed():
        raise _core.RuntimeError(
            "wgrad: grouped_linear is called under torch.func (grad, vjp, jvp, vmap), which cannot take "
            "it apart; it must be differentiated by backward() or torch.autograd.grad"
        )
    recorded = is_recorded(x, *weights)
    check_layer(x, weights, offsets, isinstance(weight, torch.Tensor), sm_limit, recorded)
    _check_choices(is_first_microbatch, matmul, delay, owners, len(weights))
    transposed = weights[0].stride(-1) != 1 and weights[0].stride(-2) == 1
    given = [main_grad] if isinstance(main_grad, torch.Tensor) else list(main_grad or ())
    owners = list(owners) if owners else [_main_grad.owner_of(weight) for weight in weights]
    buffers = _buffers(weights, owners, given)
    if delay is not None:
        if recorded:
            raise _core.RuntimeError("wgrad: delay is given and a graph is recorded; it must be None")
        require_leaves(weights, owners)
        # Leaves of their own: no hook of a parameter fires before its gradient is there.
        weights = [w.detach().requires_grad_(w.requires_grad) for w in weights]
    note: Any = tuple(owners)
    if recorded:  # a recorded graph holds no parameter: what is to be marked is marked here
        note = _recorded_note(owners) if buffers else None
    y: torch.Tensor = _GroupedLinear.apply(
        x, offsets, len(weights), transposed, is_first_microbatch, sm_limit, matmul, delay, note,
        *weights, *buffers,
    )
    if bias is not None:
        y = _add_bias(y, bias, offsets, weights, isinstance(weight, torch.Tensor))
    return y


def _check_choices(
    is_first_microbatch: Any, matmul: Any, delay: Any, owners: Any, count: int
) -> None:
    if is_first_microbatch not in (None, True, False):
        raise refuse("is_first_microbatch", shown(is_first_microbatch), "True, False or None")
    if matmul is not None and not callable(matmul):
        raise refuse("matmul", shown(matmul), "a function (x, weight, offsets), or None")
    if delay is not None and not isinstance(delay, DelayedGradients):
        raise refuse("delay", shown(delay), "a DelayedGradients, or None")
    if owners is not None and len(owners) not in (0, count):
        raise refuse("owners", f"{len(owners)} tensors", f"{count}, as the weights are")


def _buffers(
    weights: Sequence[torch.Tensor], owners: Sequence[torch.Tensor], given: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """The main_grads that this call writes: of all weights or of none."""
    if given and len(given) != len(weights):
        raise refuse("main_grad", f"{len(given)} tensors", f"{len(weights)}, as the weights are")
    if not any(weight.requires_grad for weight in weights) or not torch.is_grad_enabled():
        return []
    found = [
        _main_grad.buffer_of(w, o, given[i] if given else None, "main_grad")
        for i, (w, o) in enumerate(zip(weights, owners))
    ]
    buffers = [buffer for buffer in found if buffer is not None]
    if buffers and len(buffers) != len(weights):
        raise refuse("main_grad", f"of {len(buffers)} weights", f"of all {len(weights)}, or of none")
    if len({_main_grad.is_turned(buffer) for buffer in buffers}) > 1:
        raise refuse("main_grad", "in part transposed", "of one orientation for all weights")
    return buffers


def _recorded_note(owners: Sequence[torch.Tensor]) -> str:
    """What a recorded backward pass hands to autograd: "nothing", "memory" or "zeros"; the flag is
    set in the forward pass, since the graph of the backward pass holds no parameter."""
    overwrite = "overwrite " if getattr(owners[0], "overwrite_main_grad", False) else ""
    if not any(_main_grad.wants_grad(owner) for owner in owners):
        return overwrite + "nothing"
    for owner in owners:
        _main_grad.mark_added(owner)
    zeros = any(getattr(owner, "zero_out_wgrad", False) for owner in owners)
    return overwrite + ("zeros" if zeros else "memory")


class _GroupedLinear(torch.autograd.Function):
    """The matrix product; owners (eager) or a note (recorded) tell what becomes of main_grad."""

    @staticmethod
    def forward(  # type: ignore[no-untyped-def]
        ctx, x, offsets, count, transposed, is_first_microbatch, sm_limit, matmul, delay, note, *of
    ):
        weights, ctx.buffers = of[:count], of[count:]
        x, stacked = in_rows(x), _stacked(weights, x.dtype)
        needs_x, needs_weight = ctx.needs_input_grad[0], any(ctx.needs_input_grad[9 : 9 + count])
        ctx.save_for_backward(x if needs_weight else None, stacked if needs_x else None, offsets)
        ctx.transposed, ctx.is_first_microbatch = transposed, is_first_microbatch
        ctx.sm_limit, ctx.matmul, ctx.delay, ctx.note = sm_limit, matmul, delay, note
        ctx.count, ctx.weight_dtype, ctx.weight_shape = count, weights[0].dtype, weights[0].shape
        ctx.weights = weights if delay is not None else None
        return _product(matmul, x, stacked, offsets)

    @staticmethod
    def backward(ctx, dy):  # type: ignore[no-untyped-def]
        if is_recorded(dy):
            return _gradients(ctx, dy)
        with torch.no_grad():
            gradients = _gradients(ctx, dy)
        return _once(gradients) if torch.is_grad_enabled() else gradients


def _product(
    matmul: Matmul | None, x: torch.Tensor, weight: torch.Tensor, offsets: torch.Tensor
) -> torch.Tensor:
    if matmul is not None:
        return matmul(x, weight, offsets)
    if is_recorded(x, weight):
        y: torch.Tensor = torch.ops.wgrad.grouped_matmul(x, weight, offsets)
        return y
    if autocast_to(x.device.type) is None:
        return grouped_matmul(x, weight, offsets)
    with torch.autocast(x.device.type, enabled=False):
        return grouped_matmul(x, weight, offsets)


def _stacked(weights: Sequence[torch.Tensor], dtype: torch.dtype) -> torch.Tensor:
    """The weights as one (E, M, N) tensor of `dtype`, without a copy where they lie so already."""
    if weights[0].ndim == 3:
        return weights[0].to(dtype)
    view = None if is_recorded(*weights) else stack(weights)
    return (torch.stack(list(weights)) if view is None else view).to(dtype)


def _gradients(ctx: Any, dy: torch.Tensor) -> tuple[Any, ...]:
    x, weight, offsets = ctx.saved_tensors
    dy = in_rows(dy)
    dx = None
    if weight is not None:
        dx = _product(ctx.matmul, dy, weight.transpose(-2, -1), offsets)
    of_weights: Sequence[Any] = (None,) * ctx.count
    asked = Asked.ACCUMULATED
    if x is not None and ctx.delay is None and not is_recorded(dy):
        asked = asked_for(ctx, ctx.count)
    if x is not None and asked is not Asked.NOT:
        of_weights = _weight_gradients(ctx, x, dy, offsets, asked)
    return (dx, *(None,) * 8, *of_weights, *(None,) * len(ctx.buffers))


def _weight_gradients(
    ctx: Any, x: torch.Tensor, dy: torch.Tensor, offsets: torch.Tensor, asked: Asked
) -> Sequence[torch.Tensor | None]:
    if ctx.delay is not None:
        ctx.delay.put(
            Job(x, dy, offsets, ctx.weights, ctx.note, ctx.buffers, ctx.transposed,
                ctx.is_first_microbatch, ctx.sm_limit)
        )
        return [None] * len(ctx.weights)
    if ctx.buffers and asked is Asked.ACCUMULATED:
        outs = _main_grad.outputs(ctx.buffers, _wanted(ctx))
        compute_into(x, dy, offsets, outs, _accumulates(ctx), ctx.sm_limit)
        return _placeholders(ctx)
    gradient = compute(x, dy, offsets, ctx.weight_dtype, ctx.transposed, ctx.sm_limit)
    return [gradient] if len(ctx.weight_shape) == 3 else gradient.unbind(0)


def _wanted(ctx: Any) -> Sequence[bool]:
    """Of each weight, whether it is to get a gradient."""
    wanted: Sequence[bool] = ctx.needs_input_grad[9 : 9 + ctx.count]
    return wanted


def _accumulates(ctx: Any) -> bool:
    if isinstance(ctx.note, str):
        return not (ctx.is_first_microbatch or ctx.note.startswith("overwrite"))
    return _main_grad.accumulates(ctx.note, ctx.is_first_microbatch)


def _placeholders(ctx: Any) -> Sequence[torch.Tensor | None]:
    """What autograd gets for weights whose gradients are in their main_grads."""
    if isinstance(ctx.note, str):
        kind, owners = ctx.note.removeprefix("overwrite "), [None] * ctx.count
    else:
        kind, owners = "", ctx.note
    found: list[torch.Tensor | None] = []
    for buffer, owner, wanted in zip(ctx.buffers, owners, _wanted(ctx)):
        if not wanted:
            found.append(None)
            continue
        if owner is not None:
            kind = _main_grad.kind_of_grad(owner)
            _main_grad.mark_added(owner)
        found.append(_main_grad.placeholder(kind, buffer, ctx.weight_dtype, ctx.transposed))
    return found


def _once(gradients: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradients, as results that cannot be differentiated again."""
    stop: Any = torch._C._functions.DelayedError(_TWICE, len(gradients))
    leaves = [None if g is None else g.detach().requires_grad_() for g in gradients]
    return tuple(stop(*leaves))


def _add_bias(
    y: torch.Tensor, bias: Any, offsets: torch.Tensor, weights: Sequence[torch.Tensor], one: bool
) -> torch.Tensor:
    if not isinstance(bias, (torch.Tensor, Sequence, torch.nn.ParameterList)):
        raise refuse("bias", shown(bias), "a tensor (E, N), or a list of E vectors (N,)")
    rows = bias if isinstance(bias, torch.Tensor) else torch.stack(list(bias))
    experts, n = weights[0].shape[0] if one else len(weights), weights[0].shape[-1]
    if rows.shape != (experts, n):
        raise refuse("bias", f"of shape {tuple(rows.shape)}", f"of shape ({experts}, {n})")
    if rows.device != y.device:
        raise refuse("bias", f"on {rows.device}", f"on {y.device}, as x is")
    if not rows.is_floating_point():
        raise refuse("bias", str(rows.dtype), "of a float dtype")
    z: torch.Tensor = _AddBias.apply(y, rows, offsets)
    return z


class _AddBias(torch.autograd.Function):
    """Each row plus the bias of its expert; rows past the last offset get the last one's."""

    @staticmethod
    def forward(ctx, y, bias, offsets):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(offsets)
        ctx.dtype = bias.dtype
        return y + bias_rows(bias, offsets, y)

    @staticmethod
    def backward(ctx, dy):  # type: ignore[no-untyped-def]
        (offsets,) = ctx.saved_tensors
        if is_recorded(dy):
            return dy, _of_bias(ctx, dy, offsets), None
        with torch.no_grad():
            of_bias = _of_bias(ctx, dy, offsets)
        return (*_once((dy, of_bias)), None) if torch.is_grad_enabled() else (dy, of_bias, None)


def _of_bias(ctx: Any, dy: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor | None:
    if not ctx.needs_input_grad[1]:
        return None
    single = ctx.dtype in (torch.bfloat16, torch.float16, torch.float32)
    return bias_gradient(in_rows(dy), offsets, ctx.dtype if single else torch.float32).to(ctx.dtype)
