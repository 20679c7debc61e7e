"""Deepfm dense table updates: optimizer. Cured by: nn.Embedding(sparse=True) and SparseAdam."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.steps import amp, GPU


class DeepFm(nn.Module):
    """A click model with one large hashed table."""

    def __init__(self, rows, dim, sparse):
        super().__init__()
        self.table = nn.Embedding(rows, dim, sparse=sparse, device=GPU)
        self.deep = nn.Sequential(nn.Linear(26 * dim, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(),
                                  nn.Linear(512, 1)).to(GPU)

    def forward(self, ids):
        e = self.table(ids)
        pairs = 0.5 * (e.sum(1).square() - e.square().sum(1)).sum(-1)
        return self.deep(e.flatten(1)).squeeze(-1).float() + pairs


def program(kind):
    rows = 20_000_000
    model = DeepFm(rows, 32, sparse=kind == "cured")
    ids = torch.randint(0, rows, (4096, 26), device=GPU)
    clicks = torch.rand(4096, device=GPU).round()
    table, rest = list(model.table.parameters()), list(model.deep.parameters())
    optimizers = [torch.optim.Adam(table + rest, 1e-3, fused=True)]
    if kind == "cured":
        optimizers = [torch.optim.SparseAdam(table, 1e-3), torch.optim.Adam(rest, 1e-3, fused=True)]

    def step():
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        with amp():
            logits = model(ids)
        F.binary_cross_entropy_with_logits(logits, clicks).backward()
        for optimizer in optimizers:
            optimizer.step()
    return step
