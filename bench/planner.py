"""Every configuration that the planner considers for a call, as timed candidates."""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch

NEAR = 1.03  # a choice this close to the best of all is right


@dataclass(frozen=True)
class Plan:
    """One candidate: its summary, what the cost model says of it, and a call that runs it."""

    name: str
    summary: str
    predicted_ms: float
    call: Callable[[], None]

    def row(self, ms: float) -> dict[str, Any]:
        """What a report keeps of it."""
        return {"plan": self.summary, "predicted_ms": self.predicted_ms, "ms": ms}


def _contract(x: torch.Tensor, dy: torch.Tensor, offsets: torch.Tensor, out: torch.Tensor,
              accumulate: bool) -> Any:
    from wgrad import _core

    given = {"x": x, "dy": dy, "offsets": offsets, "out": out}
    options = _core.Options(accumulate=accumulate)
    return _core.Call(_core.Api.NATURAL, options, given).contract()


def _usable(contract: Any, api: Any) -> list[Any]:
    found = [c for c in contract.explain(api).candidates if not c.reasons]
    return [c for c in found if c.backend == found[0].backend]


def compile_side_by_side(calls: Iterable[tuple[Any, Any]], every_candidate: bool) -> None:
    """Fills the kernel cache for calls on CUDA, described by (shape, mode), by one thread a core."""
    from wgrad import _core

    api = _core.Api.NATURAL
    wanted = []
    for shape, mode in calls:
        x, dy = (torch.empty(8, width, device="cuda", dtype=torch.bfloat16)
                 for width in (shape.m, shape.n))
        offsets = torch.zeros(shape.experts, dtype=torch.int32, device="cuda")
        out = torch.empty(shape.experts, shape.m, shape.n, device="cuda", dtype=mode.dtype)
        contract = _contract(x, dy, offsets, out, mode.accumulate)
        count = len(_usable(contract, api)) if every_candidate else 1
        wanted += [(contract, number) for number in range(count)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: job[0].compile(api, job[1]), wanted))


def candidates(x: torch.Tensor, dy: torch.Tensor, offsets: torch.Tensor, out: torch.Tensor,
               accumulate: bool) -> list[Plan]:
    """Compiled candidates of ``grouped_wgrad(x, dy, offsets, out, accumulate)``, the choice first."""
    from wgrad import _core

    api = _core.Api.NATURAL
    given = {"x": x, "dy": dy, "offsets": offsets, "out": out}
    contract = _contract(x, dy, offsets, out, accumulate)
    plans = []
    for number, candidate in enumerate(_usable(contract, api)):
        compiled = contract.compile(api, number)

        def call(compiled: Any = compiled) -> None:
            compiled.run(given, api)

        plans.append(Plan(f"wgrad plan {number}", candidate.plan, candidate.predicted_ms, call))
    return plans


def loss(plans: Sequence[Mapping[str, Any]]) -> float:
    """Time of the first plan over the least of all."""
    return plans[0]["ms"] / min(p["ms"] for p in plans)


def describe(plans: Sequence[Mapping[str, Any]]) -> str:
    """How far the choice is from the best, and what that is."""
    best = min(plans, key=lambda p: p["ms"])
    return f"choice {loss(plans):.2f}x of best: {best['plan']}"


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """Over all rows: how often the choice is within 3 % of the best candidate."""
    losses = [loss(r["plans"]) for r in rows if r["plans"]]
    if not losses:
        return "planner: no candidates were timed"
    near = sum(v <= NEAR for v in losses) / len(losses)
    mean = math.exp(sum(math.log(v) for v in losses) / len(losses))
    return (f"planner: within 3 % of the best candidate in {near:.0%} of {len(losses)}, geometric "
            f"mean {mean:.3f}x, worst {max(losses):.2f}x")
