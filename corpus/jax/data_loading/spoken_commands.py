"""Convolutional network that learns 35 spoken words, batch 64, bf16: data_loading. Flaw: the training loop
computes the log-mel spectrograms with numpy. Cured by: the clips go to the GPU as 16-bit samples, the compiled
train step computes the spectrograms."""
import math

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from shared.flax_training import cross_entropy, trainer
from shared.jax_layers import BF16, F32


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


def program(cured):
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
        if cured:
            features = spectrograms(features, jnp)
        return cross_entropy(network.apply(params, features), words)

    learn = trainer(loss_of, params)

    def step():
        chosen = rng.integers(0, len(clips), batch)
        features = clips[chosen] if cured else spectrograms(clips[chosen], np)
        return learn(features, words[chosen])

    return step
