"""Residual network on 64 pictures of 64x64, bf16: gpu_underused. Flaw: gradients accumulated over 8 batches of 8.
Cured by: one batch of 64."""
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from shared.jax_layers import resnet_loss, resnet_weights, trainer


def program(cured):
    rng = np.random.default_rng(14)
    parts = 1 if cured else 8
    batches = [(jnp.asarray(rng.random((parts, 64 // parts, 64, 64, 3), dtype=np.float32)),
                jnp.asarray(rng.integers(0, 100, (parts, 64 // parts), dtype=np.int32))) for _ in range(4)]
    gradients_of = jax.value_and_grad(resnet_loss)

    def gradients(params, pictures, labels):
        if pictures.shape[0] == 1:
            return gradients_of(params, pictures[0], labels[0])

        def accumulate(total, part):
            return jax.tree.map(jnp.add, total, gradients_of(params, *part)), None

        total = jnp.zeros(()), jax.tree.map(jnp.zeros_like, params)
        total, _ = lax.scan(accumulate, total, (pictures, labels))
        return jax.tree.map(lambda value: value / parts, total)

    learn = trainer(resnet_loss, resnet_weights(rng, (64, 128, 256), 2), gradients)
    order = itertools.cycle(batches)
    return lambda: learn(*next(order))
