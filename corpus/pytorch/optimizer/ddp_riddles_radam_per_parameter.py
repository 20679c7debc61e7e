"""Ddp riddles radam per parameter: optimizer. Cured by: RAdam(foreach=True)."""
import torch

from shared.networks import Decoder
from shared.ranks import parallel
from shared.steps import GPU, next_token, resident, tokens, training


def program(kind):
    with torch.device(GPU):
        network = Decoder(dim=768, layers=16, heads=12, length=512)
    model = parallel(network, gradient_as_bucket_view=True)
    optimizer = torch.optim.RAdam(model.parameters(), lr=1e-4, foreach=kind == "cured")
    return training(model, next_token, resident(*tokens(16, 512)), optimizer)
