"""tools/check_tidy finds what clang-tidy finds, and checks again what has changed, and only that."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(shutil.which("clang-tidy-14") is None,
                                reason="clang-tidy-14 is not installed")


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "check_tidy", tmp_path / "tools")
    (tmp_path / ".clang-tidy").write_text(
        "Checks: '-*,modernize-use-nullptr'\nWarningsAsErrors: '*'\nHeaderFilterRegex: '.*'\n")
    (tmp_path / "shared.hpp").write_text("inline int* shared() { return nullptr; }\n")
    (tmp_path / "build").mkdir()
    entries = []
    for name in ("one", "two"):
        (tmp_path / f"{name}.cpp").write_text(f'#include "shared.hpp"\nint* {name} = shared();\n')
        entries.append({"directory": str(tmp_path), "file": f"{name}.cpp",
                        "command": f"c++ -std=c++20 -c {name}.cpp -include build/cmake_pch.hxx"})
    (tmp_path / "build" / "compile_commands.json").write_text(json.dumps(entries))
    git = ["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    return tmp_path


def check(tree, *arguments):
    result = subprocess.run([tree / "tools" / "check_tidy", *arguments], text=True, timeout=120,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return result.returncode, result.stdout


def counts(checked, failed, unchanged):
    return (f"check_tidy: 2 sources: {checked} checked and clean, {failed} with findings, "
            f"{unchanged} unchanged since they were clean\n")


def test_what_passed_is_not_checked_again_until_it_changes(tree):
    assert check(tree) == (0, counts(2, 0, 0))
    assert check(tree) == (0, counts(0, 0, 2))
    (tree / "two.cpp").write_text("int* two = nullptr;  // changed\n")
    assert check(tree) == (0, counts(1, 0, 1))
    assert check(tree, "--all") == (0, counts(2, 0, 0))


def test_a_finding_fails_until_it_is_mended(tree):
    (tree / "two.cpp").write_text("int* two = 0;\n")
    for _ in range(2):
        code, text = check(tree)
        assert code == 1
        assert "use nullptr" in text
    (tree / "two.cpp").write_text("int* two = nullptr;\n")
    assert check(tree)[0] == 0


def test_a_header_is_checked_with_every_source_and_its_finding_shown_once(tree):
    assert check(tree)[0] == 0
    (tree / "shared.hpp").write_text("inline int* shared() { return 0; }\n")
    code, text = check(tree)
    assert code == 1
    assert text.count("use nullptr") == 1
    assert text.endswith(counts(0, 2, 0))
    (tree / "shared.hpp").write_text("inline int* shared() { return nullptr; }\n")
    assert check(tree) == (0, counts(0, 0, 2)), "the same text as once passed"
