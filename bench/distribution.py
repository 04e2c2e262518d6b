"""How wgrad stands beside the best peer over many shapes: rows of gpu_wgrad.py in, words out."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from draws import kinds
from shapes import Shape

Row = Mapping[str, Any]
WORST = 10


def peers_of(row: Row) -> dict[str, float]:
    """Milliseconds of each peer."""
    return {n: t for n, t in row["ms"].items() if n not in ("dense", "wgrad")}


def ratio(row: Row) -> float:
    """Time of the best peer over wgrad's; NaN where either is missing."""
    peers = peers_of(row)
    if "wgrad" not in row["ms"] or not peers:
        return math.nan
    return min(peers.values()) / row["ms"]["wgrad"]


def quantile(ordered: Sequence[float], share: float) -> float:
    """Of an ascending, non-empty sequence."""
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def line_of(row: Row) -> str:
    """A row in one line: sizes, rate, best peer, ratio, attainment, and what makes it hard."""
    experts, m, n, tokens = row["sizes"]
    peers = peers_of(row)
    best = min(peers, key=peers.__getitem__)
    rate = row["flops"] / row["ms"]["wgrad"] / 1e9
    shape = Shape(row["shape"], experts, m, n, tokens, row["skew"])
    return (f"| {experts} x {m} x {n}, {tokens}, {row['skew']} | {row['shape']} | {rate:.0f} | "
            f"{best} {row['flops'] / peers[best] / 1e9:.0f} | {ratio(row):.2f} | "
            f"{row['floor_ms'] / row['ms']['wgrad']:.2f} | {', '.join(kinds(shape))} |")


def summary_of(mode: str, rows: Sequence[Row]) -> str:
    """Geometric mean, share at 1.00 or more, quantiles, and the worst rows as a table."""
    known = sorted((r for r in rows if not math.isnan(ratio(r))), key=ratio)
    if not known:
        return f"{mode}: no peer was timed"
    values = [ratio(r) for r in known]
    mean = math.exp(sum(math.log(v) for v in values) / len(values))
    share = sum(v >= 1 for v in values) / len(values)
    shown = " ".join(f"{int(100 * q)} %: {quantile(values, q):.2f}" for q in (0.05, 0.25, 0.5, 0.75))
    return "\n".join([
        f"{mode}: {len(values)} shapes, geometric mean {mean:.3f}x the best peer, {share:.0%} at "
        f"1.00x or more, least {values[0]:.2f}x; {shown}",
        "| E x M x N, T, skew | shape | wgrad TF | best peer TF | x | attainment | kind |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *(line_of(r) for r in known[:WORST])])


def summary(rows: Sequence[Row]) -> str:
    """One summary a mode."""
    modes = dict.fromkeys(r["mode"] for r in rows)
    return "\n".join(summary_of(m, [r for r in rows if r["mode"] == m]) for m in modes)
