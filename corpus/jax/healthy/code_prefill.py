"""6-layer Mistral-like decoder reads 8 prompts of 2048 tokens, inference, bf16, cuDNN attention: healthy."""
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np

from shared.jax_layers import BF16, drawn, F32, root_norm


def rotated(x):
    """Rotary positions; x is (prompts, tokens, heads, numbers)."""
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1], dtype=F32)[:, None, None] * 10000.0 ** (-jnp.arange(half, dtype=F32) / half)
    near, far = x[..., :half].astype(F32), x[..., half:].astype(F32)
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    return jnp.concatenate([near * cosine - far * sine, near * sine + far * cosine], axis=-1).astype(x.dtype)


def program(_):
    prompts, tokens, vocabulary, dim, hidden, depth, size = 8, 2048, 32000, 2048, 5632, 6, 128
    heads, shared = dim // size, 4
    keys = iter(jax.random.split(jax.random.key(80), 2 + 6 * depth))
    weights = {"table": drawn(next(keys), vocabulary, dim), "head": drawn(next(keys), dim, vocabulary),
               "scale": jnp.ones(dim, BF16), "layers": [
        {"scale_1": jnp.ones(dim, BF16), "q": drawn(next(keys), dim, dim),
         "kv": drawn(next(keys), dim, 2 * shared * size), "out": drawn(next(keys), dim, dim),
         "scale_2": jnp.ones(dim, BF16), "gate": drawn(next(keys), dim, hidden), "up": drawn(next(keys), dim, hidden),
         "down": drawn(next(keys), hidden, dim)} for _ in range(depth)]}
    rng = np.random.default_rng(81)
    texts = itertools.cycle([jnp.asarray(rng.integers(0, vocabulary, (prompts, tokens), dtype=np.int32))
                             for _ in range(4)])
    attend = functools.partial(jax.nn.dot_product_attention, is_causal=True, implementation="cudnn")

    @jax.jit
    def read(weights, text):
        x, cache = weights["table"][text], []
        for layer in weights["layers"]:
            y = root_norm(x, layer["scale_1"])
            q = rotated((y @ layer["q"]).reshape(prompts, tokens, heads, size))
            k, v = (part.reshape(prompts, tokens, shared, size) for part in jnp.split(y @ layer["kv"], 2, axis=-1))
            k = rotated(k)
            cache.append((k, v))
            x = x + attend(q, k, v).reshape(x.shape) @ layer["out"]
            y = root_norm(x, layer["scale_2"])
            x = x + (jax.nn.silu(y @ layer["gate"]) * (y @ layer["up"])) @ layer["down"]
        last = root_norm(x[:, -1], weights["scale"]) @ weights["head"]
        return jnp.argmax(last.astype(F32), axis=-1), cache

    return lambda: read(weights, next(texts))
