"""Few shot tasks learnt in turn: launch_overhead. Cured by: all tasks at once by torch.func.vmap."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap

from shared.networks import on_gpu
from shared.steps import resident, tf32, training


class FewShots(nn.Module):
    """Finn et al.: weights from which a few steps lead to a network for a new task."""

    def __init__(self, features=512, dim=512, kinds=5):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU(),
                                    nn.Linear(dim, kinds))

    def forward(self, x):
        return self.layers(x)


def after_steps(model, weights, known, kinds, asked, answers, steps=3):
    """The loss of one task after some steps on its known examples."""
    def loss_of(weights, x, y):
        return F.cross_entropy(functional_call(model, weights, (x,)), y)
    for _ in range(steps):
        slopes = grad(loss_of)(weights, known, kinds)
        weights = {name: weight - 0.05 * slopes[name] for name, weight in weights.items()}
    return loss_of(weights, asked, answers)


def tasks_in_turn(model, *tasks):
    weights = dict(model.named_parameters())
    return torch.stack([after_steps(model, weights, *task) for task in zip(*tasks)]).mean()


def tasks_at_once(model, *tasks):
    weights = dict(model.named_parameters())
    return vmap(lambda *task: after_steps(model, weights, *task))(*tasks).mean()


def program(kind):
    """Five kinds, five known examples and fifteen to be named of each."""
    loss_of = tasks_in_turn if kind == "flawed" else tasks_at_once
    data = (torch.randn(8, 25, 512), torch.randint(0, 5, (8, 25)), torch.randn(8, 75, 512),
            torch.randint(0, 5, (8, 75)))
    return training(on_gpu(FewShots), loss_of, resident(*data), mixed=False, before=tf32(True))
