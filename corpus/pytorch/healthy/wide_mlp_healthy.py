"""Wide mlp healthy: healthy."""
import torch

from shared.networks import wide_mlp
from shared.steps import GPU, resident, training


def program(kind):
    model = wide_mlp(8192, 6).bfloat16().to(GPU)
    x = torch.randn(8192, 8192, dtype=torch.bfloat16)
    return training(model, lambda m, x: m(x).float().square().mean(), resident(x),
                    torch.optim.SGD(model.parameters(), 1e-3, fused=True), mixed=False)
