"""What calls leave behind: prepared operators, and faults in device data that they met on a GPU."""

from __future__ import annotations

from .. import _jax_ffi


def device_fault() -> tuple[str, int, int, int] | None:
    """(what, expert, value, limit) of the first fault in device data of a JAX call; None: none seen.

    Of calls that have ended on a GPU; on a CPU the call itself raises. Waits for nothing: block on
    the results first to hear of all calls before it. The fields are those of
    ``wgrad.DeviceFault``.
    """
    return _jax_ffi.fault()


def clear_device_fault() -> None:
    """Forgets the fault that device_fault() tells."""
    _jax_ffi.clear_fault()


def clear_caches() -> None:
    """Forgets all prepared operators. A compiled function that needs one prepares it anew."""
    _jax_ffi.clear()
