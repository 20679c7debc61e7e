"""Ddp llama uneven lengths: load_imbalance. Cured by: sequences of like length on both ranks."""
import torch.distributed as dist

from shared.networks import Decoder
from shared.ranks import parallel
from shared.steps import GPU, next_token, resident, tokens, training


def program(kind):
    length = 768 if kind == "cured" else (384, 1152)[dist.get_rank()]
    model = parallel(Decoder(dim=1024, layers=6, heads=16, length=1152, llama=True).to(GPU))
    return training(model, next_token, resident(*tokens(8, length)))
