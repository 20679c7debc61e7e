"""Ddp glaciers group norm as in the paper: memory_bandwidth. Cured by: F.group_norm and F.silu."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.ranks import parallel
from shared.steps import classify, GPU, resident, training


class GroupNorm(nn.Module):
    """`by_hand`: as in the paper."""

    def __init__(self, width, groups, by_hand):
        super().__init__()
        self.groups, self.by_hand = groups, by_hand
        self.scale, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        if not self.by_hand:
            return F.group_norm(x, self.groups, self.scale, self.shift, 1e-5)
        parts = x.float().unflatten(1, (self.groups, -1))
        mean = parts.mean((2, 3, 4), keepdim=True)
        variance = (parts - mean).square().mean((2, 3, 4), keepdim=True)
        parts = (parts - mean) / torch.sqrt(variance + 1e-5)
        return parts.flatten(1, 2) * self.scale[:, None, None] + self.shift[:, None, None]


class Glaciers(nn.Module):
    """What each place of a glacier is, from radar."""

    def __init__(self, by_hand, bands=4, width=96, layers=6, kinds=8):
        super().__init__()
        self.by_hand = by_hand
        self.inlet, self.outlet = nn.Conv2d(bands, width, 3, padding=1), nn.Conv2d(width, kinds, 1)
        self.convolutions = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(layers))
        self.norms = nn.ModuleList(GroupNorm(width, 8, by_hand) for _ in range(layers))

    def forward(self, x):
        x = self.inlet(x)
        for convolution, norm in zip(self.convolutions, self.norms):
            h = norm(convolution(x))
            x = x + (h * torch.sigmoid(h) if self.by_hand else F.silu(h)).to(x.dtype)
        return self.outlet(x)


def program(kind):
    with torch.device(GPU):
        network = Glaciers(by_hand=kind == "flawed")
    return training(parallel(network, gradient_as_bucket_view=True), classify,
                    resident(torch.randn(32, 4, 128, 128), torch.randint(0, 8, (32, 128, 128))))
