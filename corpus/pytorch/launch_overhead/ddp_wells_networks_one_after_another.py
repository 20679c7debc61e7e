"""Ddp wells networks one after another: launch_overhead. Cured by: all small networks in batched products."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.ranks import parallel
from shared.steps import GPU, resident, training


class Wells(nn.Module):
    """What each of many oil wells gives, by a small network of its own. `at_once`: all of them in batched products."""

    def __init__(self, at_once, wells=64, numbers=64, width=512):
        super().__init__()
        self.at_once = at_once
        if at_once:
            sizes = (numbers, width), (width, width), (width, 1)
            self.weights = nn.ParameterList([nn.Parameter(torch.randn(wells, *size) / size[0] ** 0.5)
                                             for size in sizes])
            self.shifts = nn.ParameterList([nn.Parameter(torch.zeros(wells, 1, size[1])) for size in sizes])
        else:
            self.networks = nn.ModuleList(nn.Sequential(nn.Linear(numbers, width), nn.ReLU(), nn.Linear(width, width),
                                                        nn.ReLU(), nn.Linear(width, 1)) for _ in range(wells))

    def forward(self, x):
        """Wells, days, numbers -> wells, days."""
        if not self.at_once:
            return torch.stack([network(part) for network, part in zip(self.networks, x)]).squeeze(2)
        for layer, (weight, shift) in enumerate(zip(self.weights, self.shifts)):
            x = torch.baddbmm(shift, F.relu(x) if layer else x, weight)
        return x.squeeze(2)


def program(kind):
    """64 oil wells, each with a small network of its own, 8192 days a rank."""
    with torch.device(GPU):
        network = Wells(at_once=kind == "cured")
    return training(parallel(network, gradient_as_bucket_view=True), lambda m, x, y: F.mse_loss(m(x).float(), y),
                    resident(torch.randn(64, 8192, 64), torch.randn(64, 8192)))
