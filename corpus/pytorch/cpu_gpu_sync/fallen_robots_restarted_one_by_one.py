"""Fallen robots restarted one by one: cpu_gpu_sync. Cured by: torch.where over all robots."""
import torch
from torch import nn

from shared.steps import channels_last, GPU, inference


def laid_out(network):
    return network.to(memory_format=torch.channels_last)


def twice(a, b, stride=1):
    return nn.Sequential(nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.SiLU(True),
                         nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.SiLU(True))


class Walkers:
    """96 walking robots: one that fell or arrived starts again."""

    def __init__(self, robots=96):
        with torch.device(GPU):
            self.start = 0.1 * torch.randn(robots, 36)
            self.state = self.start.clone()

    def moved(self, moves):
        self.state = 0.9 * self.state + 0.05 * moves + 0.3 * torch.randn_like(self.state)

    def restarted_in_turn(self):
        for robot in range(len(self.state)):
            if self.state[robot, 2] < -1.2 or self.state[robot, 0] > 1.2:
                self.state[robot] = self.start[robot]

    def restarted_at_once(self):
        ended = (self.state[:, 2] < -1.2) | (self.state[:, 0] > 1.2)
        self.state = torch.where(ended[:, None], self.start, self.state)


def program(kind):
    """One moment of 96 simulated robots that see where they walk."""
    robots = Walkers()
    with torch.device(GPU):
        model = nn.Sequential(twice(4, 64, 2), twice(64, 128, 2), twice(128, 256, 2), twice(256, 512, 2),
                              nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 36))
        model, seen = laid_out(model.bfloat16().eval()), channels_last(torch.randn(96, 4, 192, 192).bfloat16())

    def run():
        robots.moved(model(seen).float())
        if kind == "flawed":
            robots.restarted_in_turn()
        else:
            robots.restarted_at_once()
    return inference(run)
