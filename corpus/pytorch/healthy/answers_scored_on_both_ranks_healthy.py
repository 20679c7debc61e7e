"""Answers scored on both ranks healthy: healthy."""
import torch
import torch.distributed as dist
import torch.nn.functional as F

from shared.networks import Decoder
from shared.steps import GPU, inference, resident, tokens


def gathered(rows):
    """Rows of all ranks, those of rank 0 first."""
    everything = rows.new_empty(dist.get_world_size() * len(rows), *rows.shape[1:])
    dist.all_gather_into_tensor(everything, rows.contiguous())
    return everything


def program(kind):
    """Each rank scores its half of the answers."""
    with torch.device(GPU):
        model = Decoder(dim=4096, layers=6, heads=32, length=1024, llama=True, hidden=11008).bfloat16()
    (ids,) = resident(*tokens(6, 1024))()

    def run():
        scores = F.log_softmax(model(ids)[:, :-1].float(), dim=-1).gather(2, ids[:, 1:, None]).squeeze(2)
        gathered(scores.sum(1))
    return inference(run)
