"""Ddp wide mlp small batch: multi_gpu_comm. Cured by: batch 64 -> 2048 an all-reduce."""
import torch

from shared.networks import wide_mlp
from shared.ranks import parallel
from shared.steps import GPU, resident, training


def program(kind):
    model = parallel(wide_mlp(8192, 6).to(GPU), gradient_as_bucket_view=True)
    x = torch.randn(64 if kind == "flawed" else 2048, 8192)
    return training(model, lambda m, x: m(x).float().square().mean(), resident(x),
                    torch.optim.SGD(model.parameters(), 1e-3, fused=True))
