"""What calls leave behind for later ones; emptied when the interpreter exits.

Nothing of the extension module may outlive the interpreter, or it reports a leak. A function that
somebody keeps past the exit (torch keeps the operators registered with it) keeps the names of its
module; so the package's modules name ``_core`` as a module, whose own names the interpreter
clears, and hold instances here alone.
"""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from .operator import GroupedGemmWgradSm100

# Keys leave the token count, offsets, addresses and streams out. A dict access is atomic under the
# GIL; two threads that miss at once both compile, and the later one stays.
wrapper: dict[tuple[Any, ...], GroupedGemmWgradSm100] = {}
#: Of each function, by the values they were made of, which come along: equal values may differ in
#: type.
options: dict[str, dict[tuple[Any, ...], tuple[tuple[Any, ...], _core.Options]]] = {}

#: What natural() returns, once it has been asked.
_natural: list[_core.Operators] = []


def natural() -> _core.Operators:
    """The operators of grouped_wgrad, each compiled at its first use."""
    if not _natural:
        _natural.append(_core.Operators())
    return _natural[0]


def device_fault() -> _core.DeviceFault | None:
    """The first fault in device data of grouped_wgrad, the wrapper and quantize, or None where none
    was seen.

    Of calls that have ended on a GPU, without validation; the operator classes have fault() of
    their own. Waits for nothing: synchronise first to hear of all calls before it.
    """
    kept = next((seen for each in _kept() if (seen := each.fault()) is not None), None)
    return kept if kept is not None else _core.quantize_fault()


def clear_device_fault() -> None:
    """Forgets the faults that device_fault() tells."""
    for each in _kept():
        each.clear_fault()
    _core.clear_quantize_fault()


def _kept() -> list[_core.Operators | GroupedGemmWgradSm100]:
    return [*_natural, *wrapper.values()]


@atexit.register
def clear_caches() -> None:
    """Forgets all compiled operators that grouped_wgrad and the wrapper keep."""
    _natural.clear()
    wrapper.clear()
    for kept in options.values():
        kept.clear()
