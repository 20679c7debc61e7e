"""Latents 2816 wide learnt healthy: healthy."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.networks import Layer, on_gpu
from shared.steps import Prefetched, training


class LatentLayers(nn.Module):
    """Layers that are told how much noise there is by one more token."""

    def __init__(self, channels, dim, heads, layers):
        super().__init__()
        self.inlet, self.time = nn.Linear(channels, dim), nn.Linear(256, dim)
        self.layers = nn.Sequential(*(Layer(dim, heads) for _ in range(layers)))
        self.norm, self.outlet = nn.LayerNorm(dim), nn.Linear(dim, channels)

    def forward(self, x, noise_level):
        x = torch.cat([self.time(noise_level)[:, None], self.inlet(x)], dim=1)
        return self.outlet(self.norm(self.layers(x)[:, 1:]))


def program(kind):
    """1024 latents of a picture each; three layers."""
    model = on_gpu(LatentLayers, 64, 2816, 22, 3).bfloat16()
    batches = Prefetched(torch.randn(8, 1024, 64).bfloat16(), torch.randn(8, 256).bfloat16(),
                         torch.randn(8, 1024, 64).bfloat16())
    return training(model, lambda m, x, level, noise: F.mse_loss(m(x, level).float(), noise.float()), batches,
                    mixed=False)
