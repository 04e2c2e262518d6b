"""The table of parameters, and all that it gives: names, signatures, documentation, stub."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import inspect
import pathlib
import re
import sys

import pytest

import wgrad
from wgrad import _core, _functions, _parameters

from package import run_python

ROOT = pathlib.Path(__file__).parents[2]
FUNCTIONS = [
    (_functions.NATURAL, _core.Api.NATURAL, wgrad.grouped_wgrad),
    (_functions.WRAPPER, _core.Api.CALL, wgrad.grouped_gemm_wgrad_wrapper_sm100),
    (_functions.OPERATOR, _core.Api.SAMPLE, wgrad.GroupedGemmWgrad),
]


@pytest.fixture(scope="module")
def tool():
    path = ROOT / "tools" / "parameters"
    loader = importlib.machinery.SourceFileLoader("parameters_tool", str(path))
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


def test_signatures_documentation_stub_and_names_agree_with_the_table(tool):
    for path, text in tool.wanted():
        assert path.read_text() == text, f"{path.name}: tools/parameters --write"


@pytest.mark.parametrize("file", ["natural.py", "wrapper.py", "operator.py", "_core.pyi", "refusals.cpp"])
@pytest.mark.parametrize("field", ["accumulate", "mma_tiler_mn"])
def test_whatever_strays_from_the_table_is_seen(tool, monkeypatch, file, field):
    """A word changed in any of the places is put right again."""
    right = {path: text for path, text in tool.wanted()}
    path = next(path for path in right if path.name == file)
    word = re.search(rf"{field}(: .+|_on_output\")", right[path])
    if word is None:
        return  # refusals.cpp names what some function calls otherwise
    broken = right[path].replace(word[0], word[0][:-1] + "~" + word[0][-1:], 1)
    read = pathlib.Path.read_text
    monkeypatch.setattr(pathlib.Path, "read_text", lambda p: broken if p == path else read(p))
    try:
        again = dict(tool.wanted())
    except SyntaxError:
        return
    assert again[path] == right[path] != broken


@pytest.mark.parametrize("function, api, thing", FUNCTIONS)
def test_the_table_names_what_python_and_cpp_know(function, api, thing):
    given = dict(inspect.signature(thing).parameters)
    names = {use.name for use in function.uses.values()}
    assert names == given.keys()
    for field, use in function.uses.items():
        if field in ("output_mode", "wgrad_expert", "num_experts", "wgrad_shape"):
            continue  # a function's own, which the core never sees
        assert _core.argument(api, field) == use.name
        assert (given[use.name].default is inspect.Parameter.empty) == (use.default == "")


def test_every_option_of_the_extension_has_a_row():
    rows = [row for row in _parameters.TABLE if row.check is not None]
    assert {row.field for row in rows} == set(_core.Options.names())
    assert all(row.stub for row in rows)


def test_an_argument_that_is_no_option_is_refused():
    with pytest.raises(TypeError, match="no option"):
        _core.Options(accumulate=True, acumulate=True)


def test_the_tool_says_what_differs():
    result = run_python(f"""
        import runpy, sys
        from wgrad import _functions, _parameters
        row = next(r for r in _parameters.TABLE if r.field == "sm_limit")
        _functions.NATURAL.uses["sm_limit"] = row.natural._replace(text="another text.")
        sys.argv = ["parameters"]
        runpy.run_path({str(ROOT / "tools" / "parameters")!r}, run_name="__main__")
        """)
    assert result.returncode == 1
    assert "+        sm_limit: another text." in result.stdout
    assert "tools/parameters --write" in result.stdout
