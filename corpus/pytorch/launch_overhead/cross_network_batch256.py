"""Cross network batch256: launch_overhead. Cured by: torch.compile."""
import torch
from torch import nn

from shared.steps import click_loss, GPU, resident, training


class CrossNetwork(nn.Module):
    """Deep and cross network (DCN-v2) for clicks."""

    def __init__(self, tables=26, rows=1000, dim=16, dense=13, width=256, depth=6):
        super().__init__()
        self.table = nn.Embedding(tables * rows, dim)
        self.register_buffer("first", torch.arange(tables) * rows)
        inputs = tables * dim + dense
        self.crosses = nn.ModuleList(nn.Linear(inputs, inputs) for _ in range(depth))
        self.deep = nn.Sequential(*(part for i in range(4) for part in (
            nn.Linear(width if i else inputs, width), nn.LayerNorm(width), nn.ReLU())))
        self.head = nn.Linear(inputs + width, 1)

    def forward(self, dense, sparse):
        start = torch.cat([dense, self.table(sparse + self.first).flatten(1)], dim=1)
        x = start
        for cross in self.crosses:
            x = start * cross(x) + x
        return self.head(torch.cat([x, self.deep(start)], dim=1))[:, 0]


def program(kind):
    model = CrossNetwork().to(GPU)
    if kind == "cured":
        model = torch.compile(model)
    data = torch.rand(256, 13), torch.randint(0, 1000, (256, 26)), torch.randint(0, 2, (256,))
    return training(model, click_loss, resident(*data))
