"""The package itself: documented, typed, quiet at exit, and importable without torch."""

from __future__ import annotations

import ast
import inspect
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import wgrad

PACKAGE = pathlib.Path(wgrad.__file__).parent


def run_python(program: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *flags, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
    )


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


def test_nothing_leaks_at_exit():
    """nanobind reports instances that outlive the interpreter on standard error."""
    result = run_python(
        """
        import logging
        import numpy as np, wgrad
        logging.disable()
        x, offsets = np.ones((4, 8), np.float16), np.array([4], np.int32)
        wgrad.grouped_wgrad(x, x, offsets)
        wgrad.grouped_gemm_wgrad_wrapper_sm100(x.T, x, None, None, offsets)
        try:
            wgrad.grouped_wgrad(x, x, None)
        except ValueError as error:
            kept = error
        """
    )
    assert result.returncode == 0 and result.stderr == "", result.stderr


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
