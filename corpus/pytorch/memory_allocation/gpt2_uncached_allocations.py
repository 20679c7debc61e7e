"""Gpt2 uncached allocations: memory_allocation. Cured by: caching allocator on."""
import torch

from shared.networks import Decoder
from shared.steps import GPU, next_token, resident, tokens, training


def program(kind):
    with torch.device(GPU):
        model = Decoder(layers=8, length=512)
    return training(model, next_token, resident(*tokens(8, 512)))
