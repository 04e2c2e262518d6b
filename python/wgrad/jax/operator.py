"""The operator classes given JAX arrays: a contract, and what computes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from .. import _core, _jax_ffi
from .._refusals import refuse
from .._tensors import numpy_dtype
from . import pointers as _pointers
from .dense import dense
from .eager import prepared
from .statement import Statement, stand_in

_ARGUMENTS = {
    "experts": "E (length of offsets_tensor)",
    "m": "M (rows of a_tensor)",
    "n": "N (columns of b_tensor)",
    "a_dtype": "a_tensor",
    "b_dtype": "b_tensor",
    "a_major": "major of a_tensor",
    "b_major": "major of b_tensor",
    "scale_dtype": "sfa_tensor",
    "global_scale": "global_scale_a",
}


class Contract:
    """As ``_core.Contract``, of samples that are JAX arrays."""

    device = "cpu"  #: of what stands for them

    def __init__(
        self,
        options: _core.Options,
        chosen: Mapping[str, Any],
        tensors: Mapping[str, Any],
        wgrad: Any,
        has_pointers: bool,
    ) -> None:
        self.options, self.chosen, self.has_pointers = options, dict(chosen), has_pointers
        experts = np.shape(tensors["offsets"])[:1]
        table = np.zeros((*experts, 8), np.uint8) if has_pointers else None
        output = None if wgrad is None else stand_in(wgrad)
        self.statement, _ = prepared(
            _core.Api.SAMPLE, options, chosen, tensors, wgrad_ptrs=table, wgrad=output
        )

    @property
    def wgrad_shape(self) -> tuple[int, int, int]:
        return self.statement.shape

    @property
    def wgrad_dtype(self) -> str:
        return self.statement.dtype

    def require_support(self, api: _core.Api) -> None:
        """Was required when the samples were read."""

    def compile(self, api: _core.Api) -> Compiled:
        """XLA compiles at the first call."""
        return Compiled(self)


@dataclass
class Compiled:
    """As ``_core.Compiled``; run() returns what it computed."""

    contract: Contract

    def run(
        self,
        api: _core.Api,
        a: Any,
        b: Any,
        sfa: Any,
        sfb: Any,
        offsets: Any,
        wgrad: Any,
        wgrad_ptrs: Any,
        global_scale_a: Any,
        global_scale_b: Any,
        stream: Any,
        workspace: Any,
    ) -> jax.Array:
        """A new (E, M, N) array; with wgrad_ptrs the token to block on."""
        if wgrad is not None:
            need = "None: JAX arrays cannot be written; execute() returns a new array"
            raise refuse("wgrad_tensor", "given", need)
        for name, value in (("current_stream", stream), ("descriptor_workspace", workspace)):
            if value is not None:
                raise refuse(name, "given", "None with JAX arrays: XLA has its own")
        tensors = {"a": a, "b": b, "offsets": offsets, "sfa": sfa, "sfb": sfb}
        tensors |= {"global_scale_a": global_scale_a, "global_scale_b": global_scale_b}
        kept = self.contract
        output = None
        if wgrad_ptrs is None:
            output = stand_in(np.empty(kept.wgrad_shape, numpy_dtype(kept.wgrad_dtype)))
        statement, ready = prepared(api, kept.options, kept.chosen, tensors, wgrad_ptrs, output)
        _refuse_differences(statement, kept.statement)
        return (dense if wgrad_ptrs is None else _pointers.through)(statement, *ready)

    def fault(self) -> _core.DeviceFault | None:
        """Faults of JAX calls are told by wgrad.jax.device_fault()."""
        return None

    def clear_fault(self) -> None:
        """Forgets them."""
        _jax_ffi.clear_fault()


def _refuse_differences(got: Statement, compiled: Statement) -> None:
    for name, value in compiled.fields.items():
        if name != "tokens" and got.fields[name] != value:
            raise refuse(_ARGUMENTS.get(name, name), str(got.fields[name]), f"{value}, as compiled")
