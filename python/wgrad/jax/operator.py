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
from .eager import call_tensors, prepared
from .statement import Like, Statement, like

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
#: What the reference says of them.
_WORDS = {
    "m": ": a_tensor shape mismatch",
    "n": ": b_tensor shape mismatch",
    "a_dtype": ": a_tensor dtype mismatch",
    "b_dtype": ": b_tensor dtype mismatch",
    "a_major": ": a_tensor layout mismatch",
    "b_major": ": b_tensor layout mismatch",
}


class Contract:
    """As ``_core.Contract``, of samples that are JAX arrays."""

    device = "cpu"  #: of what stands for them

    def __init__(
        self, given: Mapping[str, Any], options: _core.Options, has_pointers: bool
    ) -> None:
        """`given`: the arguments of the class by name."""
        self.options, self.has_pointers = options, has_pointers
        tensors, wgrad = _samples(given), given["sample_wgrad"]
        experts = np.shape(tensors["offsets"])[:1]
        table = np.zeros((*experts, 8), np.uint8) if has_pointers else None
        output = None if wgrad is None else like(wgrad)
        self.statement, _ = prepared(
            _core.Api.SAMPLE, options, tensors, wgrad_ptrs=table, wgrad=output
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
    """As ``_core.Operator``; run() returns what it computed."""

    contract: Contract

    def run(self, given: Mapping[str, Any]) -> jax.Array:
        """A new (E, M, N) array; with wgrad_ptrs the token to block on. `given`: the arguments of
        execute() by name."""
        if given["wgrad_tensor"] is not None:
            need = "None: JAX arrays cannot be written; execute() returns a new array"
            raise refuse("wgrad_tensor", "given", need)
        for name in ("current_stream", "descriptor_workspace"):
            if given[name] is not None:
                raise refuse(name, "given", "None with JAX arrays: XLA has its own")
        tensors, wgrad_ptrs = call_tensors(given), given["wgrad_ptrs"]
        kept = self.contract
        output = None
        if wgrad_ptrs is None:
            output = Like(kept.wgrad_shape, np.dtype(numpy_dtype(kept.wgrad_dtype)))
        statement, ready = prepared(
            _core.Api.CALL, kept.options, tensors, wgrad_ptrs, output
        )
        _refuse_differences(statement, kept.statement)
        return (dense if wgrad_ptrs is None else _pointers.through)(statement, *ready)

    def fault(self) -> _core.DeviceFault | None:
        """Faults of JAX calls are told by wgrad.jax.device_fault()."""
        return None

    def clear_fault(self) -> None:
        """Forgets them."""
        _jax_ffi.clear_fault()


def _samples(given: Mapping[str, Any]) -> dict[str, Any]:
    names = ("a", "b", "offsets", "sfa", "sfb", "global_scale_a", "global_scale_b")
    return {name: given[f"sample_{name}"] for name in names}


def _refuse_differences(got: Statement, compiled: Statement) -> None:
    for name, value in compiled.fields.items():
        if name != "tokens" and got.fields[name] != value:
            need = f"{value}, as compiled{_WORDS.get(name, '')}"
            raise refuse(_ARGUMENTS.get(name, name), str(got.fields[name]), need)
