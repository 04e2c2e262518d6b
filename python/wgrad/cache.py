"""Compiled operators, kept under the static side of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._core import Api, Compiled, Contract

if TYPE_CHECKING:
    from .operator import GroupedGemmWgradSm100

# Keys leave the token count, offsets, addresses and streams out. A dict access is atomic under the
# GIL; two threads that miss at once both compile, and the later one stays.
natural: dict[bytes, Compiled] = {}
wrapper: dict[tuple[Any, ...], GroupedGemmWgradSm100] = {}


def compiled(contract: Contract) -> Compiled:
    """The operator for a call of grouped_wgrad, compiled at its first use."""
    found = natural.get(contract.key)
    if found is None:
        found = natural[contract.key] = contract.compile(Api.NATURAL)
    return found


def clear_caches() -> None:
    """Forgets all compiled operators that grouped_wgrad and the wrapper keep."""
    natural.clear()
    wrapper.clear()
