"""Fsdp moths every module a unit: multi_gpu_comm. Cured by: fully_shard by block."""
import torch

from shared.networks import PatchTransformer
from shared.ranks import sharded
from shared.steps import classify, GPU, images, resident, training


def program(kind):
    """Norms and linear layers of a vision transformer are sharded each by itself."""
    with torch.device(GPU):
        model = PatchTransformer(image=224, patch=16, dim=1024, layers=12, heads=16)
    units = list(model.blocks)
    if kind == "flawed":
        units = [part for block in units for part in block.children()]
    return training(sharded(model, units), classify, resident(*images(64)), mixed=False)
