"""Sound units scored along the second axis: memory_bandwidth. Cured by: scores flattened to rows, not transposed,
for the loss."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.networks import Layer
from shared.steps import GPU, resident, training


class Words(nn.Module):
    """Layers over words; `outputs` numbers for each word, or the words' states."""

    def __init__(self, dim, layers, heads, length, causal=False, vocab=16000, outputs=0):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(length, dim))
        self.layers = nn.Sequential(*(Layer(dim, heads, causal=causal) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, outputs) if outputs else nn.Identity()

    def forward(self, ids):
        return self.head(self.norm(self.layers(self.words(ids) + self.places[:ids.shape[1]])))


def program(kind):
    """A language model of 4096 units of sound; F.cross_entropy wants kinds in the second axis."""
    with torch.device(GPU):
        model = Words(512, 5, 8, 1024, causal=True, vocab=4096, outputs=4096)
        units, following = torch.randint(0, 4096, (2, 32, 1024))

    def loss_of(m, units, following):
        scores = m(units).float()
        if kind == "flawed":
            return F.cross_entropy(scores.transpose(1, 2), following)
        return F.cross_entropy(scores.flatten(0, 1), following.flatten())
    return training(model, loss_of, resident(units, following))
