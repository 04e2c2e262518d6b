"""tools/setup, where packages are missing: what PyPI has in their place, and what people are told."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FROM_THE_SYSTEM = {"g++", "git", "python3", "python3-dev", "python3-venv"}
DONE_WITHOUT = {"ccache", "clang-tidy-14", "libclang-14-dev", "libomp-14-dev", "llvm-14-dev", "ocl-icd-opencl-dev"}

#: An ordinary user's shell, in which pip tells what it is asked for, and programs are there as `found` says.
SHELL = """
command() {{ [[ " {absent} " != *" $2 "* ]] && {{ [[ " {present} " == *" $2 "* ]] || builtin command "$@"; }}; }}
compgen() {{ [[ "{musl}" == yes ]]; }}
. tools/pypi_packages
"""


def shell(text, absent="", present="", musl="no"):
    code = SHELL.format(absent=absent, present=present, musl=musl) + text
    return subprocess.run(["bash", "-c", code, "tools/setup"], cwd=ROOT, capture_output=True, text=True)


def packages():
    text = (ROOT / "tools/setup").read_text()
    named = re.findall(r"^ *(?:\[\[.*\|\| )?packages\+?=\(([^)]*)\)", text, re.MULTILINE)
    return [name for group in named for name in group.split()]


def test_every_package_has_a_stand_in_or_must_be_there_or_is_done_without():
    assert len(packages()) == 20
    for name in packages():
        said = shell(f"on_system() {{ false; }}; pypi_requirement {name}; pypi_program {name}").stdout.split()
        assert bool(said) != (name in FROM_THE_SYSTEM | DONE_WITHOUT), name
        assert all(re.search(r"[=>]=|^ninja$", each) for each in said), said


def test_what_is_done_without_counts_as_there():
    for name in DONE_WITHOUT:
        assert shell(f"on_system {name}").returncode == 0, name


def asked_of_pypi(lacking, *names):
    return shell(
        f'on_system() {{ [[ " {lacking} " != *" $1 "* ]]; }}; pip_install() {{ echo "pip: $*"; }};'
        f'install_from_pypi {" ".join(names)} || echo "lacks ${{lacking[*]}}"'
    ).stdout.splitlines()


def test_only_what_is_missing_is_installed():
    assert asked_of_pypi("", "cmake", "libfmt-dev", "g++") == []
    (program,) = asked_of_pypi("cmake", "cmake", "libfmt-dev", "g++")
    assert program.startswith("pip: cmake")
    (libraries,) = asked_of_pypi("libfmt-dev libdnnl-dev", "cmake", "libfmt-dev", "libdnnl-dev")
    assert "--prefix .venv/packages cmeel-fmt" in libraries and "onednn-devel-cpu-gomp==" in libraries


def test_what_must_come_from_the_system_is_named_before_anything_is_installed():
    assert asked_of_pypi("cmake g++ python3-dev", "cmake", "g++", "git", "python3-dev") == ["lacks g++ python3-dev"]


@pytest.mark.parametrize("system,said", [
    (dict(absent="dpkg-query", musl="yes"), "C library is musl"),
    (dict(absent="dpkg-query apt-get", present="dnf"), "dnf install gcc-c++ git python3-devel"),
    (dict(absent="dpkg-query apt-get dnf"), "missing, as root: of Debian's packages g++"),
], ids=["Alpine", "Fedora", "others"])
def test_other_systems_get_a_sentence_and_nothing_is_installed(system, said):
    lacking = 'pip_install() { echo installs; }; on_system() { [[ $1 != g++ ]]; }\n'
    # Sourced with its own line that reads pypi_packages left out, which is read already.
    text = lacking + "source <(grep -v '^\\. tools/pypi_packages' tools/setup)"
    done = shell(text, **system)
    assert done.returncode != 0 and said in done.stderr, (done.stdout, done.stderr)
    assert "installs" not in done.stdout
