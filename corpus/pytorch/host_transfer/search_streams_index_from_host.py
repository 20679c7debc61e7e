"""Search streams index from host: host_transfer. Cured by: the index stays on the GPU."""
import torch

from shared.steps import GPU, inference


def program(kind):
    """Exact search for the ten nearest of 262144 vectors, in four parts."""
    rows = 65536
    parts = [torch.randn(rows, 768, device=GPU, dtype=torch.bfloat16) for _ in range(4)]
    if kind == "flawed":
        parts = [part.cpu().pin_memory() for part in parts]
    queries = torch.randn(256, 768, device=GPU, dtype=torch.bfloat16)

    def run():
        values, ids = [], []
        for index, part in enumerate(parts):
            found = torch.topk(queries @ part.to(GPU, non_blocking=True).T, 10, dim=1)
            values.append(found.values)
            ids.append(found.indices + index * rows)
        best = torch.cat(values, dim=1).topk(10, dim=1).indices
        return torch.cat(ids, dim=1).gather(1, best)
    return inference(run)
