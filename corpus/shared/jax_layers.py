"""Parts of networks in plain JAX, and training steps with Adam written by hand."""
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


BF16 = jnp.bfloat16
F32 = jnp.float32


def drawn(key, *shape):
    """Weights in bf16 whose outputs have the spread of their inputs."""
    return (jax.random.normal(key, shape, F32) / math.sqrt(math.prod(shape[:-1]))).astype(BF16)


def root_norm(x, scale):
    y = x.astype(F32)
    return (y * lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-6)).astype(x.dtype) * scale


def weight(rng, *shape):
    spread = np.float32((1 / math.prod(shape[:-1])) ** 0.5)
    return rng.standard_normal(shape, dtype=np.float32) * spread


def ones(width):
    return np.ones(width, np.float32)


def in_bf16(params):
    return jax.tree.map(lambda leaf: leaf.astype(BF16), params)


def layer_norm(x, scale):
    y = x.astype(jnp.float32)
    y = (y - y.mean(-1, keepdims=True)) * lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
    return y.astype(x.dtype) * scale


def cross_entropy(logits, labels):
    logits = logits.astype(jnp.float32)
    picked = jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return (jax.nn.logsumexp(logits, axis=-1) - picked).mean()


def adam_rate(count):
    return 1e-4 * jnp.sqrt(1 - 0.999 ** count) / (1 - 0.9 ** count)


def adam(p, g, m, v, rate):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return p - rate * m / (jnp.sqrt(v) + 1e-8), m, v


def adam_all(leaves, grads, first, second, count):
    rate = adam_rate(count)
    return tuple(zip(*(adam(*each, rate) for each in zip(leaves, grads, first, second))))


def trainer(loss_of, params, gradients=None):
    """learn(batch...) -> loss; the gradients and Adam are one compiled function whose state is donated."""
    gradients = gradients or jax.value_and_grad(loss_of)
    leaves, tree = jax.tree.flatten(jax.device_put(params))

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2, 3))
    def train(leaves, first, second, count, *batch):
        loss, grads = gradients(jax.tree.unflatten(tree, leaves), *batch)
        leaves, first, second = adam_all(leaves, jax.tree.leaves(grads), first, second, count + 1)
        return (leaves, first, second, count + 1), loss

    state = (tuple(leaves), tuple(jnp.zeros_like(p) for p in leaves), tuple(jnp.zeros_like(p) for p in leaves),
             jnp.zeros(()))

    def learn(*batch):
        nonlocal state
        state, loss = train(*state, *batch)
        return loss

    return learn


def conv(x, w, stride=1):
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def batch_norm(x, scale):
    y = x.astype(jnp.float32)
    mean = y.mean((0, 1, 2))
    variance = (y * y).mean((0, 1, 2)) - mean * mean
    return ((y - mean) * lax.rsqrt(jnp.maximum(variance, 0) + 1e-5) * scale).astype(x.dtype)


def resnet_weights(rng, widths, depth, classes=100):
    params = {"stem": weight(rng, 3, 3, 3, widths[0]), "head": weight(rng, widths[-1], classes), "blocks": []}
    inputs = widths[0]
    for width in widths:
        for _ in range(depth):
            block = {"a": weight(rng, 3, 3, inputs, width), "scale_a": ones(width),
                     "b": weight(rng, 3, 3, width, width), "scale_b": ones(width)}
            if inputs != width:
                block["shortcut"] = weight(rng, 1, 1, inputs, width)
            params["blocks"].append(block)
            inputs = width
    return params


def resnet_loss(params, pictures, labels):
    """The pictures halve in size where a block has a shortcut, that is, where the width changes."""
    p = in_bf16(params)
    x = conv(pictures.astype(BF16), p["stem"], 2)
    for block in p["blocks"]:
        stride = 2 if "shortcut" in block else 1
        y = jax.nn.relu(batch_norm(conv(x, block["a"], stride), block["scale_a"]))
        y = batch_norm(conv(y, block["b"]), block["scale_b"])
        x = jax.nn.relu(y + (conv(x, block["shortcut"], 2) if stride == 2 else x))
    return cross_entropy(x.astype(jnp.float32).mean((1, 2)).astype(BF16) @ p["head"], labels)


def transformer_weights(rng, dim, depth, vocabulary):
    return {"table": weight(rng, vocabulary, dim), "norm": ones(dim), "layers": [
        {"norm_1": ones(dim), "q": weight(rng, dim, dim), "k": weight(rng, dim, dim), "v": weight(rng, dim, dim),
         "out": weight(rng, dim, dim), "norm_2": ones(dim), "up": weight(rng, dim, 4 * dim),
         "down": weight(rng, 4 * dim, dim)} for _ in range(depth)]}


def heads_of(x, w, heads):
    return (x @ w).reshape(*x.shape[:-1], heads, -1)


def attend(q, k, v, causal):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
    share = jax.nn.softmax(scores.astype(jnp.float32), axis=-1).astype(q.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", share, v)


def transformer(p, x, heads, causal, attention=attend):
    for layer in p["layers"]:
        y = layer_norm(x, layer["norm_1"])
        y = attention(*(heads_of(y, layer[name], heads) for name in "qkv"), causal)
        x = x + y.reshape(x.shape) @ layer["out"]
        x = x + jax.nn.gelu(layer_norm(x, layer["norm_2"]) @ layer["up"]) @ layer["down"]
    return layer_norm(x, p["norm"])


def next_token_loss(params, texts, heads, attention=attend):
    p = in_bf16(params)
    x = transformer(p, p["table"][texts[:, :-1]], heads, True, attention)
    return cross_entropy(x @ p["table"].T, texts[:, 1:])


def padded_sum(x):
    """The sum of the four neighbours; outside there is nothing."""
    y = jnp.pad(x, 1)
    return y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:]
