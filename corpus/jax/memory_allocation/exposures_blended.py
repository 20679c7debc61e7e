"""Laplacian pyramids of 16 pairs of 1024x1024 pictures blended: memory_allocation. Flaw:
XLA_PYTHON_CLIENT_ALLOCATOR=platform: cudaMalloc and cudaFree for every result. Cured by: JAX's own pool of
memory (the default)."""
import jax
import jax.numpy as jnp


def program(cured):
    """Both variants are the same here: they differ in the environment that the manifest has."""
    del cured
    shape = (16, 1024, 1024, 3)
    dark, bright = (jax.random.uniform(jax.random.key(seed), shape) for seed in (12, 13))

    @jax.jit
    def shrink(x):
        n, high, wide, colours = x.shape
        return x.reshape(n, high // 2, 2, wide // 2, 2, colours).mean((2, 4))

    @jax.jit
    def grow(x):
        return jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)

    trust = jax.jit(lambda x: jnp.exp(-12.5 * (x.mean(-1, keepdims=True) - 0.5) ** 2))
    subtract = jax.jit(lambda x, y: x - y)
    blend = jax.jit(lambda x, y, p, q: (p * x + q * y) / (p + q + 1e-6))
    add = jax.jit(lambda x, y: x + y)

    def step():
        x, y, levels = dark, bright, []
        p, q = trust(x), trust(y)
        for _ in range(4):
            low_x, low_y = shrink(x), shrink(y)
            levels.append(blend(subtract(x, grow(low_x)), subtract(y, grow(low_y)), p, q))
            x, y, p, q = low_x, low_y, shrink(p), shrink(q)
        result = blend(x, y, p, q)
        for level in reversed(levels):
            result = add(grow(result), level)
        return result

    return step
