"""The package under test, and programs in processes of their own."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

import wgrad

PACKAGE = pathlib.Path(wgrad.__file__).parent


def run_python(
    program: str, *flags: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A program that finds the package, with changes to the environment."""
    return subprocess.run(
        [sys.executable, *flags, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), **(environment or {})},
    )
