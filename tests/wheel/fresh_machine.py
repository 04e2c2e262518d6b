"""Runs the Python snippets of a page against an installed wheel, and looks where its parts come from.

Usage: fresh_machine.py PAGE. Needs no pytest: it runs in an environment that holds the wheel alone."""

import re
import sys
from pathlib import Path

import numpy as np
import wgrad


def first_snippet(page: Path) -> str:
    return re.search(r"```python\n(.*?)```", page.read_text(), re.DOTALL).group(1)


def loaded(word: str) -> set[str]:
    """The files of this process's memory whose names hold `word`."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return {line.split()[-1] for line in lines if word in line.rsplit("/", 1)[-1]}


def main() -> None:
    names: dict[str, object] = {}
    exec(compile(first_snippet(Path(sys.argv[1])), sys.argv[1], "exec"), names)
    x, dy, ends, dw = (names[name] for name in ("x", "dy", "ends", "dw"))
    begins = [0, *ends[:-1]]
    for expert, (begin, end) in enumerate(zip(begins, ends)):
        wanted = x[begin:end].astype(np.float64).T @ dy[begin:end].astype(np.float64)
        error = np.abs(dw[expert].astype(np.float64) - wanted).max()
        assert error <= 0.01 * max(1.0, np.abs(wanted).max()), (expert, error)
    package = str(Path(wgrad.__file__).parent)
    for word in ("dnnl", "openmp", "_core"):
        files = loaded(word)
        assert files and all(file.startswith(package) for file in files), (word, files)
    assert not loaded("libgomp") and not loaded("libfmt") and not loaded("libboost")
    print(f"fresh_machine: {sys.argv[1].rsplit('/', 1)[-1]}'s first snippet runs on {package.split('/lib/')[-1]}")


if __name__ == "__main__":
    main()
