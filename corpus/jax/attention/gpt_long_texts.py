"""4-layer GPT training, 2 texts of 4096 tokens, bf16: attention. Flaw: softmax(QK)V written out. Cured by:
jax.nn.dot_product_attention(implementation="cudnn")."""
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np

from shared.jax_layers import attend, next_token_loss, trainer, transformer_weights


def attend_cudnn(q, k, v, causal):
    return jax.nn.dot_product_attention(q, k, v, is_causal=causal, implementation="cudnn")


def program(cured):
    rng = np.random.default_rng(9)
    texts = [jnp.asarray(rng.integers(0, 8192, (2, 4097), dtype=np.int32)) for _ in range(4)]
    loss_of = functools.partial(next_token_loss, heads=12, attention=attend_cudnn if cured else attend)
    learn, order = trainer(loss_of, transformer_weights(rng, 768, 4, 8192)), itertools.cycle(texts)
    return lambda: learn(next(order))
