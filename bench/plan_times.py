#!/usr/bin/env python3
"""What `gpu_wgrad.py --candidates --json FILE` timed, a line a shape: tests/kernels/sm90/h200_times.txt.

Columns: experts m n tokens skew mode, microseconds of the best peer, then width, split of the
warpgroups (p: pingpong, c: cooperative), CTAs along M and CTAs sharing tokens of each candidate
with its microseconds, the fastest first, up to twice its time. '256c2*8:2048' has up to 8 parts of
2048 tokens or more that meet in the workspace, where '256c2/1' has no such parts.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

PLAN = re.compile(r"sm90 \d+x(\d+)x\d+ (p|c)\w+, \d+ stages, cluster (\d)x1, "
                  r"(?:(\d) CTAs sharing|up to (\d+) parts of (\d+))?")


def label(plan: str) -> str:
    """'192p2/1' of a plan's summary. Raises ValueError for what is none."""
    found = PLAN.match(plan)
    if found is None:
        raise ValueError(f"'{plan}' is no plan of the SM 9.0 kernel")
    width, split, cluster, shares, parts, least = found.groups()
    return f"{width}{split}{cluster}" + (f"*{parts}:{least}" if parts else f"/{shares or 1}")


def line(row: dict[str, Any]) -> str:
    """One row of the report."""
    peers = [t for n, t in row["ms"].items() if n not in ("dense", "wgrad")]
    plans = sorted((p["ms"], label(p["plan"])) for p in row["plans"])
    head = [*map(str, row["sizes"]), row["skew"], row["mode"], f"{min(peers) * 1e3:.1f}"]
    near = [f"{name} {ms * 1e3:.1f}" for ms, name in plans if ms <= 2 * plans[0][0]]
    return " ".join(head + near)


def main() -> int:
    for row in json.loads(Path(sys.argv[1]).read_text())["rows"]:
        if row["plans"]:
            print(line(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
