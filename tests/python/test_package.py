"""The package itself: documented, typed, quiet at exit, and importable without torch."""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import os
import pathlib
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import wgrad

from package import PACKAGE, run_python


@pytest.mark.parametrize("name", wgrad.__all__)
def test_every_public_name_is_documented(name):
    thing = getattr(wgrad, name)
    assert inspect.getdoc(thing)
    if inspect.isclass(thing):
        for member, value in vars(thing).items():
            if not member.startswith("_") and callable(value):
                assert inspect.getdoc(value), f"{name}.{member}"


@pytest.mark.parametrize(
    "function", ["grouped_wgrad", "grouped_gemm_wgrad_wrapper_sm100", "quantize", "support"]
)
def test_docstrings_tell_shapes_and_errors(function):
    doc = inspect.getdoc(getattr(wgrad, function))
    assert "Args:" in doc and "Raises:" in doc and "ValueError" in doc
    for parameter in inspect.signature(getattr(wgrad, function)).parameters:
        if parameter not in ("fields",):
            assert parameter in doc, parameter


def test_the_stub_names_what_the_extension_has():
    tree = ast.parse((PACKAGE / "_core.pyi").read_text())
    stub = {}
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            body = node.body if isinstance(node, ast.ClassDef) else []
            stub[node.name] = {
                member.name if isinstance(member, ast.FunctionDef) else target.id
                for member in body
                for target in [
                    getattr(member, "target", None) or (getattr(member, "targets", [0])[0])
                ]
                if isinstance(member, (ast.FunctionDef, ast.AnnAssign, ast.Assign))
            }
    real = {name for name in dir(wgrad._core) if not name.startswith("_")}
    assert set(stub) == real
    for name, members in stub.items():
        thing = getattr(wgrad._core, name)
        if inspect.isclass(thing) and name not in ("Api", "ValueError", "RuntimeError"):
            public = {m for m in vars(thing) if not m.startswith("_")}
            assert {m for m in members if not m.startswith("_")} == public, name


def test_mypy_accepts_the_package_and_a_program(tmp_path):
    pytest.importorskip("mypy")
    assert (PACKAGE / "py.typed").exists()
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import numpy as np
            import wgrad

            x = np.ones((4, 8), np.float16)
            out = wgrad.grouped_wgrad(x, x, np.array([4], np.int32), out_dtype="float32")
            answer: bool = bool(wgrad.support(experts=1, m=8, n=8, tokens=4))
            size: int = wgrad.get_grouped_gemm_wgrad_workspace_size_sm100(2)
            result: wgrad.TupleDict = wgrad.grouped_gemm_wgrad_wrapper_sm100(
                x.T, x, None, None, np.array([4], np.int32)
            )
            operator = wgrad.GroupedGemmWgradSm100(x.T, x, None, None, None, sample_wgrad=out)
            supported: bool = operator.check_support()
            fault: wgrad.DeviceFault | None = operator.fault()
            names: list[str] = [d.name for d in wgrad.devices()]
            reveal_type(wgrad.quantize(x, None))
            """
        )
    )
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import wgrad\nsize: str = wgrad.get_grouped_gemm_wgrad_workspace_size_sm100(2)\n"
    )

    def mypy(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, "MYPYPATH": str(PACKAGE.parent)},
        )

    good = mypy(str(program))
    assert good.returncode == 0, good.stdout
    assert "wgrad.quantize.Quantized" in good.stdout
    assert mypy(str(wrong)).returncode == 1


def test_imports_and_computes_without_torch():
    result = run_python(
        """
        import sys
        sys.modules["torch"] = None
        import numpy as np, wgrad
        out = wgrad.grouped_wgrad(
            np.ones((4, 8), np.float16), np.ones((4, 8), np.float16), np.array([4], np.int32)
        )
        assert (out == 4).all()
        print("fine")
        """
    )
    assert result.stdout.strip() == "fine", result.stderr


def test_import_does_not_load_torch():
    result = run_python("import sys, wgrad; print('torch' in sys.modules)")
    assert result.stdout.strip() == "False", result.stderr


CALLS = """
    import logging
    import numpy as np, wgrad
    logging.disable()
    wgrad._core.report_leaks(True)
    offsets = np.array([4], np.int32)

    def call_everything(x):
        wgrad.grouped_wgrad(x, x, offsets, out_dtype="float32", mma_tiler_mn=(128, 128))
        wgrad.grouped_gemm_wgrad_wrapper_sm100(x.T, x, None, None, offsets)
        operator = wgrad.GroupedGemmWgradSm100(x.T, x, None, None, offsets, wgrad_dtype="float32",
                                               num_experts=1, wgrad_shape=(8, 8))
        operator.compile()
        q = wgrad.quantize(x, offsets, "mxfp8")
        wgrad.grouped_wgrad(q, q, offsets)
        try:
            wgrad.grouped_wgrad(x, x, None)
        except ValueError as error:
            return operator, wgrad.explain(x, x, offsets), error
"""


def test_nothing_leaks_at_exit():
    """nanobind reports instances that outlive the interpreter on standard error."""
    calls = textwrap.dedent(CALLS)
    result = run_python(calls + "kept = call_everything(np.ones((4, 8), np.float16))")
    assert result.returncode == 0 and result.stderr == "", result.stderr


def test_threads_that_compute_at_exit_end_no_process():
    """Short calls: some queue for the GIL when the end begins, some ask for it after that."""
    program = """
        import threading, time
        import numpy as np, wgrad
        x, ends = np.ones((200, 128), np.float16), np.array([100, 200], np.int32)
        def forever():
            while True:
                wgrad.grouped_wgrad(x, x, ends)
        for _ in range(4):
            threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.3)
        """
    for _ in range(8):
        result = run_python(program)
        assert (result.returncode, result.stderr) == (0, ""), result.stderr


def test_errors_and_their_reasons_cross_processes():
    x = np.ones((4, 8), np.float16)
    with pytest.raises(wgrad.ValueError) as caught:
        wgrad.grouped_wgrad(x, x, np.array([5, 4], np.int32))
    error = caught.value
    for other in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(other) is wgrad.ValueError and str(other) == str(error)
        assert other.reasons == error.reasons and len(error.reasons) == 2
        assert other.reasons[0].bad_argument and hash(other.reasons[0]) == hash(error.reasons[0])
        assert other.reasons[0] != other.reasons[1]


def test_an_operator_that_is_kept_says_nothing_at_exit():
    """The report is there when asked for, and only then: it is the program's own operator."""
    program = """
        import ctypes, wgrad
        wgrad._core.report_leaks({})
        kept = wgrad.Problem(experts=1, m=8, n=8, tokens=8)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
        """
    assert "leaked" in run_python(program.format(True)).stderr
    quiet = run_python(program.replace("wgrad._core.report_leaks({})", ""))
    assert quiet.returncode == 0 and quiet.stderr == "", quiet.stderr


@pytest.mark.torch
def test_nothing_leaks_at_exit_where_torch_keeps_functions():
    """torch never lets go of operators registered with it, wgrad's own and those of users."""
    result = run_python(
        textwrap.dedent(CALLS)
        + textwrap.dedent(
            """
            import torch
            from wgrad import GroupedGemmWgradSm100, explain, grouped_wgrad, quantize
            from wgrad import grouped_gemm_wgrad_wrapper_sm100 as wrapper

            @torch.library.custom_op("mine::wgrad", mutates_args=())
            def op(x: torch.Tensor, dy: torch.Tensor, offsets: torch.Tensor,
                   keeps: str = "") -> torch.Tensor:
                held = GroupedGemmWgradSm100, explain, quantize, wrapper
                return grouped_wgrad(x, dy, offsets)

            offsets = torch.tensor([4], dtype=torch.int32)
            x = torch.ones(4, 8, dtype=torch.bfloat16)
            call_everything(x)
            torch.ops.mine.wgrad(x, x, offsets)
            torch.ops.wgrad.grouped_wgrad(x, x, offsets)
            """
        )
    )
    assert result.returncode == 0 and result.stderr == "", result.stderr


MODULES = [
    pytest.param(name, marks=pytest.mark.torch) if "torch" in name else name
    for name in sorted(path.stem for path in PACKAGE.glob("*.py"))
    if name != "__init__"
]


@pytest.mark.parametrize("name", MODULES)
def test_modules_name_the_extension_only_as_a_module(name):
    """What cache.py says: a name of _core would outlive the interpreter with its function."""
    for held, value in vars(importlib.import_module(f"wgrad.{name}")).items():
        assert getattr(value, "__module__", None) != "wgrad._core", f"{name} holds {held}"


def test_a_star_import_hides_no_builtin():
    assert "ValueError" not in wgrad.__all__ and "RuntimeError" not in wgrad.__all__
    assert "support" in wgrad.__all__


def test_the_version_is_the_projects():
    root = pathlib.Path(__file__).parents[2]
    text = (root / "CMakeLists.txt").read_text()
    assert f"project(wgrad VERSION {wgrad.__version__}" in text
    assert f'version = "{wgrad.__version__}"' in (root / "pyproject.toml").read_text()


def test_nvrtc_wheels_are_found_newest_first(tmp_path):
    from wgrad._toolchain import nvrtc_wheel_folders

    folders = ["nvidia/cu12/lib", "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"]
    for folder in [*folders, "nvidia/cu14/lib"]:
        (tmp_path / folder).mkdir(parents=True)
    for folder in folders:
        (tmp_path / folder / "libnvrtc.so.13").touch()
    found = nvrtc_wheel_folders(["", str(tmp_path), str(tmp_path)])
    assert found == [str(tmp_path / f) for f in (folders[1], folders[0], folders[2])]
