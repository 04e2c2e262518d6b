"""The checks of tools/ catch what they are there for: each is run on a small tree with one fault."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(tool, *arguments):
    return subprocess.run([ROOT / "tools" / tool, *map(str, arguments)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)


def write(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


@pytest.fixture
def tree(tmp_path):
    write(tmp_path, "include/wgrad/problem.hpp", "#pragma once\n#include <cstdint>\n")
    write(tmp_path, "device/wgrad/sm90/config.hpp", "#pragma once\n")
    write(tmp_path, "src/plan/plan.cpp", '#include "wgrad/problem.hpp"\n#include "core/log.hpp"\n')
    write(tmp_path, "src/jit/nvrtc.cpp", '#include "wgrad/sm90/config.hpp"\n')
    write(tmp_path, "emu/machine.hpp", '#include "wgrad/sm90/config.hpp"\n')
    write(tmp_path, "src/launch/emulated_launch.cpp", '#include "emu/machine.hpp"\n')
    write(tmp_path, "cli/main.cpp", '#include <CLI/CLI.hpp>\n#include "wgrad/problem.hpp"\n')
    return tmp_path


def test_the_import_rule_accepts_a_good_tree(tree):
    result = run("check_includes", tree)
    assert (result.returncode, result.stdout) == (0, "check_includes: the import rule holds\n")


@pytest.mark.parametrize("path, include, words", [
    ("src/core/log.cpp", '"plan/plan.hpp"', "src/core may not include src/plan"),
    ("src/cpu/tile.cpp", '"launch/driver/driver.hpp"', "src/cpu may not include src/launch"),
    ("src/plan/plan.cpp", '"jit/nvrtc.hpp"', "src/plan may not include src/jit"),
    ("src/launch/driver/driver.cpp", "<cuda.h>", "no CUDA header"),
    ("src/jit/nvrtc.cpp", "<nvrtc.h>", "no CUDA header"),
    ("src/plan/plan.cpp", '"wgrad/sm90/wgrad_sm90.cuh"', "the host sees .hpp files outside wgrad/arch/ only"),
    ("src/api/run.cpp", "<torch/extension.h>", "no torch, JAX or Python header"),
    ("src/extra/x.cpp", '"core/log.hpp"', "src/extra has no place in the import rule"),
    ("include/wgrad/run.hpp", "<cuda.h>", "nothing foreign"),
    ("include/wgrad/run.hpp", '"core/log.hpp"', "public headers include public headers"),
    ("device/wgrad/common/tile.cuh", "<cuda_runtime.h>", "device/ includes only device/"),
    ("src/launch/driver/driver.cpp", '"emu/machine.hpp"', "only emulated* in src/launch and src/kernels sees emu/"),
    ("src/backends/emu_backend.cpp", '"emu/machine.hpp"', "only emulated* in src/launch"),
    ("src/api/precompile.cpp", '"kernels/sm90/config.hpp"', "a kernel family's folder is for families"),
    ("src/kernels/search.cpp", '"kernels/sm90/config.hpp"', "a kernel family's folder is for families"),
    ("emu/machine.cpp", '"plan/plan.hpp"', "the emulated machine sees emu/ and device/ only"),
    ("python/bind/module.cpp", '"plan/plan.hpp"', "sees include/wgrad and src/call only"),
    ("src/call/call.cpp", '"core/log.hpp"', "src/call sees include/wgrad only"),
    ("src/call/call.cpp", "<nanobind/nanobind.h>", "no torch, JAX or Python header"),
    ("src/api/run.cpp", '"call/call.hpp"', "src/api may not include src/call"),
    ("cli/run.cpp", '"scales/codec.hpp"', "sees include/wgrad only"),
    ("cli/run.cpp", '"emu/machine.hpp"', "sees include/wgrad only"),
    ("examples/run.cpp", '"support/case.hpp"', "sees include/wgrad only"),
    ("device/wgrad/arch/emu/mma.cuh", '"emu/machine.hpp"', "device/ includes only device/"),
])
def test_the_import_rule_catches(tree, path, include, words):
    write(tree, path, f"// a comment\n#include {include}\n")
    result = run("check_includes", tree)
    assert result.returncode == 1
    assert f"{path}:2: includes {include[1:-1]}: " in result.stdout
    assert words in result.stdout


@pytest.mark.parametrize("first, second, circle", [
    ("from . import b\n", "from .a import x\n", True),
    ("def f():\n    from .b import y\n", "from . import a\n", True),
    ("from .inner import c\n", "", True),
    ("from . import b\n", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import a\n",
     False),
    ("from . import b\n", "", False),
])
def test_circles_of_python_modules_are_caught(tree, first, second, circle):
    write(tree, "python/wgrad/__init__.py", "from . import a\n")
    write(tree, "python/wgrad/a.py", "from typing import Any\n" + first)
    write(tree, "python/wgrad/b.py", second)
    write(tree, "python/wgrad/inner/__init__.py", "from .c import y\n")
    write(tree, "python/wgrad/inner/c.py", "from ..a import x\nfrom .. import _core\n")
    result = run("check_includes", tree)
    assert (result.returncode, "a circle of imports: wgrad." in result.stdout) == (circle, circle)


def test_a_header_that_does_not_stand_alone_is_caught(tree):
    assert run("check_headers", tree).returncode == 0
    write(tree, "include/wgrad/needy.hpp", "inline std::uint8_t x = 0;\n")
    result = run("check_headers", tree)
    assert result.returncode == 1
    assert "wgrad/needy.hpp does not compile alone" in result.stdout


def test_no_headers_at_all_is_a_failure(tmp_path):
    (tmp_path / "include" / "wgrad").mkdir(parents=True)
    assert run("check_headers", tmp_path).returncode == 1


@pytest.mark.parametrize("text, words", [
    ("see /" + "root/x\n", "a path of one machine"),
    ("see /" + "home/someone/x\n", "a path of one machine"),
    ("see /" + "tmp/build/x\n", "a path of one machine"),
    ("from " + "pypi" + ".org\n", "a package host"),
    ("from https:/" + "/wheels.internal/x\n", "a private host"),
    ("pip install --index" + "-url x\n", "a setting of one network"),
    ("trailing \n", "whitespace at the end of a line"),
    ("<" * 7 + " HEAD\n", "a conflict marker"),
])
def test_text_faults_are_caught(tmp_path, text, words):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    write(tmp_path, "fine.txt", "nothing to see, /usr/lib and /tmp are everywhere\n")
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    assert run("check_text", tmp_path).returncode == 0
    write(tmp_path, "bad.txt", text)
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    result = run("check_text", tmp_path)
    assert result.returncode == 1
    assert f"bad.txt:1: {words}" in result.stdout


def test_links_are_caught(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "link").symlink_to("nowhere")
    assert run("check_text", tmp_path).returncode == 0, "not tracked"
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    result = run("check_text", tmp_path)
    assert (result.returncode, result.stdout) == (1, "link: a symbolic link\n")


def test_duplicates_are_caught(tmp_path):
    block = "".join(f"int value_{i} = compute({i});\n" for i in range(10))
    write(tmp_path, "src/a.cpp", block + "int only_here = 1;\n")
    write(tmp_path, "src/b.cpp", "int before = 0;\n" + block.replace("value_9", "other"))
    assert run("check_duplicates", tmp_path).returncode == 0
    write(tmp_path, "src/b.cpp", "int before = 0;\n\n" + block)
    result = run("check_duplicates", tmp_path)
    assert result.returncode == 1
    assert "src/b.cpp:3: 10 lines or more stand at src/a.cpp:1" in result.stdout


def test_results_are_counted_and_an_empty_run_fails(tmp_path):
    write(tmp_path, "a.xml", '<testsuites><testsuite><testcase/><testcase><skipped/></testcase>'
                             '</testsuite></testsuites>')
    write(tmp_path, "b.xml", "<testsuite><testcase/></testsuite>")
    result = run("count_results", tmp_path / "a.xml", tmp_path / "b.xml")
    assert (result.returncode, result.stdout) == (0, "2 passed, 0 failed, 1 skipped\n")
    write(tmp_path, "b.xml", "<testsuite><testcase><failure/></testcase></testsuite>")
    result = run("count_results", tmp_path / "a.xml", tmp_path / "b.xml")
    assert (result.returncode, result.stdout) == (1, "1 passed, 1 failed, 1 skipped\n")
    write(tmp_path, "a.xml", "<testsuite></testsuite>")
    write(tmp_path, "b.xml", "<testsuite></testsuite>")
    assert run("count_results", tmp_path / "a.xml", tmp_path / "b.xml").returncode == 1
