"""The programs of jax_cases.py that train or run networks: a function for each case makes its data and returns the
step, a loop body as its user would write it. What a step returns is ready when its work on the GPU is done.
jax_cases.py imports this file after it has set JAX's environment."""
import collections
import concurrent.futures
import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

BF16 = jnp.bfloat16


# --- parts of networks ------------------------------------------------------------------------------------------------

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


def attend_cudnn(q, k, v, causal):
    return jax.nn.dot_product_attention(q, k, v, is_causal=causal, implementation="cudnn")


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


# --- the programs -----------------------------------------------------------------------------------------------------

def aerial_pictures_resnet(fixed):
    rng = np.random.default_rng(1)
    batch, side, crop = 128, 160, 128
    pictures = rng.integers(0, 256, (1024, side, side, 3), dtype=np.uint8)
    kinds = rng.integers(0, 100, len(pictures), dtype=np.int32)
    mean = np.array([124, 116, 104], np.float32)
    spread = np.array([58, 57, 57], np.float32)
    seeds = itertools.count()

    def make(seed):
        mine = np.random.default_rng(seed)
        chosen = mine.integers(0, len(pictures), batch)
        made = np.empty((batch, crop, crop, 3), np.float32)
        for at, which in enumerate(chosen):
            top, left = mine.integers(0, side - crop, 2)
            view = pictures[which, top:top + crop, left:left + crop]
            made[at] = view[:, ::-1] if mine.random() < 0.5 else view
        made *= mine.uniform(0.8, 1.2, (batch, 1, 1, 1)).astype(np.float32)
        made -= mean
        made /= spread
        return made, kinds[chosen]

    learn = trainer(resnet_loss, resnet_weights(rng, (32, 64, 128, 256), 2))
    if not fixed:
        return lambda: learn(*make(next(seeds)))

    pool = concurrent.futures.ThreadPoolExecutor(12)
    ahead = collections.deque()

    def ordered():
        return pool.submit(lambda seed: jax.device_put(make(seed)), next(seeds))

    def step():
        while len(ahead) < 24:
            ahead.append(ordered())
        return learn(*ahead.popleft().result())

    return step


def reranker_loaded_weights(fixed):
    rng = np.random.default_rng(3)
    params = transformer_weights(rng, 512, 8, 16384)
    params["head"] = weight(rng, 512, 1)
    texts = jnp.asarray(rng.integers(0, 16384, (128, 128), dtype=np.int32))

    @jax.jit
    def score(p, texts):
        x = transformer(p, p["table"][texts], 8, False)
        return x.mean(1) @ p["head"]

    if fixed:
        params = jax.device_put(params)
    return lambda: score(params, texts)


def vit_single_picture(fixed):
    rng = np.random.default_rng(6)
    dim, heads, depth = 512, 8, 24
    params = transformer_weights(rng, dim, depth, 16)
    params["patch"], params["head"] = weight(rng, 768, dim), weight(rng, dim, 1000)
    params = in_bf16(jax.device_put(params))
    picture = jnp.asarray(rng.random((1, 224, 224, 3), dtype=np.float32))

    @jax.jit
    def patches(picture, w):
        x = picture.reshape(-1, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5)
        return x.reshape(-1, 196, 768).astype(BF16) @ w

    norm = jax.jit(layer_norm)
    project = jax.jit(heads_of, static_argnums=2)
    mix = jax.jit(attend, static_argnums=3)
    join = jax.jit(lambda x, y, w: x + y.reshape(x.shape) @ w)
    widen = jax.jit(lambda x, w: jax.nn.gelu(x @ w))
    narrow = jax.jit(lambda x, y, w: x + y @ w)
    classify = jax.jit(lambda x, w: jax.nn.softmax((x.mean(1) @ w).astype(jnp.float32)))

    def network(p, picture):
        x = patches(picture, p["patch"])
        for layer in p["layers"]:
            y = norm(x, layer["norm_1"])
            q, k, v = (project(y, layer[name], heads) for name in "qkv")
            x = join(x, mix(q, k, v, False), layer["out"])
            x = narrow(x, widen(norm(x, layer["norm_2"]), layer["up"]), layer["down"])
        return classify(norm(x, p["norm"]), p["head"])

    if fixed:
        network = jax.jit(network)
    return lambda: network(params, picture)


def tabular_autoencoder(fixed):
    jax.config.update("jax_default_matmul_precision", "tensorfloat32" if fixed else "highest")
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


def gpt_long_texts(fixed):
    rng = np.random.default_rng(9)
    texts = [jnp.asarray(rng.integers(0, 8192, (2, 4097), dtype=np.int32)) for _ in range(4)]
    loss_of = functools.partial(next_token_loss, heads=12, attention=attend_cudnn if fixed else attend)
    learn, order = trainer(loss_of, transformer_weights(rng, 768, 4, 8192)), itertools.cycle(texts)
    return lambda: learn(next(order))


def language_model_small(fixed):
    rng = np.random.default_rng(11)
    texts = [jnp.asarray(rng.integers(0, 8192, (16, 257), dtype=np.int32)) for _ in range(4)]
    order = itertools.cycle(texts)
    params = transformer_weights(rng, 512, 12, 8192)
    loss_of = functools.partial(next_token_loss, heads=8)
    if fixed:
        learn = trainer(loss_of, params)
        return lambda: learn(next(order))

    leaves, tree = jax.tree.flatten(jax.device_put(params))
    first, second = ([jnp.zeros_like(p) for p in leaves] for _ in range(2))
    gradients, rate_of = jax.jit(jax.value_and_grad(loss_of)), jax.jit(adam_rate)
    count = 0

    def step():
        nonlocal count
        count += 1
        loss, grads = gradients(jax.tree.unflatten(tree, leaves), next(order))
        rate = rate_of(float(count))
        for at, grad in enumerate(jax.tree.leaves(grads)):
            leaves[at], first[at], second[at] = adam(leaves[at], grad, first[at], second[at], rate)
        return loss, leaves[-1]

    return step


def small_pictures_resnet(fixed):
    rng = np.random.default_rng(14)
    parts = 1 if fixed else 8
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


def mixer_pictures(_):
    rng = np.random.default_rng(15)
    dim, tokens = 512, 196
    params = {"patch": weight(rng, 768, dim), "norm": ones(dim), "head": weight(rng, dim, 1000), "layers": [
        {"norm_1": ones(dim), "across": weight(rng, tokens, 256), "back": weight(rng, 256, tokens),
         "norm_2": ones(dim), "up": weight(rng, dim, 2048), "down": weight(rng, 2048, dim)} for _ in range(8)]}

    def loss_of(params, pictures, labels):
        p = in_bf16(params)
        x = pictures.reshape(-1, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(-1, tokens, 768) @ p["patch"]
        for layer in p["layers"]:
            y = layer_norm(x, layer["norm_1"]).swapaxes(1, 2)
            x = x + (jax.nn.gelu(y @ layer["across"]) @ layer["back"]).swapaxes(1, 2)
            x = x + jax.nn.gelu(layer_norm(x, layer["norm_2"]) @ layer["up"]) @ layer["down"]
        return cross_entropy(layer_norm(x, p["norm"]).mean(1) @ p["head"], labels)

    batches = [(jax.random.normal(jax.random.key(seed), (128, 224, 224, 3), BF16),
                jnp.asarray(rng.integers(0, 1000, 128, dtype=np.int32))) for seed in range(4)]
    learn, order = trainer(loss_of, params), itertools.cycle(batches)
    return lambda: learn(*next(order))
