"""The programs of jax_cases2.py that train networks: a function for each case makes its data and returns the step, a
loop body as its user would write it. What a step returns is ready when its work on the GPU is done. jax_cases2.py
imports this file after it has set JAX's environment."""
import itertools
import math
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

BF16 = jnp.bfloat16
F32 = jnp.float32


def learning(loss_of, optimizer):
    """update(state, batch...) -> state, loss: gradients and optimizer in one function, not compiled yet."""
    def update(state, *batch):
        params, memory = state
        loss, grads = jax.value_and_grad(loss_of)(params, *batch)
        changes, memory = optimizer.update(grads, memory, params)
        return (optax.apply_updates(params, changes), memory), loss
    return update


def trainer(loss_of, params, optimizer=None):
    """learn(batch...) -> loss, one compiled function whose state is donated."""
    optimizer = optimizer or optax.adamw(1e-4)
    update = jax.jit(learning(loss_of, optimizer), donate_argnums=0)
    state = params, optimizer.init(params)

    def learn(*batch):
        nonlocal state
        state, loss = update(state, *batch)
        return loss

    return learn


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits.astype(F32), labels).mean()


# --- spoken_commands --------------------------------------------------------------------------------------------------

def mel_filters(bands, frame, rate=16000):
    """Triangles evenly spaced on the mel scale: (frequencies of the transform, bands)."""
    edges = 700 * (10 ** (np.linspace(0, 2595 * math.log10(1 + rate / 2 / 700), bands + 2) / 2595) - 1)
    hertz = np.arange(frame // 2 + 1)[:, None] * rate / frame
    rise, fall = (hertz - edges[:-2]) / (edges[1:-1] - edges[:-2]), (edges[2:] - hertz) / (edges[2:] - edges[1:-1])
    return np.maximum(0, np.minimum(rise, fall)).astype(np.float32)


class CommandNetwork(nn.Module):
    width: int = 96

    @nn.compact
    def __call__(self, spectrograms):
        x = nn.Conv(self.width, (3, 3), dtype=BF16)(spectrograms[..., None])
        for _ in range(6):
            y = nn.relu(nn.LayerNorm(dtype=BF16)(nn.Conv(self.width, (3, 3), dtype=BF16)(x)))
            x = nn.relu(x + nn.LayerNorm(dtype=BF16)(nn.Conv(self.width, (3, 3), dtype=BF16)(y)))
        return nn.Dense(35)(x.astype(F32).mean((1, 2)))


def spoken_commands(fixed):
    rng = np.random.default_rng(21)
    batch, samples, frame, hop, bands = 64, 16000, 512, 160, 64
    clips = rng.integers(-8000, 8000, (2048, samples), dtype=np.int16)
    words = rng.integers(0, 35, len(clips), dtype=np.int32)
    places = np.arange(0, samples - frame + 1, hop)[:, None] + np.arange(frame)
    window, filters = np.hanning(frame).astype(np.float32) / 32768, mel_filters(bands, frame)

    def spectrograms(clips, xp):
        waves = xp.fft.rfft(clips[:, places].astype(np.float32) * window)
        power = (waves.real ** 2 + waves.imag ** 2).astype(np.float32)
        return xp.log(power @ filters + 1e-5)

    network = CommandNetwork()
    params = jax.jit(network.init)(jax.random.key(22), jnp.zeros((1, len(places), bands)))

    def loss_of(params, features, words):
        if fixed:
            features = spectrograms(features, jnp)
        return cross_entropy(network.apply(params, features), words)

    learn = trainer(loss_of, params)

    def step():
        chosen = rng.integers(0, len(clips), batch)
        features = clips[chosen] if fixed else spectrograms(clips[chosen], np)
        return learn(features, words[chosen])

    return step


# --- cell_profiles ----------------------------------------------------------------------------------------------------

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


def cell_profiles(fixed):
    network, batch = CellAutoencoder(), 8192
    counts = 8 * np.random.default_rng(23).random((8 * batch, network.genes), dtype=np.float32)
    params = jax.jit(network.init)(jax.random.key(24), jnp.zeros((1, network.genes)), jax.random.key(0))

    def loss_of(params, counts, seed):
        rate, divergence = network.apply(params, counts, jax.random.key(seed))
        return ((rate - counts * jnp.log(rate)).sum(-1) + divergence).mean() / network.genes

    learn, seeds = trainer(loss_of, params), itertools.count()
    batches = np.split(counts, 8)
    if fixed:
        batches = jax.device_put(batches)
    order = itertools.cycle(batches)
    return lambda: learn(next(order), next(seeds))


# --- trajectory_denoiser ----------------------------------------------------------------------------------------------

class Denoiser(nn.Module):
    width: int = 512
    depth: int = 6

    @nn.compact
    def __call__(self, noisy, time):
        waves = time[:, None] * jnp.exp(jnp.linspace(0, 6, 32))
        x = jnp.concatenate([noisy, jnp.sin(waves), jnp.cos(waves)], axis=-1)
        x = nn.Dense(self.width, dtype=BF16)(x.astype(BF16))
        for _ in range(self.depth):
            y = nn.silu(nn.Dense(4 * self.width, dtype=BF16)(nn.LayerNorm(dtype=BF16)(x)))
            x = x + nn.Dense(self.width, dtype=BF16)(y)
        return nn.Dense(noisy.shape[-1], dtype=BF16)(x).astype(F32)


def trajectory_denoiser(fixed):
    network, batch, numbers = Denoiser(), 65536, 64
    clean = [jax.random.normal(jax.random.key(25 + at), (batch, numbers)) for at in range(4)]
    params = jax.jit(network.init)(jax.random.key(29), jnp.zeros((1, numbers)), jnp.zeros(1))

    def loss_of(params, clean, seed):
        keys = jax.random.split(jax.random.key(seed))
        time, noise = jax.random.uniform(keys[0], (batch,)), jax.random.normal(keys[1], clean.shape)
        angle = 0.5 * math.pi * time[:, None]
        return ((network.apply(params, jnp.cos(angle) * clean + jnp.sin(angle) * noise, time) - noise) ** 2).mean()

    optimizer = optax.adamw(1e-4)
    # The state is not donated: after a step that ends in NaN the loop goes back to the one before.
    update = jax.jit(learning(loss_of, optimizer))
    state, order, seeds = (params, optimizer.init(params)), itertools.cycle(clean), itertools.count()
    last_good = None

    def step():
        nonlocal state, last_good
        last_good = state if fixed else jax.device_get(state)
        state, loss = update(state, next(order), next(seeds))
        return loss

    return step


# --- peptide_language_model -------------------------------------------------------------------------------------------

class PeptideModel(nn.Module):
    dtype: Any
    dim: int = 768
    heads: int = 12
    depth: int = 8

    @nn.compact
    def __call__(self, residues):
        x = nn.Dense(self.dim, use_bias=False, dtype=self.dtype)(jax.nn.one_hot(residues, 32, dtype=self.dtype))
        place = self.param("place", nn.initializers.normal(0.02), (residues.shape[-1], self.dim))
        x = x + place.astype(self.dtype)
        for _ in range(self.depth):
            y = nn.LayerNorm(dtype=self.dtype)(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=self.heads, dtype=self.dtype, deterministic=True)(y, y)
            y = nn.gelu(nn.Dense(4 * self.dim, dtype=self.dtype)(nn.LayerNorm(dtype=self.dtype)(x)))
            x = x + nn.Dense(self.dim, dtype=self.dtype)(y)
        return nn.Dense(32, dtype=self.dtype)(nn.LayerNorm(dtype=self.dtype)(x))


def peptide_language_model(fixed):
    network = PeptideModel(BF16 if fixed else F32)
    rng = np.random.default_rng(32)
    whole = rng.integers(0, 25, (4, 128, 128), dtype=np.int32)
    masked = np.where(rng.random(whole.shape) < 0.15, 31, whole).astype(np.int32)
    params = jax.jit(network.init)(jax.random.key(33), masked[0, :1])

    def loss_of(params, masked, whole):
        return cross_entropy(network.apply(params, masked), whole)

    learn, order = trainer(loss_of, params), itertools.cycle(list(zip(jnp.asarray(masked), jnp.asarray(whole))))
    return lambda: learn(*next(order))


# --- jet_densities ----------------------------------------------------------------------------------------------------

class RealNvp(nn.Module):
    """The logarithm of the density; each coupling moves one half of the numbers by what the other half says."""
    numbers: int = 32
    couplings: int = 16
    width: int = 1024

    @nn.compact
    def __call__(self, x):
        total = jnp.zeros(x.shape[0])
        for _ in range(self.couplings):
            kept, moved = jnp.split(x, 2, axis=-1)
            y = kept.astype(BF16)
            for _ in range(2):
                y = nn.relu(nn.Dense(self.width, dtype=BF16)(y))
            scale, shift = jnp.split(nn.Dense(self.numbers, dtype=BF16)(y).astype(F32), 2, axis=-1)
            scale = jnp.tanh(scale)
            total = total + scale.sum(-1)
            x = jnp.concatenate([moved * jnp.exp(scale) + shift, kept], axis=-1)
        return total - 0.5 * (x * x).sum(-1)


def jet_densities(fixed):
    network, batch = RealNvp(), 32768
    jets = [jax.random.normal(jax.random.key(34 + at), (batch, network.numbers)) for at in range(4)]
    params, order = jax.jit(network.init)(jax.random.key(38), jets[0][:1]), itertools.cycle(jets)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-4))

    def loss_of(params, jets):
        return -network.apply(params, jets).mean()

    if fixed:
        learn = trainer(loss_of, params, optimizer)
        return lambda: learn(next(order))

    gradients, memory = jax.jit(jax.value_and_grad(loss_of)), optimizer.init(params)

    def step():
        nonlocal params, memory
        loss, grads = gradients(params, next(order))
        changes, memory = optimizer.update(grads, memory, params)
        params = optax.apply_updates(params, changes)
        return loss, params

    return step


# --- retrieval_towers -------------------------------------------------------------------------------------------------

class Tower(nn.Module):
    width: int = 1024
    depth: int = 6

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.width, dtype=BF16)(x.astype(BF16))
        for _ in range(self.depth):
            x = x + nn.gelu(nn.Dense(self.width, dtype=BF16)(nn.LayerNorm(dtype=BF16)(x)))
        x = nn.Dense(256, dtype=BF16)(x).astype(F32)
        return (x * lax.rsqrt((x * x).sum(-1, keepdims=True) + 1e-6)).astype(BF16)


def retrieval_towers(fixed):
    """Both variants are the same here: they differ in the environment that jax_cases2.py sets."""
    del fixed
    tower, batch = Tower(), 8192
    keys = jax.random.split(jax.random.key(39), 6)
    pairs = [(jax.random.normal(keys[at], (batch, 768), BF16), jax.random.normal(keys[at + 2], (batch, 512), BF16))
             for at in range(2)]
    start = jax.jit(tower.init)
    params = {"query": start(keys[4], pairs[0][0][:1]), "item": start(keys[5], pairs[0][1][:1])}

    def loss_of(params, queries, items):
        likeness = tower.apply(params["query"], queries) @ tower.apply(params["item"], items).T
        likeness, own = 20 * likeness.astype(F32), jnp.arange(batch)
        return 0.5 * (cross_entropy(likeness, own) + cross_entropy(likeness.T, own))

    optimizer = optax.adamw(1e-4)
    update = jax.jit(learning(loss_of, optimizer))
    state, order = (params, optimizer.init(params)), itertools.cycle(pairs)

    def step():
        nonlocal state
        state, loss = update(state, *next(order))
        return loss

    return step


# --- llama_pretraining ------------------------------------------------------------------------------------------------

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


def llama_pretraining(_):
    network = Llama()
    rng = np.random.default_rng(40)
    texts = itertools.cycle([jnp.asarray(rng.integers(0, network.vocabulary, (8, 2049), dtype=np.int32))
                             for _ in range(4)])
    params = jax.jit(network.init)(jax.random.key(40), jnp.zeros((1, 128), jnp.int32))

    def loss_of(params, texts):
        return cross_entropy(network.apply(params, texts[:, :-1]), texts[:, 1:])

    learn = trainer(loss_of, params)
    return lambda: learn(next(texts))
