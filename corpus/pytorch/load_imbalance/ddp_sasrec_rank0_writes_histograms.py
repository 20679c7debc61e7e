"""Ddp sasrec rank0 writes histograms: load_imbalance. Cured by: histograms every 500 steps, not every step."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from shared.networks import Layer
from shared.steps import GPU, training


class Sasrec(nn.Module):
    """Next item of a session."""

    def __init__(self, items, dim, layers, heads, length):
        super().__init__()
        self.items, self.positions = nn.Embedding(items, dim), nn.Parameter(torch.zeros(length, dim))
        self.layers = nn.ModuleList(Layer(dim, heads, causal=True) for _ in range(layers))
        self.final = nn.LayerNorm(dim)
        self.score = nn.Linear(dim, items, bias=False)

    def hidden(self, ids):
        x = self.items(ids) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.final(x)

    def forward(self, ids):
        return self.score(self.hidden(ids))


def wrapped(model, **more):
    return DistributedDataParallel(model, device_ids=[dist.get_rank()], **more)


def program(kind):
    items, length = 8000, 200
    model = wrapped(Sasrec(items, 384, 4, 6, length).to(GPU))
    ids = torch.randint(0, items, (64, length), device=GPU)
    kept = []

    def tail(m, _):
        if kind == "flawed" and dist.get_rank() == 0:
            kept[:] = [torch.histc(p.detach().float().cpu(), bins=64).numpy() for p in m.parameters()]

    def loss_of(m, ids):
        return F.cross_entropy(m(ids).flatten(0, 1).float(), ids.flatten())
    return training(model, loss_of, lambda: (ids,), torch.optim.AdamW(model.parameters(), 1e-4, fused=True), tail=tail)
