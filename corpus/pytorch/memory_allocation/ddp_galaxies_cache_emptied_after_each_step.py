"""Ddp galaxies cache emptied after each step: memory_allocation. Cured by: no empty_cache() in the loop."""
import torch

from shared.networks import UNet
from shared.ranks import parallel
from shared.steps import channels_last, classify, GPU, resident, training


def program(kind):
    """Outlines of galaxies; once, memory ran out."""
    with torch.device(GPU):
        network = UNet(base=64, depth=4, classes=8).to(memory_format=torch.channels_last)
        pictures, kinds = torch.randn(8, 3, 256, 256), torch.randint(0, 8, (8, 256, 256))

    def tidy(*_):
        if kind == "flawed":
            torch.cuda.empty_cache()
    return training(parallel(network, gradient_as_bucket_view=True, broadcast_buffers=False), classify,
                    resident(channels_last(pictures), kinds), tail=tidy)
