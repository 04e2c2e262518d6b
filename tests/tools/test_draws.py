"""bench/draws.py, distribution.py, planner.py: the arithmetic of a benchmark that nobody can tune to."""

import math
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import distribution  # noqa: E402
import draws  # noqa: E402
import planner  # noqa: E402
from shapes import Shape, counts  # noqa: E402


def row(shape: Shape, wgrad: float, **peers: float) -> dict:
    sizes = [shape.experts, shape.m, shape.n, shape.tokens]
    return {"shape": shape.name, "mode": "bf16", "ms": {"dense": 1.0, "wgrad": wgrad, **peers},
            "floor_ms": 1.0, "flops": shape.flops, "sizes": sizes, "skew": shape.distribution}


def test_one_seed_is_one_draw():
    first = draws.random_shapes(50, 7)
    assert first == draws.random_shapes(50, 7)
    assert first[:20] == draws.random_shapes(20, 7)
    assert first != draws.random_shapes(50, 8)


def test_every_shape_comes_from_a_model():
    models = {m.name: m for m in draws.read_models()}
    assert len(models) > 80
    for shape in draws.random_shapes(300, 3):
        name, ep, tp, projection = shape.name.rsplit("-", 3)
        model, width = models[name], shape.m if projection == "down" else shape.n
        assert shape.experts * int(ep[2:]) == model.experts
        assert (shape.n if projection == "down" else shape.m) == model.hidden
        assert width * int(tp[2:]) == model.intermediate * (2 if projection == "gateup" else 1)
        assert shape.tokens % model.top_k == 0
        assert counts(shape).sum() == shape.tokens
        assert shape.m % 8 == 0 and shape.n % 8 == 0


def test_a_malformed_line_is_named(tmp_path):
    file = tmp_path / "models.txt"
    file.write_text("# none\nsome-model 1 2 3\n")
    with pytest.raises(ValueError, match="models.txt:2: 4 fields; a model has 7"):
        draws.read_models(file)


def test_kinds_say_what_is_hard():
    assert draws.kinds(Shape("", 1, 1024, 1024, 131072, "even")) == ["few tiles"]
    assert "thin last round" in draws.kinds(Shape("", 2, 4096, 1280, 262144, "even"))
    assert "row pitch" in draws.kinds(Shape("", 24, 2048, 1000, 40000, "even"))
    assert "narrow" in draws.kinds(Shape("", 9, 4096, 192, 20480, "even"))
    assert draws.kinds(Shape("", 64, 4096, 4096, 524288, "even")) == ["plain"]


def test_the_distribution_counts_and_orders():
    shape = Shape("s", 4, 512, 512, 65536, "even")
    rows = [row(shape, 2.0, loop=1.0, quack=3.0), row(shape, 1.0, loop=2.0, quack=4.0)]
    assert [distribution.ratio(r) for r in rows] == [0.5, 2.0]
    text = distribution.summary(rows)
    assert "2 shapes, geometric mean 1.000x the best peer, 50% at 1.00x or more, least 0.50x" in text
    assert text.index("| 0.50 |") < text.index("| 2.00 |")
    assert math.isnan(distribution.ratio(row(shape, 1.0)))
    assert "no peer" in distribution.summary([row(shape, 1.0)])


def test_the_planner_is_judged_by_its_first_plan():
    plans = [{"plan": "chosen", "ms": 1.1}, {"plan": "other", "ms": 1.0}]
    assert planner.loss(plans) == pytest.approx(1.1)
    assert "1.10x of best: other" in planner.describe(plans)
    text = planner.summary([{"plans": plans}, {"plans": plans[1:]}, {"plans": []}])
    assert "within 3 % of the best candidate in 50% of 2" in text
    assert "worst 1.10x" in text
