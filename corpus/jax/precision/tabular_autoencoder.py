"""Autoencoder of 256 columns, 2048 wide, batch 16384: precision. Flaw: jax_default_matmul_precision highest: FP32
without tensor cores. Cured by: tensorfloat32."""
import itertools

import jax
import jax.numpy as jnp
import numpy as np

from shared.jax_layers import trainer, weight


def program(cured):
    jax.config.update("jax_default_matmul_precision", "tensorfloat32" if cured else "highest")
    rng = np.random.default_rng(7)
    sizes = (256, 2048, 2048, 64, 2048, 2048, 256)
    params = [weight(rng, a, b) for a, b in zip(sizes, sizes[1:])]
    batches = [jax.device_put(rng.standard_normal((16384, 256), dtype=np.float32)) for _ in range(4)]

    def loss_of(params, rows):
        x = rows
        for w in params[:-1]:
            x = jax.nn.relu(x @ w)
        return jnp.mean((x @ params[-1] - rows) ** 2)

    learn, order = trainer(loss_of, params), itertools.cycle(batches)
    return lambda: learn(next(order))
