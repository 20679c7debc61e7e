"""Richardson-Lucy deconvolution of stacks of 64x512x512, 6 iterations a step: memory_allocation. Flaw:
XLA_PYTHON_CLIENT_ALLOCATOR=platform: cudaMalloc and cudaFree for every result. Cured by: JAX's own pool of
memory (the default)."""
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np


def program(cured):
    """Both variants are the same here: they differ in the environment that the manifest has."""
    del cured
    shape, spread, iterations = (64, 512, 512), (3.0, 1.5, 1.5), 6
    waves = np.meshgrid(np.fft.fftfreq(shape[0]), np.fft.fftfreq(shape[1]), np.fft.rfftfreq(shape[2]), indexing="ij")
    passed = np.exp(-2 * sum((math.pi * width * wave) ** 2 for width, wave in zip(spread, waves)))
    passed = jnp.asarray(passed.astype(np.float32))
    stacks = itertools.cycle([100 * jax.random.uniform(jax.random.key(77 + at), shape) + 1 for at in range(3)])

    @jax.jit
    def blur(stack, passed):
        return jnp.fft.irfftn(jnp.fft.rfftn(stack) * passed, s=shape, axes=(0, 1, 2))

    ratio = jax.jit(lambda seen, blurred: seen / jnp.maximum(blurred, 1e-3))
    correct = jax.jit(lambda estimate, blurred: jnp.maximum(estimate * blurred, 1e-3))

    def step():
        seen = next(stacks)
        estimate = seen
        for _ in range(iterations):
            estimate = correct(estimate, blur(ratio(seen, blur(estimate, passed)), passed))
        return estimate

    return step
