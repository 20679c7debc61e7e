"""Wide mlp float64: precision. Cured by: float32 with TF32."""
import torch

from shared.networks import wide_mlp
from shared.steps import GPU, resident, tf32, training


def program(kind):
    dtype = torch.float64 if kind == "flawed" else torch.float32
    model = wide_mlp(4096, 6).to(GPU, dtype)
    x = torch.randn(2048, 4096, dtype=dtype)
    return training(model, lambda m, x: m(x).square().mean(), resident(x), mixed=False, before=tf32(True))
