"""Where pip puts NVRTC, which compiles the GPU kernels."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterable

from . import _core

_WHEELS = ("nvidia/cu[0-9]*/lib", "nvidia/cuda_nvrtc/lib")  # CUDA 13 wheels, CUDA 12 wheels


def nvrtc_wheel_folders(path: Iterable[str]) -> list[str]:
    """The library folders of nvidia-cuda-nvrtc wheels below the entries of `path`."""
    roots = [pathlib.Path(entry) for entry in dict.fromkeys(path) if entry]
    return [
        str(folder)
        for root in roots
        for pattern in _WHEELS
        for folder in sorted(root.glob(pattern), reverse=True)
        if any(folder.glob("libnvrtc.so*"))
    ]


def add_nvrtc_wheels() -> None:
    """Lets wgrad find the NVRTC that pip installed in this environment."""
    for folder in nvrtc_wheel_folders(sys.path):
        _core.add_nvrtc_folder(folder)
