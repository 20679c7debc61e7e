"""Fsdp llama7b layers healthy: healthy."""
import torch

from shared.networks import Decoder
from shared.ranks import sharded
from shared.steps import GPU, next_token, resident, tokens, training


def program(kind):
    with torch.device(GPU):
        model = Decoder(dim=4096, layers=3, heads=32, length=512, llama=True, hidden=11008)
    return training(sharded(model, model.blocks), next_token, resident(*tokens(10, 512)), mixed=False)
