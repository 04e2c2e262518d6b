"""What a missing jax means, and eight CPU devices for tests of sharding."""

from __future__ import annotations

import importlib.util
import os

import pytest

# Read when jax starts its backends, which no test module does while it is collected.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0",  # compiles sooner
)

MISSING = [name for name in ("jax", "wgrad._jax_ffi") if importlib.util.find_spec(name) is None]


def pytest_configure(config: pytest.Config) -> None:
    if MISSING and os.environ.get("WGRAD_REQUIRE_JAX") == "1":
        raise pytest.UsageError(f"WGRAD_REQUIRE_JAX=1, but {' and '.join(MISSING)} is not there")


def pytest_ignore_collect(collection_path, config: pytest.Config) -> bool | None:
    """Test modules import jax, so without it none is read; test_there.py says so."""
    return bool(MISSING) and collection_path.name.startswith("test_") or None
