"""Tables exchanged one by one: multi_gpu_comm. Cured by: one all_to_all for all tables."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from shared.steps import GPU, inference


def ranker(inputs, width):
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                         nn.Linear(width, 1)).to(GPU).bfloat16().eval()


def program(kind):
    """Each rank looks all rows of the batch up in its half of the tables, then sends the other rank's rows over."""
    tables, rows, dim, batch = 32, 20000, 64, 2048
    table = torch.randn(tables * rows, dim, device=GPU, dtype=torch.bfloat16)
    ids = torch.randint(0, rows, (2 * batch, tables), device=GPU) + torch.arange(tables, device=GPU) * rows
    score = ranker(2 * tables * dim, 512)

    def run():
        found = F.embedding(ids, table)
        if kind == "flawed":
            columns = []
            for i in range(tables):
                there = found.new_empty(2 * batch, dim)
                dist.all_to_all_single(there, found[:, i].contiguous())
                columns.append(there)
            there = torch.stack(columns, dim=1)
        else:
            there = torch.empty_like(found)
            dist.all_to_all_single(there, found)
        mine, others = there.flatten(1).chunk(2)
        return score(torch.cat([mine, others], dim=1))
    return inference(run)
