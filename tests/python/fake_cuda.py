"""Tensors that say they live on a CUDA device, for what the host decides before any launch."""

from __future__ import annotations

import ctypes

import numpy as np


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_CODES = {"float16": (2, 16), "int32": (0, 32), "int64": (0, 64), "float32": (2, 32)}
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class FakeCuda:
    """Host memory under a CUDA device's name; packed strides are left out, as DLPack allows."""

    __module__ = "cupy"  # whose memory may be written, though its capsules have no version

    def __init__(self, array: np.ndarray, device: int = 0, device_type: int = 2) -> None:
        self.array = np.ascontiguousarray(array)
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        code, bits = _CODES[array.dtype.name]
        tensor = _Tensor(
            self.array.ctypes.data, device_type, device, array.ndim, code, bits, 1, self.shape
        )
        self.managed = _Managed(tensor, None, None)

    def __dlpack__(self, **_: object) -> object:
        return _new_capsule(ctypes.addressof(self.managed), b"dltensor", None)
