"""numpy and torch behind one interface, so that a test is written once."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

ML = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu,
}


def np_dtype(name: str) -> np.dtype:
    return np.dtype(ML.get(name, name))


class Numpy:
    name = "numpy"

    def tensor(self, values: np.ndarray, dtype: str) -> Any:
        """`values` as `dtype`, keeping strides that are a transposition."""
        return np.asarray(values).astype(np_dtype(dtype))

    def bytes_as(self, raw: np.ndarray, dtype: str) -> Any:
        return raw if dtype == "float4_e2m1fn_x2" else raw.view(np_dtype(dtype))

    def dtype(self, name: str) -> Any:
        return np_dtype(name)

    def to_numpy(self, tensor: Any) -> np.ndarray:
        """float64 values."""
        return np.asarray(tensor).astype(np.float64)

    def raw(self, tensor: Any) -> np.ndarray:
        """The bytes of a contiguous tensor."""
        return np.ascontiguousarray(tensor).view(np.uint8)

    def full(self, shape: tuple[int, ...], value: float, dtype: str) -> Any:
        return np.full(shape, value, np_dtype(dtype))

    def address(self, tensor: Any) -> int:
        return int(tensor.ctypes.data)


class Torch:
    name = "torch"

    def __init__(self) -> None:
        import torch

        self.torch = torch

    def dtype(self, name: str) -> Any:
        return getattr(self.torch, name)

    def tensor(self, values: np.ndarray, dtype: str) -> Any:
        values = np.asarray(values)
        if dtype in ("int32", "int64", "uint8"):
            return self.torch.from_numpy(values.astype(dtype))
        return self.torch.from_numpy(values.astype(np.float32)).to(self.dtype(dtype))

    def bytes_as(self, raw: np.ndarray, dtype: str) -> Any:
        return self.torch.from_numpy(raw).view(self.dtype(dtype))

    def to_numpy(self, tensor: Any) -> np.ndarray:
        return tensor.detach().to(self.torch.float64).numpy()

    def raw(self, tensor: Any) -> np.ndarray:
        return tensor.detach().contiguous().view(self.torch.uint8).numpy()

    def full(self, shape: tuple[int, ...], value: float, dtype: str) -> Any:
        return self.torch.full(shape, value, dtype=self.dtype(dtype))

    def address(self, tensor: Any) -> int:
        return int(tensor.data_ptr())


class TorchCuda(Torch):
    """torch tensors on the current CUDA device."""

    name = "cuda"

    def tensor(self, values: np.ndarray, dtype: str) -> Any:
        return super().tensor(values, dtype).cuda()

    def bytes_as(self, raw: np.ndarray, dtype: str) -> Any:
        return super().bytes_as(raw, dtype).cuda()

    def to_numpy(self, tensor: Any) -> np.ndarray:
        return super().to_numpy(tensor.cpu())

    def raw(self, tensor: Any) -> np.ndarray:
        return super().raw(tensor.cpu())

    def full(self, shape: tuple[int, ...], value: float, dtype: str) -> Any:
        return super().full(shape, value, dtype).cuda()
