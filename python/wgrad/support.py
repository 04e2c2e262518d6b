"""What runs here, and why not."""

from __future__ import annotations

import inspect
from typing import Any

from . import _core
from ._checks import backend_name
from ._functions import NATURAL
from ._refusals import refuse
from .natural import grouped_wgrad
from .quantize import Quantized, packed, unwrap

_ARGUMENTS = inspect.signature(grouped_wgrad)
_FIELDS = (
    "described by the fields of Problem: experts, m, n and tokens, integers of 64 bits, and any of "
    "the others that help(wgrad.Problem) lists"
)


def devices() -> list[_core.DeviceSpec]:
    """The devices of this machine: the CPU, then every CUDA device."""
    cuda = [_core.cuda_device(ordinal) for ordinal in range(_core.cuda_device_count())]
    return [_core.cpu_device(), *cuda]


def support(
    x: Any = None,
    dy: Any = None,
    offsets: Any = None,
    *,
    device: _core.DeviceSpec | None = None,
    backend: str | None = None,
    **fields: Any,
) -> _core.Support:
    """Whether a problem can run, as an object that is true or false and lists every reason.

    Three spellings::

        support(Problem(...))                       # a Problem
        support(experts=4, m=64, n=64, tokens=256)  # its fields, see Problem
        support(x, dy, offsets, out=..., ...)       # sample tensors, arguments of grouped_wgrad

    Args:
        x: a Problem, or a sample x; None with fields.
        dy, offsets: samples, with a sample x. Their strides count: the rows of 16-bit operands
            are 16-byte aligned. Addresses, the values of offsets and whether a torch tensor requires grad
            are a call's own and change no answer, as stream and workspace do not.
        device: a DeviceSpec. Default: the sample tensors' device, else this machine's first CUDA
            device, else its CPU.
        backend: ask this backend alone.

    Raises:
        ValueError: sample tensors that do not fit together, and names that neither Problem nor
            grouped_wgrad has.
    """
    contract, problem = _read(x, dy, offsets, backend, fields)
    if contract is not None:
        return contract.support(_core.Api.NATURAL, None if device is None else _device(device))
    return _core.check_support(problem, _device(device), backend_name(backend))


def explain(
    x: Any = None,
    dy: Any = None,
    offsets: Any = None,
    *,
    device: _core.DeviceSpec | None = None,
    **fields: Any,
) -> _core.Explanation:
    """What every backend's planner would do and why; arguments and errors as support(), but for
    ``backend``, which is refused."""
    if "backend" in fields:
        raise refuse("backend", repr(fields["backend"]), "left out: the answer names every backend")
    contract, problem = _read(x, dy, offsets, None, fields)
    if contract is not None:
        return contract.explain(_core.Api.NATURAL, None if device is None else _device(device))
    return _core.explain(problem, _device(device))


def _device(device: Any) -> _core.DeviceSpec:
    """`device`, by default this machine's first CUDA device, else its CPU."""
    if isinstance(device, _core.DeviceSpec):
        return device
    if device is not None:
        raise refuse("device", repr(device), "a DeviceSpec, such as those that devices() lists")
    return _core.cuda_device(0) if _core.cuda_device_count() > 0 else _core.cpu_device()


def _read(
    x: Any, dy: Any, offsets: Any, backend: str | None, fields: dict[str, Any]
) -> tuple[_core.Contract | None, _core.Problem]:
    if x is None and dy is None and offsets is None:
        try:
            return None, _core.Problem(**fields)
        except TypeError as error:
            raise refuse("the problem", repr(fields), _FIELDS) from error
    if isinstance(x, _core.Problem):
        if dy is not None or offsets is not None or fields:
            raise refuse("x", "a Problem", "the only argument besides device and backend")
        return None, x
    for name in fields.keys() - _ARGUMENTS.parameters.keys():
        raise refuse(name, "given", "left out: grouped_wgrad has no such argument")
    contract = _sample(x, dy, offsets, backend=backend, **fields)
    return contract, contract.problem


def _sample(*args: Any, **kwargs: Any) -> _core.Contract:
    """Of grouped_wgrad's arguments; stream and workspace are a call's own and change no answer."""
    bound = _ARGUMENTS.bind(*args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments | {"stream": None, "workspace": None}
    if isinstance(given["x"], Quantized) or isinstance(given["dy"], Quantized):
        given.update(unwrap(given | {"offsets": None}))
    given.update(x=packed(given["x"]), dy=packed(given["dy"]))

    def read(chosen: _core.Options) -> _core.Contract:
        return _core.Call(_core.Api.NATURAL, chosen, given, holds_data=False).contract()

    return read(NATURAL.options(given, read))
