"""8-layer transformer on body landmarks of 64 frames, training, bf16: gpu_underused. Flaw: batch 16. Cured by:
batch 128."""
import itertools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from shared.flax_training import cross_entropy, dense_layers, trainer
from shared.jax_layers import BF16


class SignNetwork(nn.Module):
    dim: int = 384
    heads: int = 6
    depth: int = 8

    @nn.compact
    def __call__(self, landmarks):
        x = nn.Dense(self.dim, dtype=BF16)(landmarks)
        x = x + self.param("place", nn.initializers.normal(0.02), x.shape[1:]).astype(BF16)
        for _ in range(self.depth):
            y = nn.LayerNorm(dtype=BF16)(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=self.heads, dtype=BF16, deterministic=True)(y, y)
            x = dense_layers(x, self.dim, 4 * self.dim)
        return nn.Dense(250, dtype=BF16)(nn.LayerNorm(dtype=BF16)(x).mean(1))


def program(cured):
    network, small = SignNetwork(), 16
    batch = 8 * small if cured else small
    rng, keys = np.random.default_rng(67), jax.random.split(jax.random.key(67), 5)
    batches = [(jax.random.normal(key, (batch, 64, 224)), jnp.asarray(rng.integers(0, 250, batch, dtype=np.int32)))
               for key in keys[:4]]
    params = jax.jit(network.init)(keys[4], batches[0][0][:1])

    def loss_of(params, landmarks, signs):
        return cross_entropy(network.apply(params, landmarks), signs)

    learn, order = trainer(loss_of, params), itertools.cycle(batches)
    return lambda: learn(*next(order)), batch // small
