"""Segmentation loss unfused: memory_bandwidth. Cured by: torch.compile fuses the loss."""
import torch
from torch import nn

from shared.steps import GPU, tf32, training


def focal_loss(logits, target):
    p = torch.sigmoid(logits)
    weight = target * (1 - p) ** 2 * 0.25 + (1 - target) * p**2 * 0.75
    entropy = torch.clamp(logits, min=0) - logits * target + torch.log1p(torch.exp(-logits.abs()))
    return (weight * entropy).mean() + (1 - (2 * p * target).sum() / (p.sum() + target.sum()))


def program(kind):
    function = torch.compile(focal_loss) if kind == "cured" else focal_loss
    head = nn.Conv2d(16, 32, 1).to(GPU)
    x = torch.randn(16, 16, 384, 384, device=GPU)
    target = (torch.rand(16, 32, 384, 384, device=GPU) > 0.5).float()
    return training(head, lambda m, x, t: function(m(x), t), lambda: (x, target), mixed=False, before=tf32(True))
