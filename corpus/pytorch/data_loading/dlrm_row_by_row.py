"""Dlrm row by row: data_loading. Cured by: rows prepared in batches ahead of time."""
import torch
from torch import nn
from torch.utils.data import Dataset

from shared.steps import click_loss, GPU, loaded, Prefetched, training


class Recommender(nn.Module):
    """DLRM-like: one embedding table a feature, pairwise dot products, two MLPs."""

    def __init__(self, tables=26, rows=10000, dim=64, dense=13, width=512):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, dim) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(dense, width), nn.ReLU(), nn.Linear(width, dim), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(pairs + dim, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                 nn.Linear(width, 1))
        rows_at, columns_at = torch.tril_indices(tables + 1, tables + 1, offset=-1)
        self.register_buffer("rows_at", rows_at)
        self.register_buffer("columns_at", columns_at)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        features = torch.stack([x] + [table(sparse[:, i]).to(x.dtype) for i, table in enumerate(self.tables)], dim=1)
        products = features @ features.transpose(1, 2)
        return self.top(torch.cat([x, products[:, self.rows_at, self.columns_at]], dim=1)).squeeze(1)


class Clicks(Dataset):
    """One row at a time, hashed in Python."""

    def __len__(self):
        return 1 << 24

    def __getitem__(self, index):
        dense = torch.tensor([float((index * k) % 97) for k in range(13)])
        sparse = torch.tensor([hash((index, k)) % 10000 for k in range(26)])
        return dense, sparse, float(index % 2)


def program(kind):
    batches, close = loaded(Clicks(), 1024, 2) if kind == "flawed" else (Prefetched(
        torch.rand(1024, 13), torch.randint(0, 10000, (1024, 26)), torch.rand(1024)), None)
    return training(Recommender().to(GPU), click_loss, batches), close or (lambda: None)
