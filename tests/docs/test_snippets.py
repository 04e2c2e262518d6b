"""Every snippet of a page runs, in the order of its page, or says why it cannot and has no fault of syntax."""

import os
import re
import shlex
import subprocess

import preludes
import pytest
import snippets

ROOT = snippets.ROOT
SHELL = snippets.snippets("sh")
PAGES = sorted({snippet.page for snippet in snippets.snippets("python")})


@pytest.mark.parametrize("page", PAGES)
def test_python(page):
    pytest.importorskip("torch") if page in ("README.md", "docs/torch.md", "docs/migrating.md") else None
    pytest.importorskip("jax") if page in ("README.md", "docs/jax.md") else None
    names = preludes.PRELUDES.get(page, dict)()
    for snippet in snippets.snippets_of(ROOT / page):
        if snippet.language != "python":
            continue
        code = compile("\n" * (snippet.line - 1) + smaller(snippet.code), page, "exec")
        if snippet.why is None:
            if "wgrad.jax" in snippet.code and page == "README.md":
                names.update(preludes.jax_step())
                import wgrad.jax  # noqa: F401
            exec(code, names)


def smaller(code):
    for given, instead in preludes.SMALLER.items():
        code = code.replace(given, instead)
    return code


@pytest.mark.parametrize("snippet", SHELL, ids=str)
def test_shell(snippet, tmp_path):
    checked = subprocess.run(["bash", "-n"], input=snippet.code, text=True, capture_output=True)
    assert checked.returncode == 0, checked.stderr
    if snippet.why is not None:
        return
    program = ROOT / os.environ.get("WGRAD_TEST_CLI", "build/cli/wgrad")
    for line in snippet.code.splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        assert words[0] == "wgrad", f"{snippet}: only lines of wgrad are run; declare others: {line}"
        run = subprocess.run([program, *words[1:]], cwd=tmp_path, text=True, capture_output=True, timeout=300)
        assert run.returncode == 0, f"{line}\n{run.stdout}{run.stderr}"


def test_every_fence_says_its_language():
    known = {"python", "sh", "cpp", "text", "toml"}
    for page in snippets.pages():
        fences = re.findall(r"^```(\w*)$", page.read_text(), re.MULTILINE)[::2]
        assert set(fences) - {""} <= known, (page, fences)


