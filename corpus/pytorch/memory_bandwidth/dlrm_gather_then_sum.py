"""Dlrm gather then sum: memory_bandwidth. Cured by: embedding_bag sums without storing the rows."""
import torch
import torch.nn.functional as F

from shared.steps import GPU, inference


def program(kind):
    table = torch.randn(4_000_000, 64, device=GPU)
    index = torch.randint(0, 4_000_000, (8, 131072, 20), device=GPU)
    weight = torch.randn(64, 64, device=GPU)

    def run():
        for part in index:
            if kind == "flawed":
                pooled = table[part].sum(1)
            else:
                pooled = F.embedding_bag(part, table, mode="sum")
            pooled @ weight
    return inference(run)
