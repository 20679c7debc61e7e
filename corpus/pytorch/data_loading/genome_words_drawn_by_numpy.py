"""Genome words drawn by numpy: data_loading. Cured by: words drawn on the GPU."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from shared.networks import on_gpu
from shared.steps import GPU, tf32, training


class Sentences:
    """Which sequence of eight letters of a genome stands near which other; the more frequent, the likelier drawn."""

    def __init__(self, words=65536, negatives=8):
        frequency = np.random.default_rng(181).zipf(1.5, words).clip(max=10000).astype(np.float64) ** 0.75
        self.chances, self.words, self.negatives = frequency / frequency.sum(), words, negatives

    def near(self, count):
        return torch.randint(0, self.words, (2, count), device=GPU).unbind()

    def in_numpy(self, count):
        def batches():
            far = np.random.choice(self.words, size=(count, self.negatives), p=self.chances)
            return *self.near(count), torch.from_numpy(far).to(GPU)
        return batches

    def on_gpu(self, count):
        edges = torch.from_numpy(self.chances.cumsum()).float().to(GPU)

        def batches():
            far = torch.searchsorted(edges, torch.rand(count, self.negatives, device=GPU))
            return *self.near(count), far.clamp(max=self.words - 1)
        return batches


class WordVectors(nn.Module):
    """Mikolov et al.: what stands near is told from what was drawn at random."""

    def __init__(self, words, dim=256):
        super().__init__()
        self.inner, self.outer = nn.Embedding(words, dim), nn.Embedding(words, dim)

    def forward(self, here, near, far):
        x = self.inner(here)
        apart = (self.outer(far) @ x[..., None])[..., 0]
        return -F.logsigmoid((x * self.outer(near)).sum(-1)).mean() - F.logsigmoid(-apart).sum(-1).mean()


def program(kind):
    """np.random.choice(p=...) looks each number up in the sums of all chances."""
    sentences = Sentences()
    batches = sentences.in_numpy(12288) if kind == "flawed" else sentences.on_gpu(12288)
    model = on_gpu(WordVectors, sentences.words)
    return training(model, lambda m, here, near, far: m(here, near, far), batches, mixed=False, before=tf32(True))
