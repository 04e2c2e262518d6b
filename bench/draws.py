"""Random shapes that nobody listed: published models, split over ranks as training splits them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shapes import Shape

MODELS_FILE = Path(__file__).with_name("models.txt")
EXPERT_RANKS = (1, 2, 4, 8, 16, 32, 64)
TENSOR_RANKS = (1, 2, 4, 8)
RANK_TOKENS = tuple(1 << p for p in range(11, 17))  # before each goes to its top_k experts
DISTRIBUTIONS = ("even", "jitter", "jitter", "zipf", "hot")
MOST_BYTES = 24 << 30  # operands and FP32 outputs of one shape
MULTIPROCESSORS = 132  # of an H200
TILE = (128, 256)  # the largest output tile
NARROW = 384


@dataclass(frozen=True)
class Model:
    """One line of the models file."""

    name: str
    hidden: int
    intermediate: int
    experts: int
    top_k: int
    gated: bool


def read_models(path: Path = MODELS_FILE) -> list[Model]:
    """Models in file order. Raises ValueError naming a malformed line."""
    models = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fields = line.split("#")[0].split()
        if not fields:
            continue
        if len(fields) != 7:
            raise ValueError(f"{path.name}:{number}: {len(fields)} fields; a model has 7")
        models.append(Model(fields[0], *(int(f) for f in fields[1:5]), fields[5] == "yes"))
    return models


def draw(rng: np.random.Generator, models: list[Model]) -> Shape | None:
    """One projection of a model on one rank; None where the split leaves no such shape."""
    model = models[rng.integers(len(models))]
    ep, tp = int(rng.choice(EXPERT_RANKS)), int(rng.choice(TENSOR_RANKS))
    projection = str(rng.choice(("gate", "gateup", "down") if model.gated else ("up", "down")))
    tokens = int(rng.choice(RANK_TOKENS)) * model.top_k
    distribution = str(rng.choice(DISTRIBUTIONS))
    width = model.intermediate // tp
    if model.experts % ep or model.intermediate % tp or width % 8:
        return None
    m, n = model.hidden, 2 * width if projection == "gateup" else width
    if projection == "down":
        m, n = n, m
    experts = model.experts // ep
    if 2 * tokens * (m + n) + 4 * experts * m * n > MOST_BYTES:
        return None
    name = f"{model.name}-ep{ep}-tp{tp}-{projection}"
    return Shape(name, experts, m, n, tokens, distribution)


def random_shapes(count: int, seed: int, models: list[Model] | None = None) -> list[Shape]:
    """`count` shapes of one seed: models x projection x EP x TP x tokens x skew."""
    rng = np.random.default_rng(seed)
    known = models if models is not None else read_models()
    shapes: list[Shape] = []
    while len(shapes) < count:
        shape = draw(rng, known)
        if shape is not None:
            shapes.append(shape)
    return shapes


def kinds(shape: Shape) -> list[str]:
    """What makes a shape hard, in words."""
    tiles = -(-shape.m // TILE[0]) * -(-shape.n // TILE[1]) * shape.experts
    rounds = tiles / MULTIPROCESSORS
    found = []
    if rounds < 1:
        found.append("few tiles")
    elif rounds < 6 and rounds % 1 and rounds / np.ceil(rounds) < 0.9:
        found.append("thin last round")
    if shape.m % 16 or shape.n % 16:
        found.append("row pitch")
    if min(shape.m, shape.n) <= NARROW:
        found.append("narrow")
    if shape.experts >= 128:
        found.append("many experts")
    if shape.flops < 4e10:
        found.append("short")
    return found or ["plain"]
