"""The sentence of a refusal."""

from __future__ import annotations

from . import _core


def refuse(argument: str, got: str, need: str) -> _core.ValueError:
    """The error for one bad argument, in the sentence that C++ uses too."""
    return _core.ValueError(f"wgrad: {argument} is {got}; it must be {need}")
