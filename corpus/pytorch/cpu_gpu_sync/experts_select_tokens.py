"""Experts select tokens: cpu_gpu_sync. Cured by: equally many tokens an expert, one batched product."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.steps import GPU, resident, training


class Experts(nn.Module):
    """A mixture of experts: the tokens of each are selected by their indices, or all get equally many."""

    def __init__(self, dim, hidden, experts, depth, equal):
        super().__init__()
        self.equal = equal
        self.gates = nn.ModuleList(nn.Linear(dim, experts) for _ in range(depth))
        self.up, self.down = (nn.ParameterList(nn.Parameter(torch.randn(experts, a, b, device=GPU) * 0.02)
                                               for _ in range(depth)) for a, b in ((dim, hidden), (hidden, dim)))

    def equally(self, layer, x, chosen):
        order = chosen.argsort().view(self.up[layer].shape[0], -1)
        hidden = F.gelu(torch.bmm(x[order], self.up[layer]))
        out = torch.bmm(hidden, self.down[layer]).flatten(0, 1)
        return torch.zeros_like(x).index_copy(0, order.flatten(), out.to(x.dtype))

    def selected(self, layer, x, chosen):
        out = torch.zeros_like(x)
        for expert, (up, down) in enumerate(zip(self.up[layer].unbind(), self.down[layer].unbind())):
            rows = (chosen == expert).nonzero().squeeze(1)
            hidden = F.gelu(x.index_select(0, rows) @ up)
            out = out.index_add(0, rows, (hidden @ down).to(x.dtype))
        return out

    def forward(self, x):
        for layer, gate in enumerate(self.gates):
            weight, chosen = gate(x).softmax(-1).max(-1)
            mixed = self.equally(layer, x, chosen) if self.equal else self.selected(layer, x, chosen)
            x = x + mixed * weight[:, None].to(x.dtype)
        return x


def mean_square(model, *inputs):
    return model(*inputs).float().square().mean()


def program(kind):
    model = Experts(512, 2048, 16, 4, equal=kind == "cured").to(GPU)
    return training(model, mean_square, resident(torch.randn(8192, 512)))
