"""Asian options priced over 4 million paths of 64 days: healthy."""
import itertools

import jax
import jax.numpy as jnp
from jax import lax


def program(_):
    paths, days = 1 << 22, 64
    keys = itertools.count()

    @jax.jit
    def price(seed, strikes):
        key = jax.random.key(seed)

        def day(at, path):
            logarithm, total = path
            drawn = jax.random.normal(jax.random.fold_in(key, at), (paths,))
            logarithm = logarithm + 0.0126 * drawn - 0.0000794
            return logarithm, total + jnp.exp(logarithm)

        _, total = lax.fori_loop(0, days, day, (jnp.zeros(paths), jnp.zeros(paths)))
        mean = 100 * total / days
        return jnp.stack([jnp.maximum(mean - strikes[at], 0).mean() for at in range(4)])

    strikes = jnp.asarray([90.0, 100.0, 110.0, 120.0])
    return lambda: price(next(keys), strikes)
