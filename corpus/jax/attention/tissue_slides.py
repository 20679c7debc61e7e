"""4-layer transformer over the 6144 patches of a slide, training, bf16: attention. Flaw:
jax.nn.dot_product_attention by its default implementation, which writes out softmax(QK)V. Cured by:
implementation="cudnn"."""
import itertools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from shared.flax_training import cross_entropy, dense_layers, trainer
from shared.jax_layers import BF16, F32


class SlideNetwork(nn.Module):
    """Attention between all patches of a slide, then a weighted mean of them."""
    implementation: Any
    dim: int = 768
    heads: int = 12
    depth: int = 4

    @nn.compact
    def __call__(self, patches):
        x = nn.Dense(self.dim, dtype=BF16)(patches)
        for _ in range(self.depth):
            y = nn.Dense(3 * self.dim, dtype=BF16)(nn.LayerNorm(dtype=BF16)(x))
            q, k, v = (part.reshape(*x.shape[:2], self.heads, -1) for part in jnp.split(y, 3, axis=-1))
            y = jax.nn.dot_product_attention(q, k, v, implementation=self.implementation)
            x = x + nn.Dense(self.dim, dtype=BF16)(y.reshape(x.shape))
            x = dense_layers(x, self.dim, 4 * self.dim)
        x = nn.LayerNorm(dtype=BF16)(x)
        gate = nn.Dense(1, dtype=BF16)(nn.tanh(nn.Dense(128, dtype=BF16)(x))).astype(F32)
        return nn.Dense(5)((jax.nn.softmax(gate, axis=1) * x.astype(F32)).sum(1))


def program(cured):
    network, patches = SlideNetwork("cudnn" if cured else None), 6144
    keys = jax.random.split(jax.random.key(65), 5)
    slides = [(jax.random.normal(key, (1, patches, 1024), BF16), jnp.full(1, at, jnp.int32))
              for at, key in enumerate(keys[:4])]
    # Nothing in the network depends on the number of patches, so its weights can be made with a few of them.
    params = jax.jit(SlideNetwork(None).init)(keys[4], slides[0][0][:, :64])

    def loss_of(params, slide, grade):
        return cross_entropy(network.apply(params, slide), grade)

    learn, order = trainer(loss_of, params), itertools.cycle(slides)
    return lambda: learn(*next(order))
