"""Vit activation chain: memory_bandwidth. Cured by: torch.compile fuses the chain."""
import torch

from shared.steps import GPU, inference


def gated_chain(x, scale, shift):
    """An activation and a normalisation in primitive operations."""
    for _ in range(3):
        mean, spread = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        y = (x - mean) / (spread + 1e-5) * scale + shift
        x = x + 0.5 * y * (1 + torch.tanh(0.79788 * (y + 0.044715 * y * y * y)))
    return x


def program(kind):
    function = torch.compile(gated_chain) if kind == "cured" else gated_chain
    x = torch.randn(64, 1024, 768, device=GPU)
    scale, shift = torch.rand(768, device=GPU), torch.rand(768, device=GPU)
    return inference(lambda: function(x, scale, shift))
