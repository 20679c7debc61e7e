"""Gray-Scott reaction and diffusion on 512x512, 256 time steps a step: launch_overhead. Flaw: a Python loop calls
the compiled time step. Cured by: jax.lax.fori_loop over the time steps in one compiled function."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from shared.jax_layers import padded_sum


def program(cured):
    side, ticks = 512, 256
    rng = np.random.default_rng(5)
    dish = (jnp.ones((side, side)), jnp.asarray((rng.random((side, side)) < 0.05).astype(np.float32)))

    @jax.jit
    def react(u, v):
        both = u * v * v
        return (u + 0.16 * (padded_sum(u) - 4 * u) - both + 0.035 * (1 - u),
                v + 0.08 * (padded_sum(v) - 4 * v) + both - 0.1 * v)

    @jax.jit
    def develop(u, v):
        return lax.fori_loop(0, ticks, lambda _, dish: react(*dish), (u, v), unroll=4)

    def step():
        nonlocal dish
        if cured:
            dish = develop(*dish)
        else:
            for _ in range(ticks):
                dish = react(*dish)
        return dish

    return step
