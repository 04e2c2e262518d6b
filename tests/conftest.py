"""What a build without oneDNN means: it has no CPU backend, on which nearly every test computes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

COMPUTING = {"python", "jax", "examples"}  # folders whose tests compute on a CPU
REASON = "this build has no CPU backend (oneDNN); CI=true forbids this"


def has_cpu_backend() -> bool:
    import wgrad

    return bool(wgrad.support(experts=1, m=8, n=8, tokens=8, device=wgrad.devices()[0]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    computing = [item for item in items if COMPUTING & set(folders(item))]
    if not computing or has_cpu_backend():
        return
    if os.environ.get("CI") == "true":
        raise pytest.UsageError("CI=true, but this build has no CPU backend")
    for item in computing:
        if "cuda" not in item.nodeid.partition("[")[2]:  # those of a GPU's tensors
            item.add_marker(pytest.mark.skip(reason=REASON))


def folders(item: pytest.Item) -> tuple[str, ...]:
    """Below tests/."""
    return item.path.relative_to(Path(__file__).parent).parts[:-1]
