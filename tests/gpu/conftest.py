"""Tests that need a CUDA device. Without one they are reported as skipped, with the reason."""

import os

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

REQUIRED = os.environ.get("WGRAD_REQUIRE_CUDA") == "1"


def pytest_collection_modifyitems(items):
    if torch.cuda.is_available():
        return
    if REQUIRED:
        raise pytest.UsageError("WGRAD_REQUIRE_CUDA=1, but torch sees no CUDA device")
    for item in items:
        item.add_marker(pytest.mark.skip(reason="no CUDA device; WGRAD_REQUIRE_CUDA=1 forbids this"))


@pytest.fixture(autouse=True)
def exact_reference():
    """float32 matmuls of the reference keep all bits; memory of one test does not reach the next."""
    torch.backends.cuda.matmul.allow_tf32 = False
    yield
    torch.cuda.empty_cache()
