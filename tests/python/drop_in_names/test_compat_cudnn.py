"""wgrad.compat.cudnn: the reference's module paths, and tensors handed over as plain memory."""

from __future__ import annotations

import numpy as np
import pytest

import drop_in
import wgrad
import wgrad.compat.cudnn as cudnn
from package import run_python

PATHS = {
    "cudnn": ("GroupedGemmWgradSm100", "grouped_gemm_wgrad_wrapper_sm100", "TupleDict",
              "get_grouped_gemm_wgrad_workspace_size_sm100", "grouped_gemm_wgrad_jax_sm100"),
    "cudnn.api_base": ("TupleDict",),
    "cudnn.gemm.cutedsl.grouped": ("GroupedGemmWgradSm100", "grouped_gemm_wgrad_wrapper_sm100"),
    "cudnn.gemm.cutedsl.grouped.moe_utils": ("MoEWeightMode", "WGradInputOrder"),
    "cudnn.gemm.cutedsl.grouped.wgrad": ("GroupedGemmWgradSm100", "grouped_gemm_wgrad_wrapper_sm100"),
    "cudnn.gemm.cutedsl.grouped.wgrad.api": ("_cache_of_GroupedGemmWgradSm100Objects", "TupleDict"),
    "cudnn.grouped_gemm": ("grouped_gemm_wgrad_wrapper_sm100",),
    "cudnn.grouped_gemm.grouped_gemm_wgrad.api": ("GroupedGemmWgradSm100",),
    "cudnn.grouped_gemm.moe_utils": ("WGradInputOrder",),
}
IMPORTS = "\n".join(f"from {path} import {', '.join(names)}" for path, names in PATHS.items())
SAME = (
    "import wgrad\nassert grouped_gemm_wgrad_wrapper_sm100 is wgrad.grouped_gemm_wgrad_wrapper_sm100\n"
    "assert GroupedGemmWgradSm100 is wgrad.GroupedGemmWgradSm100\n"
)


def runs(program, **environment):
    result = run_python(program, environment=environment)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_every_path_is_there_after_install():
    runs("import wgrad.compat.cudnn as ours\nours.install()\nours.install()\n" + IMPORTS + "\n" + SAME)


def test_every_path_is_there_through_the_search_path():
    import os
    import pathlib

    folder = runs("import runpy\nrunpy.run_module('wgrad.compat', run_name='__main__')").strip()
    assert pathlib.Path(folder, "cudnn", "__init__.py").exists()
    where = os.pathsep.join([folder, str(pathlib.Path(wgrad.__file__).parent.parent)])
    runs(IMPORTS + "\n" + SAME, PYTHONPATH=where)


def test_every_path_is_there_under_its_own_name():
    runs(IMPORTS.replace("from cudnn", "from wgrad.compat.cudnn") + "\n" + SAME)


def test_another_package_of_that_name_is_not_hidden():
    runs("""
        import sys, types
        sys.modules["cudnn"] = types.ModuleType("cudnn")
        import wgrad.compat.cudnn as ours
        try:
            ours.install()
        except RuntimeError as error:
            assert "another package named cudnn is there" in str(error)
        else:
            raise AssertionError("hidden")
    """)


def test_the_version_is_the_followed_releases():
    major, minor = map(int, cudnn.__version__.split(".")[:2])
    assert (major, minor) == (1, 32), "callers ask for a least one, such as 1.27"
    assert all(hasattr(cudnn, name) for name in cudnn.__all__)


def as_memory(tensors, torch):
    """Plain memory and the layouts of what it holds."""
    raw, layouts = {}, {}
    for name, tensor in tensors.items():
        if name in ("offsets_tensor", "global_scale_a", "global_scale_b") or tensor is None:
            raw[name] = tensor
            continue
        layouts[name] = (tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)
        flat = tensor.as_strided((tensor.numel(),), (1,))
        raw[name] = flat.view(torch.uint8) if tensor.element_size() == 1 else flat
    return raw, layouts


@pytest.mark.torch
@pytest.mark.parametrize("format", ["bf16", "mxfp8"])
def test_tensor_layouts(format):
    import frameworks
    import torch

    framework = frameworks.Torch()
    assert wgrad.grouped_gemm_wgrad_wrapper_sm100.supports_tensor_layouts
    case = drop_in.call(framework, np.random.default_rng(1), format, drop_in.GROUPS)
    raw, layouts = as_memory(case["tensors"], torch)
    out = torch.full((2 * drop_in.M * drop_in.N,), float("nan"))
    layouts["wgrad_tensor"] = ((2, drop_in.M, drop_in.N), (drop_in.M * drop_in.N, drop_in.N, 1), out.dtype)
    options = {"sf_vec_size": drop_in.vec(format)}
    result = wgrad.grouped_gemm_wgrad_wrapper_sm100(
        **raw, wgrad_tensor=out, tensor_layouts=layouts, **options
    )
    assert result["wgrad_tensor"] is out
    want = case["expected"].astype(np.float32).reshape(-1)
    np.testing.assert_array_equal(out.numpy(), want)

    out.fill_(float("nan"))
    operator = wgrad.GroupedGemmWgradSm100(
        **drop_in.samples({**raw, "wgrad_tensor": out}), tensor_layouts=layouts, **options
    )
    operator.check_support()
    operator.compile()
    operator.execute(**raw, wgrad_tensor=out)
    np.testing.assert_array_equal(out.numpy(), want)


@pytest.mark.torch
def test_tensor_layouts_are_judged():
    import torch

    memory, ends = torch.zeros(32, dtype=torch.bfloat16), torch.tensor([4], dtype=torch.int32)
    b = torch.zeros(4, 8, dtype=torch.bfloat16)

    def call(layouts, a=memory):
        wgrad.grouped_gemm_wgrad_wrapper_sm100(a, b, None, None, ends, tensor_layouts=layouts)

    good = ((8, 4), (1, 8), torch.bfloat16)
    call({"a_tensor": good})
    for layouts, text in (
        ([], "tensor_layouts is .*; it must be a dict"),
        ({"offsets_tensor": good}, "tensor_layouts is "),
        ({"a_tensor": ((8, 4), (1, 8))}, r"tensor_layouts\['a_tensor'\] is .*; it must be \(shape"),
        ({"a_tensor": ((8, 4), (8,), torch.bfloat16)}, "of as many strides as extents"),
        ({"a_tensor": ((8, 5), (1, 8), torch.bfloat16)}, "within the tensor's 32 elements"),
    ):
        with pytest.raises(ValueError, match=text):
            call(layouts)
    with pytest.raises(ValueError, match="a_tensor is a ndarray; it must be a torch tensor"):
        call({"a_tensor": good}, np.zeros(32, np.float16))
