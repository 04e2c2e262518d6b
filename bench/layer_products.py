"""The grouped matmul of a layer with gradients, through wgrad and through others found here.

A product is a function (x, weight, offsets) -> y with weight (E, M, N), whose backward pass adds the
weight gradient to ``weight.main_grad``, float32.
"""

import importlib.util
from collections.abc import Callable

import torch

Product = Callable[[torch.Tensor, torch.nn.Parameter, torch.Tensor], torch.Tensor]


def add_to_main_grad(parameter: torch.nn.Parameter) -> None:
    """What a trainer's hook does with a gradient of the parameter's dtype."""
    parameter.main_grad.add_(parameter.grad)
    parameter.grad = None


class GroupedMm:
    """torch's grouped matmul with its own backward pass, and a hook that adds in float32."""

    def parameter(self, weight: torch.Tensor) -> torch.nn.Parameter:
        parameter = torch.nn.Parameter(weight)
        parameter.register_post_accumulate_grad_hook(add_to_main_grad)
        return parameter

    def __call__(self, x, weight, offsets):
        return torch.nn.functional.grouped_mm(x, weight, offs=offsets)


class Wgrad:
    """wgrad.torch: the gradient goes from float32 accumulators to main_grad."""

    def parameter(self, weight: torch.Tensor) -> torch.nn.Parameter:
        return torch.nn.Parameter(weight)

    def __call__(self, x, weight, offsets):
        import wgrad.torch

        return wgrad.torch.grouped_linear(x, weight, offsets)


class _QuackFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, offsets):
        ctx.save_for_backward(x, weight, offsets)
        return torch.nn.functional.grouped_mm(x, weight, offs=offsets)

    @staticmethod
    def backward(ctx, dy):
        from quack.gemm_interface import gemm_add_inplace

        x, weight, offsets = ctx.saved_tensors
        if ctx.needs_input_grad[1]:
            ends = torch.nn.functional.pad(offsets, (1, 0))
            gemm_add_inplace(x.t(), dy, ctx.main_grad, cu_seqlens_k=ends, tuned=False)
        dx = torch.nn.functional.grouped_mm(dy, weight.transpose(-2, -1), offs=offsets)
        return dx, None, None


class Quack(Wgrad):
    """QuACK's varlen-K product adds into main_grad; the rest is torch's. It has run with a stand-in
    alone (tests/tools/test_layer_products.py)."""

    def __call__(self, x, weight, offsets):
        y = _QuackFunction.apply(x, weight, offsets)
        y.grad_fn.main_grad = weight.main_grad
        return y


class TransformerEngine(Wgrad):
    """TransformerEngine's GroupedLinear, one parameter an expert, fused into main_grad. It takes the
    token counts on the host, which are read once. It has run with a stand-in alone, as Quack has."""

    def __init__(self, counts):
        self._counts = [int(k) for k in counts]
        self._modules: dict[int, torch.nn.Module] = {}

    def __call__(self, x, weight, offsets):
        module = self._modules.get(weight.data_ptr())
        if module is None:
            module = self._modules[weight.data_ptr()] = self._module(weight)
        for parameter in module.parameters():
            parameter.requires_grad_(weight.requires_grad)
        return module(x, self._counts)

    def _module(self, weight):
        import transformer_engine.pytorch as te

        experts, m, n = weight.shape
        module = te.GroupedLinear(
            experts, m, n, bias=False, params_dtype=weight.dtype, fuse_wgrad_accumulation=True
        )
        for e, parameter in enumerate(module.parameters()):
            parameter.data.copy_(weight[e].t())
            parameter.main_grad = torch.zeros_like(parameter, dtype=torch.float32)
        weight.parts = list(module.parameters())
        return module


def main_grad(weight: torch.nn.Parameter) -> torch.Tensor:
    """(E, M, N) float32, wherever the product keeps it."""
    if hasattr(weight, "parts"):
        return torch.stack([part.main_grad.t() for part in weight.parts])
    return weight.main_grad


def found(counts) -> tuple[dict[str, Product], list[str]]:
    """Products that can be had here, and the names of those that cannot."""
    products: dict[str, Product] = {"wgrad": Wgrad()}
    missing = []
    for name, there, make in (
        ("grouped_mm", hasattr(torch.nn.functional, "grouped_mm"), GroupedMm),
        ("transformer_engine", _importable("transformer_engine"), lambda: TransformerEngine(counts)),
        ("quack", _importable("quack"), Quack),
    ):
        if there:
            products[name] = make()
        else:
            missing.append(name)
    return products, missing


def _importable(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
