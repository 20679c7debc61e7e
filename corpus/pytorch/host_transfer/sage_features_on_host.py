"""Sage features on host: host_transfer. Cured by: the feature table on the GPU."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.steps import GPU, training


class Sage(nn.Module):
    """GraphSAGE: the mean over sampled neighbours beside the node itself."""

    def __init__(self, inputs=128, dim=256, classes=64):
        super().__init__()
        self.first, self.second = nn.Linear(2 * inputs, dim), nn.Linear(2 * dim, dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x, neighbours):
        for layer in (self.first, self.second):
            nodes = neighbours.shape[0]
            x = F.relu(layer(torch.cat([x[:nodes], x[neighbours % x.shape[0]].mean(1)], -1)))
        return self.head(x)


def program(kind):
    nodes, seeds, reach = 400000, 16384, 8
    features = torch.rand(nodes, 128)
    table = features.to(GPU) if kind == "cured" else None
    needed = [torch.randint(0, nodes, (seeds * reach,)) for _ in range(4)]
    neighbours, y = torch.randint(0, 1 << 30, (seeds, 10), device=GPU), torch.randint(0, 64, (seeds,), device=GPU)
    model, turn = Sage().to(GPU), [0]

    def batches():
        turn[0] += 1
        index = needed[turn[0] % 4]
        x = table[index.to(GPU)] if kind == "cured" else features[index].to(GPU)
        return x, neighbours, y
    return training(model, lambda m, x, near, y: F.cross_entropy(m(x, near).float(), y), batches)
