"""Ddp sessions cell by cell: launch_overhead. Cured by: nn.GRU."""
import torch
from torch import nn

from shared.ranks import parallel
from shared.steps import classify, GPU, resident, tf32, training


class Clicked(nn.Module):
    """What is clicked next in a session; `cells`: click by click, as the tutorial on recurrent cells has it."""

    def __init__(self, cells, things=20000, dim=384, hidden=768, layers=2):
        super().__init__()
        self.things, self.head = nn.Embedding(things, dim), nn.Linear(hidden, things)
        self.hidden, self.cells, self.all = hidden, None, None
        if cells:
            self.cells = nn.ModuleList(nn.GRUCell(hidden if layer else dim, hidden) for layer in range(layers))
        else:
            self.all = nn.GRU(dim, hidden, layers, batch_first=True)

    def forward(self, clicks):
        x = self.things(clicks)
        if self.all is not None:
            return self.head(self.all(x)[0][:, -1])
        states = [x.new_zeros(len(x), self.hidden) for _ in self.cells]
        for time in range(x.shape[1]):
            h = x[:, time]
            for layer, cell in enumerate(self.cells):
                states[layer] = h = cell(h, states[layer])
        return self.head(states[-1])


def program(kind):
    """What is clicked after 60 clicks."""
    with torch.device(GPU):
        network = Clicked(cells=kind == "flawed")
    return training(parallel(network, gradient_as_bucket_view=True), classify,
                    resident(torch.randint(0, 20000, (256, 60)), torch.randint(0, 20000, (256,))), mixed=False,
                    before=tf32(True))
