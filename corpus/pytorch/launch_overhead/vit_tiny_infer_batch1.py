"""Vit tiny infer batch1: launch_overhead. Cured by: torch.compile(mode="reduce-overhead")."""
import torch

from shared.networks import PatchTransformer
from shared.steps import GPU, inference


def program(kind):
    model = PatchTransformer(patch=16, dim=192, layers=8, heads=3).to(GPU).bfloat16().eval()
    if kind == "cured":
        model = torch.compile(model, mode="reduce-overhead")
    x = torch.randn(1, 3, 224, 224, device=GPU, dtype=torch.bfloat16)
    return inference(lambda: model(x))
