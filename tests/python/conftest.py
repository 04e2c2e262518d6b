"""Fixtures of the Python tests: frameworks, and what a skipped torch means."""

from __future__ import annotations

import importlib.util
import os

import pytest

HAVE_TORCH = importlib.util.find_spec("torch") is not None
REQUIRE_TORCH = os.environ.get("WGRAD_REQUIRE_TORCH") == "1"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "torch: needs torch")
    if REQUIRE_TORCH and not HAVE_TORCH:
        raise pytest.UsageError("WGRAD_REQUIRE_TORCH=1, but torch is not installed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if HAVE_TORCH:
        return
    skip = pytest.mark.skip(reason="torch is not installed; WGRAD_REQUIRE_TORCH=1 forbids this")
    for item in items:
        if item.get_closest_marker("torch") is not None:
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def empty_caches():
    """No test meets operators that another compiled."""
    import wgrad

    wgrad.clear_caches()
    yield


@pytest.fixture(params=["numpy", pytest.param("torch", marks=pytest.mark.torch)])
def framework(request):
    """numpy and torch behind one small interface, see frameworks.py."""
    import frameworks

    return frameworks.Numpy() if request.param == "numpy" else frameworks.Torch()
