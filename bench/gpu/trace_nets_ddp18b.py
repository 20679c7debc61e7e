"""What trace_cases_ddp18.py needs for time series and physics and no library has."""
import torch
import torch.nn.functional as F
from torch import nn

import trace_models as own

GPU, PIECE = "cuda", 32


# --- time series -----------------------------------------------------------------------------------------------------

class Series(nn.Module):
    """What follows each piece of a series."""

    def __init__(self, dim=1536, layers=10, heads=12, pieces=128):
        super().__init__()
        self.inlet, self.outlet = nn.Linear(PIECE, dim), nn.Linear(dim, PIECE)
        self.positions = nn.Parameter(torch.zeros(1, pieces, dim))
        self.blocks = nn.ModuleList(own.Block(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)

    def forward(self, values):
        x = self.inlet(values.unflatten(1, (-1, PIECE))) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.outlet(self.norm(x)).flatten(1)


def following_loss(model, values):
    told = model(values).float()
    return F.smooth_l1_loss(told[:, :-PIECE], values[:, PIECE:].float())


class Turbines(nn.Module):
    """The power of the next hours, from layers that mix the hours and the sensors in turn."""

    def __init__(self, hours=512, sensors=512, layers=4, following=96):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(sensors) for _ in range(2 * layers))
        self.time = nn.ModuleList(nn.Linear(hours, hours) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(sensors, 2 * sensors) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(2 * sensors, sensors) for _ in range(layers))
        self.hours, self.power = nn.Linear(hours, following), nn.Linear(sensors, 1)

    def forward(self, x):
        for layer, (time, up, down) in enumerate(zip(self.time, self.up, self.down)):
            h = self.norms[2 * layer](x).transpose(1, 2)
            x = x + F.relu(time(h)).transpose(1, 2)
            x = x + down(F.relu(up(self.norms[2 * layer + 1](x))))
        return self.power(self.hours(x.transpose(1, 2)).transpose(1, 2)).squeeze(2)


# --- physics ---------------------------------------------------------------------------------------------------------

class Reactors(nn.Module):
    """Amounts in two groups of reactors after some time, the change of which is learnt; each group has its number of
    Runge-Kutta steps."""

    def __init__(self, steps, amounts=256, width=2048):
        super().__init__()
        self.steps = steps
        self.change = nn.Sequential(nn.Linear(amounts, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                                    nn.Linear(width, amounts))

    def later(self, x, steps):
        size = 1.0 / steps
        for _ in range(steps):
            one = self.change(x)
            two = self.change(x + 0.5 * size * one)
            three = self.change(x + 0.5 * size * two)
            four = self.change(x + size * three)
            x = x + (size / 6) * (one + 2 * two + 2 * three + four)
        return x

    def forward(self, first, second):
        return torch.cat([self.later(x, steps) for x, steps in zip((first, second), self.steps)])


class Plasma(nn.Module):
    """The three fields of the next moment."""

    def __init__(self, fields=3, width=64, layers=5):
        super().__init__()
        self.inlet, self.outlet = nn.Conv2d(fields, width, 3, padding=1), nn.Conv2d(width, fields, 3, padding=1)
        self.layers = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(layers))

    def forward(self, x):
        h = self.inlet(x)
        for layer in self.layers:
            h = F.relu_(layer(h))
        return self.outlet(h)


class Lakes:
    """Shallow water in lakes: height and two speeds of this rank's members of an ensemble."""

    def __init__(self, members=16, size=256, dt=0.001, depth=10.0):
        with torch.device(GPU):
            self.state = 0.01 * torch.randn(3, members, size, size)
        self.dt, self.depth = dt, depth

    @staticmethod
    def slope(field, axis):
        return 0.5 * (torch.roll(field, -1, axis) - torch.roll(field, 1, axis))

    def small_step(self):
        height, east, north = self.state
        column = self.depth + height
        new_height = height - self.dt * (self.slope(column * east, 2) + self.slope(column * north, 1))
        new_east = east - self.dt * (9.81 * self.slope(height, 2) - 0.1 * north + 0.02 * east)
        new_north = north - self.dt * (9.81 * self.slope(height, 1) + 0.1 * east + 0.02 * north)
        torch.stack([new_height, new_east, new_north], out=self.state)

    def advance(self, times):
        for _ in range(times):
            self.small_step()


def recorded(run):
    """run() as one CUDA graph. Only this thread is watched meanwhile: NCCL's own may ask for its events."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.no_grad(), torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph, capture_error_mode="thread_local"):
        run()

    def replay(_=run):  # the graph reads and writes what only run() holds
        graph.replay()
    return replay


class Plates(nn.Module):
    """How far a plate bends at places in space and time, and how its equation is missed there."""

    def __init__(self, width=768, layers=5):
        super().__init__()
        sizes = [3] + [width] * layers
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.outlet = nn.Linear(width, 1)

    def bend(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.outlet(x)

    def forward(self, places):
        places = places.detach().requires_grad_()
        bend = self.bend(places)
        (slope,) = torch.autograd.grad(bend.sum(), places, create_graph=True)
        curves = [torch.autograd.grad(slope[:, axis].sum(), places, create_graph=True)[0][:, axis] for axis in range(3)]
        return bend, curves[2] - curves[0] - curves[1]
