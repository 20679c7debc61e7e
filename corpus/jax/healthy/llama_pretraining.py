"""5-layer Llama, 8 texts of 2048 tokens, bf16, cuDNN attention: healthy."""
import itertools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from shared.flax_training import cross_entropy, trainer
from shared.jax_layers import BF16, F32


def rotated(x):
    """Rotary positions; x is (texts, tokens, heads, numbers)."""
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None, None] * 10000.0 ** (-jnp.arange(half) / half)
    near, far = x[..., :half].astype(F32), x[..., half:].astype(F32)
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    return jnp.concatenate([near * cosine - far * sine, near * sine + far * cosine], axis=-1).astype(x.dtype)


class Llama(nn.Module):
    vocabulary: int = 16384
    dim: int = 1024
    heads: int = 16
    depth: int = 5

    @nn.compact
    def __call__(self, tokens):
        def dense(width):
            return nn.Dense(width, use_bias=False, dtype=BF16)

        x = nn.Embed(self.vocabulary, self.dim)(tokens).astype(BF16)
        for _ in range(self.depth):
            y = nn.RMSNorm(dtype=BF16)(x)
            q, k, v = (dense(self.dim)(y).reshape(*y.shape[:2], self.heads, -1) for _ in range(3))
            y = jax.nn.dot_product_attention(rotated(q), rotated(k), v, is_causal=True, implementation="cudnn")
            x = x + dense(self.dim)(y.reshape(x.shape))
            y = nn.RMSNorm(dtype=BF16)(x)
            x = x + dense(self.dim)(nn.silu(dense(2816)(y)) * dense(2816)(y))
        return dense(self.vocabulary)(nn.RMSNorm(dtype=BF16)(x))


def program(_):
    network = Llama()
    rng = np.random.default_rng(40)
    texts = itertools.cycle([jnp.asarray(rng.integers(0, network.vocabulary, (8, 2049), dtype=np.int32))
                             for _ in range(4)])
    params = jax.jit(network.init)(jax.random.key(40), jnp.zeros((1, 128), jnp.int32))

    def loss_of(params, texts):
        return cross_entropy(network.apply(params, texts[:, :-1]), texts[:, 1:])

    learn = trainer(loss_of, params)
    return lambda: learn(next(texts))
