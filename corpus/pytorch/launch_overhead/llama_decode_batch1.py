"""Llama decode batch1: launch_overhead. Cured by: CUDA graph."""
import torch

from shared.networks import CachedDecoder
from shared.steps import captured, GPU, inference


def program(kind):
    model = CachedDecoder(1, layers=12).bfloat16().to(GPU).eval()
    token = torch.zeros(1, 1, dtype=torch.long, device=GPU)
    step = inference(lambda: token.copy_(model(token)))
    return captured(step) if kind == "cured" else step
