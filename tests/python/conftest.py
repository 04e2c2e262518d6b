"""Fixtures of the Python tests: frameworks, and what a skipped torch means."""

from __future__ import annotations

import importlib.util
import os

import pytest

HAVE_TORCH = importlib.util.find_spec("torch") is not None
REQUIRE_TORCH = os.environ.get("WGRAD_REQUIRE_TORCH") == "1"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "torch: needs torch")
    config.addinivalue_line("markers", "block_scaled: of a format that no CUDA kernel computes yet")
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


def has_cuda() -> bool:
    if not HAVE_TORCH:
        return False
    import torch

    return torch.cuda.is_available()


@pytest.fixture(
    params=[
        "numpy",
        pytest.param("torch", marks=pytest.mark.torch),
        *([pytest.param("cuda", marks=pytest.mark.torch)] if has_cuda() else []),
    ]
)
def framework(request):
    """numpy and torch behind one small interface, see frameworks.py; torch on a GPU where there is one."""
    import frameworks

    if request.param == "cuda":
        return frameworks.TorchCuda()
    return frameworks.Numpy() if request.param == "numpy" else frameworks.Torch()


@pytest.fixture(
    params=[
        pytest.param("cpu", marks=pytest.mark.torch),
        *([pytest.param("cuda", marks=pytest.mark.torch)] if has_cuda() else []),
    ]
)
def torch_device(request):
    """Where torch tensors live, for tests that only torch can speak of."""
    return request.param
