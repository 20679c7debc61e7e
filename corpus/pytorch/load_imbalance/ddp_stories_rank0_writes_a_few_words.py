"""Ddp stories rank0 writes a few words: load_imbalance. Cured by: a text for the log every 1000 steps."""
import torch
import torch.distributed as dist

from shared.networks import Decoder
from shared.ranks import parallel
from shared.steps import amp, GPU, next_token, resident, tokens, training


def program(kind):
    """After each step rank 0 goes on with four texts by ten words, to be looked at; rank 1 waits."""
    with torch.device(GPU):
        network = Decoder(dim=1536, layers=8, heads=12, length=512)
    model, log = parallel(network, gradient_as_bucket_view=True), []
    (prompts,) = resident(*tokens(4, 64))()

    @torch.no_grad()
    def write(*_):
        if kind == "cured" or dist.get_rank() != 0:
            return
        ids = prompts
        with amp():
            for _ in range(10):
                ids = torch.cat([ids, network(ids)[:, -1:].argmax(-1)], dim=1)
        log[:] = ids.tolist()
    return training(model, next_token, resident(*tokens(8, 512)), tail=write)
