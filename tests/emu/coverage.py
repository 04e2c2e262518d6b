#!/usr/bin/env python3
"""Lines of the device code that no emulated kernel reached, of a build with --coverage whose tests have run.

usage: coverage.py BUILD   (emu/README.md shows how to make one)
Exit status 0: every line of device/wgrad/common, sm90 and shared that was compiled was reached.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

UNITS = ["kernels/kernel_list.cpp", "sm90/emulated/kernels.cpp", "sm90/emulated/traced_kernels.cpp"]
ROOMS = re.compile(r"device/wgrad/(common|sm90|shared)/.*")


def add(counts, data):
    """Counts of one translation unit: a line of a template is reached where any of its instances is."""
    report = subprocess.run(["gcov", "--json-format", "--stdout", str(data)], capture_output=True, text=True, check=True)
    for file in json.loads(report.stdout)["files"]:
        if found := ROOMS.search(file["file"]):
            for line in file["lines"]:
                counts[found[0]][line["line_number"]] += line["count"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    counts = collections.defaultdict(collections.Counter)
    for unit in UNITS:
        for data in pathlib.Path(sys.argv[1]).resolve().rglob(unit + ".gcda"):
            add(counts, data)
    if not counts:
        sys.exit("no counts: nothing was built with --coverage, or nothing has run")
    missed = 0
    for file, lines in sorted(counts.items()):
        dark = sorted(n for n, count in lines.items() if count == 0)
        missed += len(dark)
        print(f"{file:44} {len(lines) - len(dark):4} of {len(lines):4} {dark or ''}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
