#!/usr/bin/env python3
"""Draws what gpu_wgrad.py wrote: TFLOP/s of wgrad and its peers on every shape, one panel a mode."""

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLOURS = {"wgrad": "#1b6ca8", "grouped_mm": "#e0a030", "quack": "#8a5fa8", "quack-tuned": "#b894cc",
           "deepgemm": "#5a9e6f", "loop": "#b0b0b0"}


def panel(axis, rows, title: str) -> None:
    """Bars of each candidate a shape; a black mark where the ceiling of the same run lies."""
    names = [n for n in COLOURS if any(n in r["ms"] for r in rows)]
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        at = [j + (i - (len(names) - 1) / 2) * width for j, r in enumerate(rows) if name in r["ms"]]
        rate = [r["flops"] / r["ms"][name] / 1e9 for r in rows if name in r["ms"]]
        axis.bar(at, rate, width, label=name, color=COLOURS[name])
    # The rate of dense cuBLAS or of device memory: another minute's clocks can exceed it.
    ceilings = [r["flops"] / r["floor_ms"] / 1e9 for r in rows]
    axis.plot(range(len(rows)), ceilings, "k_", markersize=22,
              label="ceiling at that minute's clocks, TFLOP/s")
    axis.set_ylabel("TFLOP/s")
    axis.set_title(title, loc="left", fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--counts", default="odd", choices=["odd", "aligned"])
    args = parser.parse_args()
    report = json.loads(args.report.read_text())
    rows = [r for r in report["rows"] if r["counts"] == args.counts]
    modes = list(dict.fromkeys(r["mode"] for r in rows))
    figure, axes = plt.subplots(len(modes), 1, figsize=(11, 2.6 * len(modes)), sharex=True)
    for axis, mode in zip([axes] if len(modes) == 1 else axes, modes):
        panel(axis, [r for r in rows if r["mode"] == mode], f"{mode} output, {args.counts} counts")
        axis.set_xticks(range(len({r["shape"] for r in rows})))
        axis.set_xticklabels(dict.fromkeys(r["shape"] for r in rows), rotation=25, ha="right")
    figure.axes[0].legend(ncols=6, fontsize=8, loc="upper right", bbox_to_anchor=(1, 1.25))
    figure.suptitle(f"{report['gpu']}, torch {report['torch']}", x=0.01, ha="left", fontsize=10)
    figure.tight_layout()
    figure.savefig(args.picture, dpi=110)


if __name__ == "__main__":
    main()
