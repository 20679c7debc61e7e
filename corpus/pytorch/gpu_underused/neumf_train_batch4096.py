"""Neumf train batch4096: gpu_underused. Cured by: batch 4096 -> 16384."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.networks import on_gpu
from shared.steps import resident, training


class NeuMF(nn.Module):
    """Neural matrix factorization (He et al.)."""

    def __init__(self, users=138_000, items=27_000, dim=64):
        super().__init__()
        self.users, self.items = nn.Embedding(users, 2 * dim), nn.Embedding(items, 2 * dim)
        self.layers = nn.Sequential(nn.Linear(2 * dim, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(),
                                    nn.Linear(128, 64), nn.ReLU())
        self.head = nn.Linear(dim + 64, 1)

    def forward(self, user, item):
        user1, user2 = self.users(user).chunk(2, dim=1)
        item1, item2 = self.items(item).chunk(2, dim=1)
        deep = self.layers(torch.cat([user2, item2], dim=1))
        return self.head(torch.cat([user1 * item1, deep], dim=1)).flatten()


def chosen_loss(model, *batch):
    """Of a network whose last argument is what was chosen."""
    return F.binary_cross_entropy_with_logits(model(*batch[:-1]).float(), batch[-1])


def program(kind):
    batch = 4096 if kind == "flawed" else 16384
    data = resident(torch.randint(0, 138_000, (batch,)), torch.randint(0, 27_000, (batch,)),
                    torch.randint(0, 2, (batch,)).float())
    return training(on_gpu(NeuMF), chosen_loss, data)
