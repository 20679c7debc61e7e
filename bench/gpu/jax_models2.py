"""The programs of jax_cases2.py that run networks, learn to act or compute something of science: a function for each
case makes its data and returns the step, a loop body as its user would write it. What a step returns is ready when its
work on the GPU is done. jax_cases2.py imports this file after it has set JAX's environment."""
import functools
import itertools
import math
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax_training2 import learning

BF16 = jnp.bfloat16
F32 = jnp.float32


def in_bf16(params):
    return jax.tree.map(lambda leaf: leaf.astype(BF16), params)


def drawn(key, *shape):
    """Weights in bf16 whose outputs have the spread of their inputs."""
    return (jax.random.normal(key, shape, F32) / math.sqrt(shape[-2])).astype(BF16)


# --- melody_tokens ----------------------------------------------------------------------------------------------------

def root_norm(x, scale):
    y = x.astype(F32)
    return (y * lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-6)).astype(x.dtype) * scale


def next_note_logits(params, cache, token, at, heads):
    """One token for each melody; cache has the keys and values of all earlier ones, layer by layer."""
    x, kept = params["table"][token], []
    for layer, (keys, values) in zip(params["layers"], cache):
        y = root_norm(x, layer["scale_1"])
        q, k, v = ((y @ layer[name]).reshape(y.shape[0], heads, -1) for name in "qkv")
        keys = lax.dynamic_update_slice_in_dim(keys, k[:, :, None], at, axis=2)
        values = lax.dynamic_update_slice_in_dim(values, v[:, :, None], at, axis=2)
        kept.append((keys, values))
        scores = jnp.einsum("bhd,bhld->bhl", q, keys).astype(F32) / math.sqrt(q.shape[-1])
        scores = jnp.where(jnp.arange(keys.shape[2]) <= at, scores, -1e9)
        y = jnp.einsum("bhl,bhld->bhd", jax.nn.softmax(scores).astype(BF16), values)
        x = x + y.reshape(x.shape) @ layer["out"]
        x = x + jax.nn.gelu(root_norm(x, layer["scale_2"]) @ layer["up"]) @ layer["down"]
    return (root_norm(x, params["scale"]) @ params["table"].T).astype(F32), kept


def sample(key, logits, temperature=0.9, top_k=64, top_p=0.95):
    key, mine = jax.random.split(key)
    logits = logits / temperature
    least = lax.top_k(logits, top_k)[0][:, -1:]
    logits = jnp.where(logits < least, -1e9, logits)
    order = jnp.sort(logits, axis=-1)[:, ::-1]
    mass = jnp.cumsum(jax.nn.softmax(order, axis=-1), axis=-1)
    last = jnp.sum(mass < top_p, axis=-1, keepdims=True)
    logits = jnp.where(logits < jnp.take_along_axis(order, last, axis=-1), -1e9, logits)
    return key, jax.random.categorical(key=mine, logits=logits)


def melody_tokens(fixed):
    melodies, dim, heads, depth, length, vocabulary = 16, 512, 8, 8, 512, 1024
    keys = iter(jax.random.split(jax.random.key(41), 1 + 6 * depth))
    params = {"table": drawn(next(keys), vocabulary, dim), "scale": jnp.ones(dim, BF16), "layers": []}
    for _ in range(depth):
        layer = {name: drawn(next(keys), dim, dim) for name in ("q", "k", "v", "out")}
        layer["up"], layer["down"] = drawn(next(keys), dim, 4 * dim), drawn(next(keys), 4 * dim, dim)
        params["layers"].append({**layer, "scale_1": jnp.ones(dim, BF16), "scale_2": jnp.ones(dim, BF16)})

    def extend(params, cache, token, at):
        return next_note_logits(params, cache, token, at, heads)

    def extend_and_sample(params, cache, token, at, key):
        logits, cache = extend(params, cache, token, at)
        key, token = sample(key, logits)
        return token, key, cache

    network = jax.jit(extend, donate_argnums=1)
    composer = jax.jit(extend_and_sample, donate_argnums=1)
    cache = [tuple(jnp.zeros((melodies, heads, length, dim // heads), BF16) for _ in range(2)) for _ in range(depth)]
    token, key, place = jnp.zeros(melodies, jnp.int32), jax.random.key(42), itertools.cycle(range(length))

    def step():
        nonlocal cache, token, key
        for at in itertools.islice(place, 32):
            if fixed:
                token, key, cache = composer(params, cache, token, at, key)
            else:
                logits, cache = network(params, cache, token, at)
                key, token = sample(key, logits)
        return token

    return step


# --- genome_encoder ---------------------------------------------------------------------------------------------------

def cudnn_attention(query, key, value, **_):
    return jax.nn.dot_product_attention(query, key, value, implementation="cudnn")


class GenomeEncoder(nn.Module):
    attention_fn: Any
    dim: int = 512
    heads: int = 8
    depth: int = 6

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(4096, self.dim, dtype=BF16)(tokens)
        for _ in range(self.depth):
            y = nn.LayerNorm(dtype=BF16)(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=self.heads, dtype=BF16, deterministic=True,
                                                    attention_fn=self.attention_fn)(y, y)
            y = nn.gelu(nn.Dense(4 * self.dim, dtype=BF16)(nn.LayerNorm(dtype=BF16)(x)))
            x = x + nn.Dense(self.dim, dtype=BF16)(y)
        return nn.Dense(128, dtype=BF16)(nn.LayerNorm(dtype=BF16)(x))


def genome_encoder(fixed):
    network = GenomeEncoder(cudnn_attention if fixed else nn.dot_product_attention)
    rng = np.random.default_rng(43)
    sequences = itertools.cycle([jnp.asarray(rng.integers(0, 4096, (2, 8192), dtype=np.int32)) for _ in range(4)])
    # Nothing in the network depends on the length, so its weights can be made with a short sequence.
    weights = jax.jit(GenomeEncoder(nn.dot_product_attention).init)(jax.random.key(44), jnp.zeros((1, 64), jnp.int32))
    weights, tracks = in_bf16(weights), jax.jit(network.apply)
    return lambda: tracks(weights, next(sequences))


# --- face_embeddings --------------------------------------------------------------------------------------------------

class FaceNetwork(nn.Module):
    """Its batch norms are folded into the convolutions, as one does before inference."""
    widths: tuple = (64, 128, 256, 512)

    @nn.compact
    def __call__(self, faces):
        x = faces.astype(BF16) / 127.5 - 1
        x = nn.relu(nn.Conv(self.widths[0], (7, 7), strides=(2, 2), dtype=BF16)(x))
        for stage, width in enumerate(self.widths):
            for block in range(2):
                stride = 2 if stage and not block else 1
                y = nn.relu(nn.Conv(width, (3, 3), strides=(stride, stride), dtype=BF16)(x))
                y = nn.Conv(width, (3, 3), dtype=BF16)(y)
                if stride == 2:
                    x = nn.Conv(width, (1, 1), strides=(2, 2), dtype=BF16)(x)
                x = nn.relu(x + y)
        x = nn.Dense(256, dtype=BF16)(x.mean((1, 2))).astype(F32)
        return x * lax.rsqrt((x * x).sum(-1, keepdims=True) + 1e-6)


def face_embeddings(fixed):
    network = FaceNetwork()
    faces = np.random.default_rng(45).integers(0, 256, (256, 160, 160, 3), dtype=np.uint8)
    weights = in_bf16(jax.jit(network.init)(jax.random.key(46), jnp.zeros((1, 160, 160, 3), jnp.uint8)))
    groups = [jax.device_put(part) for part in np.split(faces, 1 if fixed else 32)]
    embed = jax.jit(network.apply)
    return lambda: [embed(weights, group) for group in groups]


# --- ad_candidates ----------------------------------------------------------------------------------------------------

def ad_candidates(fixed):
    features, dim, width, candidates = 1 << 21, 64, 1024, 1 << 17
    keys = jax.random.split(jax.random.key(47), 4)
    table = jax.random.normal(keys[0], (features, dim) if fixed else (dim, features), F32)
    layers = [drawn(keys[1], dim, width), drawn(keys[2], width, width), drawn(keys[3], width, 1)]
    rng = np.random.default_rng(48)
    requests = itertools.cycle([jnp.asarray(rng.integers(0, features, (candidates, 26), dtype=np.int32))
                                for _ in range(4)])

    @jax.jit
    def score(table, layers, ids):
        if fixed:
            x = jnp.take(table, ids, axis=0).sum(1)
        else:
            x = jnp.take(table, ids, axis=1).sum(2).T
        x = (x / 5).astype(BF16)
        for w in layers[:-1]:
            x = jax.nn.relu(x @ w)
        return jax.nn.sigmoid((x @ layers[-1]).astype(F32))

    return lambda: score(table, layers, next(requests))


# --- policy_updates ---------------------------------------------------------------------------------------------------

class ActorCritic(nn.Module):
    actions: int = 8
    width: int = 512

    @nn.compact
    def __call__(self, seen):
        heads = []
        for outputs in (self.actions, 1):
            x = seen
            for _ in range(2):
                x = nn.tanh(nn.Dense(self.width, dtype=BF16)(x))
            heads.append(nn.Dense(outputs, dtype=BF16)(x).astype(F32))
        return heads[0], self.param("log_std", nn.initializers.zeros_init(), (self.actions,)), heads[1][:, 0]


def policy_updates(fixed):
    network, minibatch, parts, epochs, observed = ActorCritic(), 16384, 16, 2, 64
    keys = jax.random.split(jax.random.key(30), 5)
    seen = jax.random.normal(keys[0], (parts, minibatch, observed))
    acted = jax.random.normal(keys[1], (parts, minibatch, network.actions))
    gains, returns = (jax.random.normal(key, (parts, minibatch)) for key in keys[2:4])
    params = jax.jit(network.init)(keys[4], seen[0])
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(1e-5))

    def chance(mean, log_std, acted):
        return (-0.5 * ((acted - mean) * jnp.exp(-log_std)) ** 2 - log_std - 0.919).sum(-1)

    @jax.jit
    def chance_of(params, seen, acted):
        mean, log_std, _ = network.apply(params, seen)
        return chance(mean, log_std, acted)

    def loss_of(params, seen, acted, before, gains, returns):
        mean, log_std, value = network.apply(params, seen)
        ratio = jnp.exp(chance(mean, log_std, acted) - before)
        policy = -jnp.minimum(ratio * gains, jnp.clip(ratio, 0.8, 1.2) * gains).mean()
        critic, entropy = ((value - returns) ** 2).mean(), (log_std + 1.419).sum()
        seen_as = {"policy": policy, "critic": critic, "entropy": entropy, "kl": (ratio - 1 - jnp.log(ratio)).mean(),
                   "clipped": (jnp.abs(ratio - 1) > 0.2).mean()}
        return policy + 0.5 * critic - 0.001 * entropy, seen_as

    @functools.partial(jax.jit, donate_argnums=0)
    def update(state, *batch):
        params, memory = state
        (_, statistics), grads = jax.value_and_grad(loss_of, has_aux=True)(params, *batch)
        changes, memory = optimizer.update(grads, memory, params)
        return (optax.apply_updates(params, changes), memory), statistics

    state = params, optimizer.init(params)
    batches = list(zip(seen, acted, gains, returns))

    def step():
        nonlocal state
        before = [chance_of(state[0], seen, acted) for seen, acted, _, _ in batches]
        history = []
        for _ in range(epochs):
            for at, (seen, acted, gains, returns) in enumerate(batches):
                state, statistics = update(state, seen, acted, before[at], gains, returns)
                history.append(statistics if fixed else {name: float(x) for name, x in statistics.items()})
        if fixed:
            history = jax.device_get(history)
        return np.mean([each["kl"] for each in history])

    return step


# --- dynamics_ensemble ------------------------------------------------------------------------------------------------

class Dynamics(nn.Module):
    """The change of the state and its spread, from a state and an action."""
    states: int = 24

    @nn.compact
    def __call__(self, x):
        for _ in range(3):
            x = nn.silu(nn.Dense(256)(x))
        mean, spread = jnp.split(nn.Dense(2 * self.states)(x), 2, axis=-1)
        return mean, jnp.clip(spread, -5, 2)


def dynamics_ensemble(fixed):
    network, members, parts, batch, inputs = Dynamics(), 7, 16, 512, 32
    optimizer = optax.adam(1e-4)
    keys = jax.random.split(jax.random.key(31), members + 2)
    seen = jax.random.normal(keys[-1], (parts, members, batch, inputs))
    change = jax.random.normal(keys[-2], (parts, members, batch, network.states))

    def loss_of(params, seen, change):
        mean, spread = network.apply(params, seen)
        return (((change - mean) * jnp.exp(-spread)) ** 2 + 2 * spread).mean()

    def start(key):
        params = network.init(key, jnp.zeros((1, inputs)))
        return params, optimizer.init(params)

    update, begin = learning(loss_of, optimizer), jax.jit(start)
    if fixed:
        train = jax.jit(jax.vmap(update), donate_argnums=0)
        state, batches = jax.jit(jax.vmap(start))(keys[:members]), list(zip(seen, change))

        def step():
            nonlocal state
            for batch in batches:
                state, loss = train(state, *batch)
            return loss

        return step

    train_one = jax.jit(update, donate_argnums=0)
    states = [begin(key) for key in keys[:members]]
    batches = [list(zip(a, b)) for a, b in zip(seen, change)]

    def step_each():
        for batch in batches:
            losses = []
            for member in range(members):
                states[member], loss = train_one(states[member], *batch[member])
                losses.append(loss)
        return losses

    return step_each


# --- interferometer_visibilities --------------------------------------------------------------------------------------

def interferometer_visibilities(fixed):
    # In both variants: microseconds since 1970 do not fit in 32 bits.
    jax.config.update("jax_enable_x64", True)
    baselines, sources, channels = 32768, 2048, 16
    rng = np.random.default_rng(49)
    metres = jnp.asarray(200 * rng.standard_normal((baselines, 2), dtype=np.float32))
    places = jnp.asarray(0.02 * (rng.random((sources, 2), dtype=np.float32) - 0.5))
    fluxes = jnp.asarray(rng.random(sources, dtype=np.float32))
    stamps = jnp.asarray(1_790_000_000_000_000 + np.sort(rng.integers(0, 600_000_000, baselines)))
    frequencies = np.linspace(1.0e9, 1.4e9, channels)
    if fixed:
        frequencies = frequencies.astype(np.float32)
    frequencies = jnp.asarray(frequencies)

    @jax.jit
    def predict(stamps, metres, places, fluxes, frequencies):
        turned = (stamps - stamps[0]).astype(F32) * 7.292e-11
        u = metres[:, 0] * jnp.cos(turned) - metres[:, 1] * jnp.sin(turned)
        v = metres[:, 0] * jnp.sin(turned) + metres[:, 1] * jnp.cos(turned)
        path = u[:, None] * places[:, 0] + v[:, None] * places[:, 1]
        waves = frequencies * (2 * math.pi / 299792458.0)
        phase = path[:, None, :] * waves[:, None]
        return (fluxes * jnp.cos(phase)).sum(-1), (fluxes * jnp.sin(phase)).sum(-1)

    return lambda: predict(stamps, metres, places, fluxes, frequencies)


# --- star_cluster -----------------------------------------------------------------------------------------------------

def star_cluster(_):
    stars, ticks, tick, softening = 32768, 4, 1e-3, 1e-2
    keys = jax.random.split(jax.random.key(50), 3)
    places, speeds = jax.random.normal(keys[0], (3, stars)), 0.1 * jax.random.normal(keys[1], (3, stars))
    masses = jax.random.uniform(keys[2], (stars,)) / stars

    def pull(places, masses):
        x, y, z = (place[None, :] - place[:, None] for place in places)
        near = lax.rsqrt(x * x + y * y + z * z + softening)
        share = masses * near * near * near
        # One reduction with three results, so that no matrix of all pairs is ever written.
        pulls = lax.reduce((share * x, share * y, share * z), (np.float32(0),) * 3,
                           lambda sums, more: tuple(a + b for a, b in zip(sums, more)), (1,))
        return jnp.stack(pulls)

    @jax.jit
    def advance(places, speeds, masses):
        def move(_, state):
            places, speeds = state
            places = places + 0.5 * tick * speeds
            speeds = speeds + tick * pull(places, masses)
            return places + 0.5 * tick * speeds, speeds
        return lax.fori_loop(0, ticks, move, (places, speeds))

    state = places, speeds

    def step():
        nonlocal state
        state = advance(*state, masses)
        return state

    return step
