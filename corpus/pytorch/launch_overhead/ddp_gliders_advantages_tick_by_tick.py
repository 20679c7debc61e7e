"""Ddp gliders advantages tick by tick: launch_overhead. Cured by: sums over 1, 2, 4... ticks of all games."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.ranks import parallel
from shared.steps import GPU, resident, training


class Walker(nn.Module):
    """Forces on the joints and the value of the state, from what is felt."""

    def __init__(self, felt, joints, width, layers):
        super().__init__()
        sizes = [felt] + [width] * layers
        self.trunk = nn.Sequential(*(part for before, after in zip(sizes, sizes[1:])
                                     for part in (nn.Linear(before, after), nn.ELU())))
        self.joints, self.head = joints, nn.Linear(width, joints + 1)

    def forward(self, x):
        out = self.head(self.trunk(x)).float()
        return out[..., : self.joints], out[..., self.joints]


def advantages(rewards, values, going, at_once, decay=0.99, trace=0.95):
    """How much better than expected each tick turned out; rewards and going: (ticks, games), values: one tick more.
    `at_once`: sums over 1, 2, 4... ticks, instead of from the last tick to the first."""
    ticks = len(rewards)
    surprise = rewards + decay * going * values[1:] - values[:-1]
    keep = decay * trace * going
    if not at_once:
        later, found = torch.zeros_like(rewards[0]), [None] * ticks
        for tick in reversed(range(ticks)):
            later = surprise[tick] + keep[tick] * later
            found[tick] = later
        return torch.stack(found)
    reach = 1
    while reach < ticks:
        surprise = surprise + F.pad(keep[:-reach] * surprise[reach:], (0, 0, 0, reach))
        keep = F.pad(keep[:-reach] * keep[reach:], (0, 0, 0, reach))
        reach *= 2
    return surprise


def program(kind):
    """512 ticks of 512 games a rank; how much better than expected each was is found from the last to the first."""
    with torch.device(GPU):
        network = Walker(64, 8, 1024, 3)
        felt, taken, rewards = torch.randn(513, 512, 64), torch.randn(512, 512, 8), torch.randn(512, 512)
        going = (torch.rand(512, 512) > 0.005).float()

    def loss_of(m, felt, taken, rewards, going):
        forces, values = m(felt)
        better = advantages(rewards, values.detach(), going, at_once=kind == "cured")
        goal = better + values[:-1].detach()
        miss = (forces[:-1] - taken).square().mean(2)
        return (values[:-1] - goal).square().mean() + (miss * better).mean()
    return training(parallel(network, gradient_as_bucket_view=True), loss_of, resident(felt, taken, rewards, going))
