"""Conjugate gradients for Poisson's equation, 2048x2048, 60 iterations a step: cpu_gpu_sync. Flaw: float() of the
residual after every iteration. Cured by: the residual is read every 20 iterations."""
import jax
import jax.numpy as jnp
import numpy as np

from shared.jax_layers import padded_sum


def program(cured):
    side, iterations, every = 2048, 60, 20 if cured else 1
    source = jnp.asarray(np.random.default_rng(4).standard_normal((side, side), dtype=np.float32))

    @jax.jit
    def start(source):
        return jnp.zeros_like(source), source, source, jnp.sum(source * source)

    @jax.jit
    def iterate(x, r, p, norm):
        image = 4 * p - padded_sum(p)
        alpha = norm / jnp.sum(p * image)
        x, r = x + alpha * p, r - alpha * image
        left = jnp.sum(r * r)
        return x, r, r + left / norm * p, left

    def step():
        state = start(source)
        for at in range(1, iterations + 1):
            state = iterate(*state)
            if at % every == 0 and float(state[3]) < 1e-6:
                break
        return state[0]

    return step
