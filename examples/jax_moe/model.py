"""A mixture of experts with a top-k router in JAX, its experts divided among the devices.

Each device holds some experts and sees all tokens. It sorts the assignments to its own experts to
the front; what is past their last offset belongs to others and costs nothing but memory, since
ragged products never read it. The devices' results are summed.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

DIGITS = 10


def initial(features, hidden, classes, experts, seed):
    """float32 parameters: router (features, E), w1 (E, features, hidden), w2 (E, hidden, classes)."""
    keys = jax.random.split(jax.random.key(seed), 3)

    def weights(key, *shape):
        return jax.random.normal(key, shape) * (2 / shape[-2]) ** 0.5

    return {
        "router": weights(keys[0], features, experts),
        "w1": weights(keys[1], experts, features, hidden),
        "w2": weights(keys[2], experts, hidden, classes),
    }


def own_experts(dot, chosen, x, choice, gates, w1, w2, first):
    """(count, classes) from the experts `first`, `first` + 1, ... alone.

    `dot(rows, weights, sizes)` multiplies the rows of each expert with its weights. `choice` and
    `gates` are (count, chosen): each token's experts, and what their results count.
    """
    own = w1.shape[0]
    place = choice.ravel() - first
    place = jnp.where((place >= 0) & (place < own), place, own)
    order = jnp.argsort(place, stable=True)
    sizes = jnp.bincount(place, length=own + 1)[:own].astype(jnp.int32)
    rows = x[order // chosen].astype(jnp.bfloat16)
    hidden = jax.nn.relu(dot(rows, w1.astype(jnp.bfloat16), sizes))
    out = dot(hidden, w2.astype(jnp.bfloat16), sizes).astype(jnp.float32)
    gate = jnp.where(place[order] < own, gates.ravel()[order], 0)
    result = jnp.zeros((len(x), out.shape[1]))
    return result.at[order // chosen].add(gate[:, None] * out)


def logits(dot, mesh, chosen, parameters, x):
    """(count, classes); `mesh` None: one device computes all experts."""
    scores, choice = jax.lax.top_k(x @ parameters["router"], chosen)
    gates = jax.nn.softmax(scores)
    w1, w2 = parameters["w1"], parameters["w2"]
    if mesh is None:
        return own_experts(dot, chosen, x, choice, gates, w1, w2, 0)

    # check_vma: with it, JAX takes `order` for the same on all devices, and the gradient of `gates`
    # from one of them (docs/notes/2026-12-01-jax-argsort-within-shard-map.md).
    specs = (P(), P(), P(), P("experts"), P("experts"))

    @partial(jax.shard_map, mesh=mesh, in_specs=specs, out_specs=P(), check_vma=False)
    def everywhere(x, choice, gates, w1, w2):
        first = jax.lax.axis_index("experts") * w1.shape[0]
        part = own_experts(dot, chosen, x, choice, gates, w1, w2, first)
        return jax.lax.psum(part, "experts")

    return everywhere(x, choice, gates, w1, w2)


def loss(dot, mesh, chosen, parameters, x, labels):
    """Mean cross entropy over the ten digits, and the largest score."""
    scores = logits(dot, mesh, chosen, parameters, x)[:, :DIGITS]
    entropies = -jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], axis=1)
    return entropies.mean(), jnp.abs(scores).max()


def loop(rows, weights, sizes):
    """The same product, expert by expert; JAX differentiates it."""
    ends = jnp.cumsum(sizes)
    row = jnp.arange(len(rows))[:, None]
    result = jnp.zeros((len(rows), weights.shape[2]), rows.dtype)
    for e in range(weights.shape[0]):
        own = (row >= ends[e] - sizes[e]) & (row < ends[e])
        result += jnp.where(own, rows, 0) @ weights[e]
    return result


def adam(rate, parameters, moments, gradients, step):
    """The parameters and moments after step `step`, which counts from 1."""

    def update(p, m, v, g):
        m, v = m + 0.1 * (g - m), v + 0.001 * (g * g - v)
        change = m / (1 - 0.9**step) / (jnp.sqrt(v / (1 - 0.999**step)) + 1e-8)
        return p - rate * change, m, v

    new = {name: update(p, *moments[name], gradients[name]) for name, p in parameters.items()}
    return {name: n[0] for name, n in new.items()}, {name: n[1:] for name, n in new.items()}
