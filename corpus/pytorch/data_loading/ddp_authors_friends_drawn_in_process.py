"""Ddp authors friends drawn in process: data_loading. Cured by: num_workers 0 -> 12 on both ranks."""
import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

from shared.ranks import parallel
from shared.steps import classify, GPU, loaded, training


class Authors(Dataset):
    """An author, ten that he wrote with, ten of each of theirs and five of each of those, drawn at random."""

    def __init__(self, count=100_000, friends=20):
        self.friends = torch.randint(0, count, (count, friends), generator=torch.Generator().manual_seed(5)).tolist()

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        dice, author = random.Random(index), index % len(self.friends)
        first = dice.choices(self.friends[author], k=10)
        second = [friend for one in first for friend in dice.choices(self.friends[one], k=10)]
        third = [friend for one in second for friend in dice.choices(self.friends[one], k=5)]
        return torch.tensor([author, *first, *second, *third]), index % 30


class Writings(nn.Module):
    """The subject of an author, from what he and those near him write."""

    def __init__(self, count=100_000, numbers=256, dim=2048, subjects=30):
        super().__init__()
        self.register_buffer("about", torch.randn(count, numbers))
        self.inlet = nn.Sequential(nn.Linear(numbers, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU(),
                                   nn.Linear(dim, dim), nn.ReLU())
        self.own, self.near = (nn.ModuleList(nn.Linear(dim, dim) for _ in range(3)) for _ in range(2))
        self.head = nn.Linear(dim, subjects)

    def forward(self, ids):
        levels = list(self.inlet(self.about[ids]).split([1, 10, 100, 500], dim=1))
        for own_part, near_part in zip(self.own, self.near):
            levels = [F.relu(own_part(here) + near_part(there.unflatten(1, (here.shape[1], -1)).mean(2)))
                      for here, there in zip(levels, levels[1:])]
        return self.head(levels[0].squeeze(1))


def program(kind):
    batches, close = loaded(Authors(), 64, 0 if kind == "flawed" else 12)
    with torch.device(GPU):
        network = Writings()
    return training(parallel(network, gradient_as_bucket_view=True, broadcast_buffers=False), classify, batches), close
