"""131072 candidates scored from 26 embeddings each and an MLP, bf16: memory_bandwidth. Flaw: the embeddings are
columns of the table: a lookup reads single floats far apart. Cured by: the embeddings are rows of the table."""
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from shared.jax_layers import BF16, F32


def drawn(key, *shape):
    """Weights in bf16 whose outputs have the spread of their inputs."""
    return (jax.random.normal(key, shape, F32) / math.sqrt(shape[-2])).astype(BF16)


def program(cured):
    features, dim, width, candidates = 1 << 21, 64, 1024, 1 << 17
    keys = jax.random.split(jax.random.key(47), 4)
    table = jax.random.normal(keys[0], (features, dim) if cured else (dim, features), F32)
    layers = [drawn(keys[1], dim, width), drawn(keys[2], width, width), drawn(keys[3], width, 1)]
    rng = np.random.default_rng(48)
    requests = itertools.cycle([jnp.asarray(rng.integers(0, features, (candidates, 26), dtype=np.int32))
                                for _ in range(4)])

    @jax.jit
    def score(table, layers, ids):
        if cured:
            x = jnp.take(table, ids, axis=0).sum(1)
        else:
            x = jnp.take(table, ids, axis=1).sum(2).T
        x = (x / 5).astype(BF16)
        for w in layers[:-1]:
            x = jax.nn.relu(x @ w)
        return jax.nn.sigmoid((x @ layers[-1]).astype(F32))

    return lambda: score(table, layers, next(requests))
