"""Ddp visits batch sent as objects: multi_gpu_comm. Cured by: rank 0 copies the batch to its GPU, dist.broadcast
of the tensors."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from shared.networks import Last
from shared.ranks import parallel
from shared.steps import GPU, training


class Visits(nn.Module):
    """What page is looked at next, from the pages before and eight numbers about each look."""

    def __init__(self, pages=20000, dim=512, layers=4, heads=8, length=200):
        super().__init__()
        self.pages, self.numbers = nn.Embedding(pages, dim), nn.Linear(8, dim)
        self.looks = Last(nn.Identity(), dim, layers, heads, length, pages, causal=True)

    def forward(self, pages, numbers):
        return self.looks(self.pages(pages) + self.numbers(numbers))


def program(kind):
    """Rank 0 reads the visits of both ranks and sends all; each keeps its half."""
    with torch.device(GPU):
        model = Visits()
    rank, both = dist.get_rank(), (768, 200)
    read = (torch.randint(0, 20000, both), torch.randn(*both, 8), torch.randint(0, 20000, both[:1]))
    if kind == "cured":
        read = tuple(part.pin_memory() for part in read)

    def batches():
        if kind == "cured":
            parts = [part.to(GPU, non_blocking=True) if rank == 0 else torch.empty_like(part, device=GPU)
                     for part in read]
            for part in parts:
                dist.broadcast(part, 0)
            return tuple(part.chunk(2)[rank] for part in parts)
        sent = [dict(zip(("pages", "numbers", "next"), read)) if rank == 0 else None]
        dist.broadcast_object_list(sent, 0)
        return tuple(part.chunk(2)[rank].to(GPU) for part in sent[0].values())

    def loss_of(m, pages, numbers, following):
        return F.cross_entropy(m(pages, numbers).float(), following)
    return training(parallel(model, gradient_as_bucket_view=True), loss_of, batches)
