"""The sentence of a refusal."""

from __future__ import annotations

from typing import Any

from . import _core


def refuse(argument: str, got: str, need: str) -> _core.ValueError:
    """The error for one bad argument, in the sentence that C++ uses too."""
    return refusal([_core.Reason("argument", argument, got, need)])


def refusal(reasons: list[_core.Reason]) -> _core.ValueError:
    """The error for all of them, a sentence each."""
    error = _core.ValueError("wgrad: " + "\n".join(map(str, reasons)))
    error.reasons = tuple(reasons)
    return error


def shown(value: Any) -> str:
    """`value` in a refusal: its repr, or where that cannot be had, its type."""
    try:
        return repr(value)
    except Exception:
        return f"a {type(value).__name__}"


def unknown(argument: str, got: Any, need: str) -> _core.ValueError:
    """The error for a name that is none of those there are."""
    return refuse(argument, repr(got), f"{need} (unsupported {argument} {got!r})")
