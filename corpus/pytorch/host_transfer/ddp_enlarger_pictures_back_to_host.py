"""Ddp enlarger pictures back to host: host_transfer. Cured by: enlarged pictures stay on the GPU, the last ones
are copied at the end."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.ranks import parallel
from shared.steps import channels_last, GPU, resident, training


class Enlarger(nn.Module):
    """Pictures four times as wide and as high."""

    def __init__(self, width=128, layers=6):
        super().__init__()
        self.inlet = nn.Conv2d(3, width, 3, padding=1)
        self.body = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(layers))
        self.outlet = nn.Conv2d(width, 48, 3, padding=1)

    def forward(self, x):
        x = self.inlet(x)
        for convolution in self.body:
            x = x + F.relu(convolution(x))
        return F.pixel_shuffle(self.outlet(x), 4)


def program(kind):
    with torch.device(GPU):
        network = Enlarger().to(memory_format=torch.channels_last)
    log, x = {}, channels_last(torch.randn(16, 3, 256, 256))

    def loss_of(m, x, y):
        large = m(x).float()
        log["pictures"] = large.detach()
        return F.l1_loss(large, y)

    def keep(*_):
        if kind == "flawed":
            log["pictures"] = log["pictures"].cpu()
    return training(parallel(network, gradient_as_bucket_view=True), loss_of,
                    resident(x, torch.randn(16, 3, 1024, 1024)), tail=keep)
