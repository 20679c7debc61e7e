"""Ddp diarists rank0 logs norms of weights: load_imbalance. Cured by: norms logged every 500 steps."""
import torch
import torch.distributed as dist

from shared.networks import Decoder
from shared.ranks import parallel
from shared.steps import GPU, next_token, resident, tokens, training


def program(kind):
    with torch.device(GPU):
        network = Decoder(dim=1024, layers=12, heads=16, length=512)
    log = {}

    @torch.no_grad()
    def watch(*_):
        if kind == "flawed" and dist.get_rank() == 0:
            for name, weight in network.named_parameters():
                log[name] = weight.norm().item(), weight.grad.norm().item()
    return training(parallel(network, gradient_as_bucket_view=True), next_token, resident(*tokens(16, 512)), tail=watch)
