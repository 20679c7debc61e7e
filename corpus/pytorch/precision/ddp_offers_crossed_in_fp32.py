"""Ddp offers crossed in fp32: precision. Cured by: bf16 autocast."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.ranks import parallel
from shared.steps import GPU, resident, training


class Crossed(nn.Module):
    """Deep and cross network over what is known about an offer and about who sees it."""

    def __init__(self, fields=40, rows=20000, dim=64, crosses=4, width=4096):
        super().__init__()
        inside = fields * dim
        self.table = nn.Embedding(fields * rows, dim)
        self.crosses = nn.ModuleList(nn.Linear(inside, inside) for _ in range(crosses))
        self.deep = nn.Sequential(nn.Linear(inside, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                  nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(inside + width, 1)

    def forward(self, known):
        first = self.table(known).flatten(1)
        x = first
        for cross in self.crosses:
            x = torch.addcmul(x, first.to(x.dtype), cross(x).to(x.dtype))
        return self.head(torch.cat([x, self.deep(first).to(x.dtype)], dim=1)).squeeze(1)


def program(kind):
    with torch.device(GPU):
        network = Crossed()
    return training(parallel(network, gradient_as_bucket_view=True),
                    lambda m, known, taken: F.binary_cross_entropy_with_logits(m(known).float(), taken),
                    resident(torch.randint(0, 800_000, (4096, 40)), torch.randint(0, 2, (4096,)).float()),
                    mixed=kind == "cured")
