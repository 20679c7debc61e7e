"""More of trace_cases_blind20.py: networks of sleep, sales, pictures, roads and molecules, a loss, an optimizer."""
import torch
import torch.nn.functional as F
from torch import nn

from trace_cases import GPU


# --- series ----------------------------------------------------------------------------------------------------------

def listened(a, b, width=5, stride=1):
    return nn.Sequential(nn.Conv1d(a, b, width, stride, width // 2, bias=False), nn.BatchNorm1d(b), nn.SiLU(True))


class SleepNet(nn.Module):
    """Which of five stages of sleep do 21 currents of a brain show?"""

    def __init__(self, widths=(128, 192, 256, 384)):
        super().__init__()
        self.inlet = listened(21, widths[0], 15, 5)
        self.layers = nn.Sequential(*(
            nn.Sequential(listened(a, b, stride=2), listened(b, b), listened(b, b))
            for a, b in zip((widths[0],) + widths, widths)))
        self.head = nn.Linear(widths[-1], 5)

    def forward(self, x):
        return self.head(self.layers(self.inlet(x)).mean(-1))


class DenseBlock(nn.Module):
    def __init__(self, a, hidden, b):
        super().__init__()
        self.up, self.down, self.past, self.norm = (nn.Linear(a, hidden), nn.Linear(hidden, b), nn.Linear(a, b),
                                                    nn.LayerNorm(b))

    def forward(self, x):
        return self.norm(self.down(F.relu(self.up(x))) + self.past(x))


class DenseSeries(nn.Module):
    """Das et al.: dense layers alone tell the next 96 days from the last 720."""

    def __init__(self, past=720, dim=1024, layers=6, ahead=96):
        super().__init__()
        sizes = [past] + [dim] * layers
        self.layers = nn.Sequential(*(DenseBlock(a, dim, b) for a, b in zip(sizes, sizes[1:])))
        self.head, self.straight = nn.Linear(dim, ahead), nn.Linear(past, ahead)

    def forward(self, x):
        return self.head(self.layers(x)) + self.straight(x)


# --- pictures and roads ----------------------------------------------------------------------------------------------

def by_bmm(q, k, v):
    """(n, places, channels) each"""
    scores = torch.bmm(q, k.transpose(1, 2)) * q.shape[-1] ** -0.5
    return torch.bmm(scores.softmax(-1), v)


def by_kernel(q, k, v):
    return F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None])[:, 0]


class PlacesBlock(nn.Module):
    """Each place of a picture looks at all others."""

    def __init__(self, dim, attended):
        super().__init__()
        self.attended, self.norm = attended, nn.GroupNorm(16, dim)
        self.qkv, self.proj = nn.Conv2d(dim, 3 * dim, 1), nn.Conv2d(dim, dim, 1)

    def forward(self, x):
        qkv = self.qkv(self.norm(x)).flatten(2).transpose(1, 2).contiguous()
        found = self.attended(*qkv.chunk(3, dim=-1))
        return x + self.proj(found.transpose(1, 2).unflatten(2, x.shape[2:]))


class Repairer(nn.Module):
    """Fills in what is missing in a picture."""

    def __init__(self, attended, dim=128, blocks=3):
        super().__init__()
        self.inlet, self.outlet = nn.Conv2d(4, dim, 4, 4), nn.ConvTranspose2d(dim, 3, 4, 4)
        self.blocks = nn.Sequential(*(
            nn.Sequential(PlacesBlock(dim, attended), nn.Conv2d(dim, dim, 3, padding=1), nn.SiLU())
            for _ in range(blocks)))

    def forward(self, x):
        return self.outlet(self.blocks(self.inlet(x)))


class RoadLayer(nn.Module):
    def __init__(self, dim, heads, asked):
        super().__init__()
        self.asked, self.attend = asked, nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.wide = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        y = self.norm1(x)
        y, _ = self.attend(y, y, y, **self.asked)
        x = x + y
        return x + self.wide(self.norm2(x))


class RoadReader(nn.Module):
    """Cars, walkers and pieces of lanes around a car; where will each be in 30 tenths of a second?"""

    def __init__(self, asked, dim=512, heads=8, layers=5):
        super().__init__()
        self.inlet, self.outlet = nn.Linear(48, dim), nn.Linear(dim, 60)
        self.layers = nn.Sequential(*(RoadLayer(dim, heads, asked) for _ in range(layers)))

    def forward(self, x):
        return self.outlet(self.layers(self.inlet(x)))


# --- games -----------------------------------------------------------------------------------------------------------

class Returns(nn.Module):
    """Dabney et al.: 200 quantiles of what each of 6 moves brings."""

    def __init__(self, seen=256, moves=6, quantiles=200):
        super().__init__()
        self.quantiles = quantiles
        self.layers = nn.Sequential(nn.Linear(seen, 1024), nn.ReLU(True), nn.Linear(1024, 1024), nn.ReLU(True),
                                    nn.Linear(1024, moves * quantiles))

    def forward(self, x):
        return self.layers(x).unflatten(-1, (-1, self.quantiles)).float()


def of_move(returns, move):
    return returns.gather(1, move[:, None, None].expand(-1, 1, returns.shape[2]))[:, 0]


def quantiles_apart(guessed, wanted):
    """(n, quantiles) each; every one of those guessed is compared with every one wanted."""
    count = guessed.shape[1]
    levels = (torch.arange(count, device=guessed.device) + 0.5) / count
    apart = wanted[:, None, :] - guessed[:, :, None]
    size = apart.abs()
    costs = torch.where(size < 1.0, 0.5 * apart.square(), size - 0.5)
    weights = (levels[:, None] - (apart.detach() < 0).float()).abs()
    return (weights * costs).mean(2).sum(1).mean()


# --- molecules -------------------------------------------------------------------------------------------------------

class BondLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.bond, self.norm = nn.Linear(16, dim), nn.LayerNorm(dim)
        self.wide = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(True), nn.Linear(2 * dim, dim))

    def forward(self, x, bonds, begin, end):
        sent = F.relu(x.index_select(0, begin) + self.bond(bonds))
        return x + self.wide(self.norm(x + torch.zeros_like(x).index_add_(0, end, sent)))


class Molecules(nn.Module):
    """How well does each of some molecules dissolve?"""

    def __init__(self, dim=256, layers=5):
        super().__init__()
        self.inlet, self.outlet = nn.Linear(40, dim), nn.Linear(dim, 1)
        self.layers = nn.ModuleList(BondLayer(dim) for _ in range(layers))

    def forward(self, atoms, bonds, begin, end, of, count):
        x = self.inlet(atoms)
        for layer in self.layers:
            x = layer(x, bonds, begin, end)
        return self.outlet(x.new_zeros(count, x.shape[1]).index_add_(0, of, x))[:, 0]


def batch_of_molecules(count, atoms):
    """`count` molecules of `atoms` atoms on average."""
    total = count * atoms
    with torch.device(GPU):
        begin = torch.randint(0, total, (2 * total,))
        return (torch.randn(total, 40), torch.randn(2 * total, 16), begin, (begin + 1) % total,
                torch.randint(0, count, (total,)), torch.randn(count))


# --- optimizer -------------------------------------------------------------------------------------------------------

class Adan(torch.optim.Optimizer):
    """Xie et al.: looks ahead by how gradients change."""

    def __init__(self, params, at_once, lr=1e-4):
        super().__init__(params, {"lr": lr})
        self.held = [p for group in self.param_groups for p in group["params"]]
        self.means, self.drifts, self.powers, self.lasts = ([torch.zeros_like(p) for p in self.held] for _ in range(4))
        self.at_once, self.lr = at_once, lr

    @torch.no_grad()
    def step(self, closure=None):
        grads = [p.grad for p in self.held]
        if self.at_once:
            changes = torch._foreach_sub(grads, self.lasts)
            torch._foreach_lerp_(self.means, grads, 0.02)
            torch._foreach_lerp_(self.drifts, changes, 0.08)
            aheads = torch._foreach_add(grads, changes, alpha=0.92)
            torch._foreach_mul_(self.powers, 0.99)
            torch._foreach_addcmul_(self.powers, aheads, aheads, value=0.01)
            roots = torch._foreach_sqrt(self.powers)
            torch._foreach_add_(roots, 1e-8)
            moves = torch._foreach_add(self.means, self.drifts, alpha=0.92)
            torch._foreach_addcdiv_(self.held, moves, roots, value=-self.lr)
            torch._foreach_copy_(self.lasts, grads)
            return
        for p, grad, mean, drift, power, last in zip(self.held, grads, self.means, self.drifts, self.powers,
                                                     self.lasts):
            change = grad - last
            mean.lerp_(grad, 0.02)
            drift.lerp_(change, 0.08)
            ahead = grad.add(change, alpha=0.92)
            power.mul_(0.99).addcmul_(ahead, ahead, value=0.01)
            p.addcdiv_(mean.add(drift, alpha=0.92), power.sqrt().add_(1e-8), value=-self.lr)
            last.copy_(grad)
