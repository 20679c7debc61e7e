"""Variational autoencoder of 2048 genes of single cells, batch 8192, bf16: host_transfer. Flaw: the expression
matrix stays a numpy array: every batch is copied to the GPU again. Cured by: jax.device_put of the matrix once."""
import itertools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from shared.flax_training import trainer
from shared.jax_layers import BF16, F32


class CellAutoencoder(nn.Module):
    genes: int = 2048
    width: int = 2048
    latent: int = 32

    @nn.compact
    def __call__(self, counts, key):
        x = jnp.log1p(counts).astype(BF16)
        for _ in range(2):
            x = nn.relu(nn.Dense(self.width, dtype=BF16)(x))
        mean, spread = jnp.split(nn.Dense(2 * self.latent, dtype=BF16)(x).astype(F32), 2, axis=-1)
        spread = jnp.clip(spread, -6, 2)
        x = (mean + jnp.exp(spread) * jax.random.normal(key, mean.shape)).astype(BF16)
        for _ in range(2):
            x = nn.relu(nn.Dense(self.width, dtype=BF16)(x))
        rate = nn.softplus(nn.Dense(self.genes, dtype=BF16)(x).astype(F32)) + 1e-4
        return rate, 0.5 * (mean ** 2 + jnp.exp(2 * spread) - 1 - 2 * spread).sum(-1)


def program(cured):
    network, batch = CellAutoencoder(), 8192
    counts = 8 * np.random.default_rng(23).random((8 * batch, network.genes), dtype=np.float32)
    params = jax.jit(network.init)(jax.random.key(24), jnp.zeros((1, network.genes)), jax.random.key(0))

    def loss_of(params, counts, seed):
        rate, divergence = network.apply(params, counts, jax.random.key(seed))
        return ((rate - counts * jnp.log(rate)).sum(-1) + divergence).mean() / network.genes

    learn, seeds = trainer(loss_of, params), itertools.count()
    batches = np.split(counts, 8)
    if cured:
        batches = jax.device_put(batches)
    order = itertools.cycle(batches)
    return lambda: learn(next(order), next(seeds))
