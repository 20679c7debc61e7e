"""What trace_cases_ddp20.py needs for diffusion, experts, shops and columns of tables and no library has."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

import trace_models as own
from trace_nets_ddp18 import gathered

GPU = "cuda"


# --- diffusion -------------------------------------------------------------------------------------------------------

class DrawingLayer(nn.Module):
    """A layer of a diffusion transformer; `ranks`: over so many its heads and hidden units are cut."""

    def __init__(self, dim, heads, ranks):
        super().__init__()
        self.heads, self.cut, inside = heads // ranks, ranks > 1, dim // ranks
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * inside), nn.Linear(inside, dim, bias=False)
        self.up, self.down = nn.Linear(dim, 4 * inside), nn.Linear(4 * inside, dim, bias=False)

    def whole(self, part):
        if self.cut:
            dist.all_reduce(part)
        return part

    def forward(self, x):
        parts = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = x + self.whole(self.out(mixed))
        return x + self.whole(self.down(F.gelu(self.up(self.norm2(x)))))


class Drawing(nn.Module):
    """What to take away from a noisy drawing, of which pieces are given, for what is asked for."""

    def __init__(self, dim, layers, heads, pieces, numbers=64, ranks=1):
        super().__init__()
        self.inlet, self.outlet = nn.Linear(numbers, dim), nn.Linear(dim, numbers)
        self.asked, self.level = nn.Linear(512, dim), nn.Linear(1, dim)
        self.positions = nn.Parameter(torch.zeros(1, pieces, dim))
        self.layers = nn.ModuleList(DrawingLayer(dim, heads, ranks) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, level, asked):
        x = self.inlet(x) + self.positions + (self.asked(asked) + self.level(level))[:, None]
        for layer in self.layers:
            x = layer(x)
        return self.outlet(self.norm(x))


class Guided:
    """Drawings with guidance: what is asked for counts more than what would be drawn without being asked. `branches`:
    each rank computes one of the two, else each computes its part of the layers for both."""

    def __init__(self, branches, count=12, pieces=1024, dim=768, layers=16, heads=12, levels=2):
        self.branches, self.levels, self.rank = branches, levels, dist.get_rank()
        with torch.device(GPU):
            ranks = 1 if branches else dist.get_world_size()
            self.network = Drawing(dim, layers, heads, pieces, ranks=ranks).bfloat16().requires_grad_(False)
            self.noise = torch.randn(count, pieces, 64, dtype=torch.bfloat16)
            self.asked = torch.randn(2, count, 512, dtype=torch.bfloat16)
            self.level = torch.linspace(1, 0, levels, dtype=torch.bfloat16)[:, None, None].expand(-1, count, 1)

    def told(self, x, level):
        if self.branches:
            return gathered(self.network(x, level, self.asked[self.rank])).chunk(2)
        return self.network(torch.cat([x, x]), torch.cat([level, level]), self.asked.flatten(0, 1)).chunk(2)

    def run(self):
        x = self.noise
        for level in self.level:
            asked, free = self.told(x, level)
            x = x - (free + 4.0 * (asked - free)) / self.levels
        return x


# --- experts ---------------------------------------------------------------------------------------------------------

class HashedExperts:
    """Layers of 16 small experts, eight on each rank; eight of them, four a rank, see a word, chosen by its hash.
    `once`: a word is sent to a rank once, and what its experts there say is summed before it is sent back; else it is
    sent to, and back from, each expert."""

    def __init__(self, once, words=16384, dim=2048, hidden=512, layers=4, here=8):
        self.once, self.words, self.dim, self.here = once, words, dim, here
        pairs, rank = here // 2, dist.get_rank()
        dice = torch.Generator().manual_seed(20)  # the same hash on both ranks
        order = torch.stack([torch.stack([torch.randperm(words, generator=dice) for _ in range(2 * pairs)])
                             for _ in range(2)])  # sender, pair, place -> word; the first half goes to the first expert
        place = order.argsort(dim=2)              # sender, pair, word -> place
        rows = torch.arange(2 * pairs)[:, None] * words
        mine = slice(rank * pairs, (rank + 1) * pairs)
        if once:
            sender = torch.arange(2)[:, None, None]
            self.take = (order[:, mine] + sender * words).flatten().to(GPU)
            back = place[:, mine] + rows[:pairs] + sender * pairs * words
            self.give = back.transpose(1, 2).flatten(0, 1).contiguous().to(GPU)
        else:
            self.take = order[rank].flatten().to(GPU)
            self.give = (place[rank] + rows).T.contiguous().to(GPU)
        with torch.device(GPU):
            self.x = torch.randn(words, dim).bfloat16()
            self.weights = [((0.02 * torch.randn(here, dim, hidden)).bfloat16(),
                             (0.02 * torch.randn(here, hidden, dim)).bfloat16()) for _ in range(layers)]

    def experts(self, rows, up, down):
        """Rows: those of sender 0 for each expert here in turn, then those of sender 1."""
        rows = rows.view(2, self.here, self.words // 2, self.dim)
        return (F.gelu(rows @ up) @ down).view(-1, self.dim)

    def layer(self, x, up, down):
        if self.once:
            said = self.experts(gathered(x).index_select(0, self.take), up, down)
            both = F.embedding_bag(self.give, said, mode="sum")
            out = torch.empty_like(x)
            dist.reduce_scatter_tensor(out, both)
            return out
        going = x.index_select(0, self.take)
        there = torch.empty_like(going)
        dist.all_to_all_single(there, going)
        said = self.experts(there, up, down)
        back = torch.empty_like(said)
        dist.all_to_all_single(back, said)
        return F.embedding_bag(self.give, back, mode="sum")

    def run(self):
        x = self.x
        for up, down in self.weights:
            x = x + self.layer(F.layer_norm(x, (self.dim,)), up, down)
        return x


# --- shops -----------------------------------------------------------------------------------------------------------

class Visitors:
    """What visitors want next, from the 64 articles that they looked at. Each rank has one half of the articles' table.
    `rows`: only what was looked at is exchanged, else the whole table."""

    def __init__(self, rows, visitors=2048, looked=64, articles=2_000_000, dim=256, layers=2):
        self.rows, self.articles, self.first = rows, articles, dist.get_rank() * articles
        with torch.device(GPU):
            self.table = torch.randn(articles + 1, dim, dtype=torch.bfloat16)
            self.table[-1] = 0  # of an article that the other rank has
            self.blocks = nn.Sequential(*(own.Block(dim, 4) for _ in range(layers))).bfloat16().requires_grad_(False)
            self.ids = torch.randint(0, 2 * articles, (visitors, looked))

    def looked_up(self):
        if not self.rows:
            return F.embedding(self.ids, gathered(self.table[:self.articles]))
        ids = gathered(self.ids) - self.first
        known = (ids >= 0) & (ids < self.articles)
        found = F.embedding(ids.masked_fill(~known, self.articles), self.table)
        mine = found.new_empty(*self.ids.shape, found.shape[-1])
        dist.reduce_scatter_tensor(mine, found)
        return mine

    def run(self):
        return self.blocks(self.looked_up())[:, -1]


class Shoppers(nn.Module):
    """The next purchase, from those before."""

    def __init__(self, articles=20000, dim=768, layers=8, heads=12, length=1024):
        super().__init__()
        self.articles, self.positions = nn.Embedding(articles, dim), nn.Parameter(torch.zeros(1, length, dim))
        self.blocks = nn.Sequential(*(own.Block(dim, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(dim)

    def forward(self, ids, others):
        """Scores of what is bought next (first) and of a thousand other articles."""
        x = self.articles(ids)
        said = self.norm(self.blocks(x[:, :-1] + self.positions[:, :ids.shape[1] - 1]))
        bought = (said * x[:, 1:]).sum(2, keepdim=True)
        return torch.cat([bought, said @ self.articles(others).T], dim=2)


# --- columns of tables -----------------------------------------------------------------------------------------------

class ColumnByColumn(nn.Module):
    """An additive model: each column has a network, what they say is summed. One after another."""

    def __init__(self, columns=32, width=512):
        super().__init__()
        self.networks = nn.ModuleList(nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                                    nn.Linear(width, 1)) for _ in range(columns))

    def forward(self, x):
        return torch.cat([network(x[:, at:at + 1]) for at, network in enumerate(self.networks)], dim=1).sum(1)


class AllColumns(nn.Module):
    """The same, all columns in each product."""

    def __init__(self, columns=32, width=512):
        super().__init__()
        sizes = [(1, width), (width, width), (width, 1)]
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(columns, a, b) / a ** 0.5) for a, b in sizes)
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(columns, 1, b)) for _, b in sizes)

    def forward(self, x):
        h = x.T.unsqueeze(2)
        for at, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            h = torch.baddbmm(bias, F.relu(h) if at else h, weight)
        return h.squeeze(2).sum(0)
