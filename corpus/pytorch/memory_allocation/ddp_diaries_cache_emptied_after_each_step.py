"""Ddp diaries cache emptied after each step: memory_allocation. Cured by: no torch.cuda.empty_cache()."""
import torch

from shared.networks import Decoder
from shared.ranks import parallel
from shared.steps import GPU, next_token, resident, tokens, training


def program(kind):
    """As was advised once, when memory had run out."""
    with torch.device(GPU):
        network = Decoder(dim=1280, layers=8, heads=20, length=1024)

    def tidy(*_):
        if kind == "flawed":
            torch.cuda.empty_cache()
    return training(parallel(network, gradient_as_bucket_view=True), next_token, resident(*tokens(8, 1024)), tail=tidy)
