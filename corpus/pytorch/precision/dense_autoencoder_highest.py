"""Dense autoencoder highest: precision. Cured by: torch.set_float32_matmul_precision("high"): TF32."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.steps import GPU, resident, tf32, training


def program(kind):
    sizes = (4096, 2048, 512, 2048, 4096)
    parts = [part for a, b in zip(sizes, sizes[1:]) for part in (nn.Linear(a, b, device=GPU), nn.ReLU())]
    return training(nn.Sequential(*parts[:-1]), lambda m, x: F.mse_loss(m(x), x), resident(torch.randn(8192, 4096)),
                    mixed=False, before=tf32(kind == "cured"))
