"""Ddp engravings scores written out: attention. Cured by: scaled_dot_product_attention."""
import torch

from shared.networks import PatchTransformer
from shared.ranks import parallel
from shared.steps import classify, GPU, images, resident, training


def program(kind):
    """4096 patches a picture."""
    with torch.device(GPU):
        network = PatchTransformer(image=512, patch=8, dim=768, layers=4, heads=12,
                                   attention="manual" if kind == "flawed" else "flash")
    return training(parallel(network, gradient_as_bucket_view=True), classify, resident(*images(3, 512)))
