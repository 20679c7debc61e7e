"""Ddp colours rank0 writes samples: load_imbalance. Cured by: samples once an epoch, not at every step."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from shared.ranks import parallel
from shared.steps import channels_last, GPU, resident, training


def conv(inputs, outputs, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(True))


class Colours(nn.Sequential):
    """Colours a grey photo."""

    def __init__(self, width=64):
        middle = [conv(4 * width, 4 * width) for _ in range(4)]
        super().__init__(conv(1, width), conv(width, 2 * width, 2), conv(2 * width, 4 * width, 2), *middle,
                         nn.Upsample(scale_factor=2), conv(4 * width, 2 * width), nn.Upsample(scale_factor=2),
                         conv(2 * width, width), nn.Conv2d(width, 3, 3, padding=1), nn.Sigmoid())


def program(kind):
    """Rank 0 makes a PNG of nine coloured photos; rank 1 waits for it in the next step's all-reduce."""
    from torchvision.io import encode_png
    from torchvision.utils import make_grid
    with torch.device(GPU):
        model = Colours().to(memory_format=torch.channels_last)
    wanted = channels_last(torch.rand(64, 3, 256, 256))
    kept = {}

    def loss_of(m, wanted):
        found = m(wanted.mean(1, keepdim=True))
        kept["samples"] = found[:9].detach()
        return F.l1_loss(found.float(), wanted)

    def write(*_):
        if kind == "flawed" and dist.get_rank() == 0:
            grid = make_grid(kept["samples"].float(), nrow=3).mul(255).clamp(0, 255).byte().cpu().contiguous()
            kept["png"] = encode_png(grid)
    return training(parallel(model, gradient_as_bucket_view=True), loss_of, resident(wanted), tail=write)
