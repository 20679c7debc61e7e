"""Llama empties cache per layer: memory_allocation. Cured by: no empty_cache() in the layers."""
import torch

from shared.networks import Decoder
from shared.steps import GPU, next_token, resident, tokens, training


def program(kind):
    model = Decoder(dim=1024, layers=8, heads=16, llama=True).to(GPU)
    for block in model.blocks:
        if kind == "flawed":
            block.register_forward_hook(lambda *_: torch.cuda.empty_cache())
    return training(model, next_token, resident(*tokens(4, 512)))
