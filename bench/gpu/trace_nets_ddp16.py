"""The networks and data sets of trace_cases_ddp16.py that no library has."""
import collections
import random

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own

GPU = "cuda"
PAIRS = str.maketrans("ACGT", "TGCA")


# --- weather and sea -------------------------------------------------------------------------------------------------

class Forecaster(nn.Module):
    """Tomorrow's weather from today's; both are told as differences from what is usual on that day of the year."""

    def __init__(self, days=366, fields=24, rows=180, columns=360, patch=10, dim=1536, layers=6, heads=24):
        super().__init__()
        self.patch, self.rows, inside = patch, rows // patch, fields * patch * patch
        self.register_buffer("usual", torch.randn(days, fields, rows, columns))
        self.inlet, self.outlet = nn.Linear(inside, dim), nn.Linear(dim, inside)
        self.positions = nn.Parameter(torch.zeros(1, (rows // patch) * (columns // patch), dim))
        self.blocks = nn.Sequential(*(own.Block(dim, heads, causal=False) for _ in range(layers)))
        self.norm = nn.LayerNorm(dim)

    def forward(self, today, day):
        usual = self.usual[day]
        x = F.pixel_unshuffle(today - usual, self.patch).flatten(2).transpose(1, 2)
        x = self.outlet(self.norm(self.blocks(self.inlet(x) + self.positions)))
        x = x.transpose(1, 2).unflatten(2, (self.rows, -1))
        return usual + F.pixel_shuffle(x, self.patch)


class Ocean(nn.Module):
    """The currents of the next hour, from those of this hour and from what stays: depth, coasts, lengths of edges."""

    def __init__(self, moving=6, still=12, width=64, layers=6):
        super().__init__()
        self.inlet = nn.Conv2d(moving + still, width, 3, padding=1)
        self.layers = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(layers))
        self.outlet = nn.Conv2d(width, moving, 3, padding=1)

    def forward(self, x, still):
        x = self.inlet(torch.cat([x, still], dim=1))
        for layer in self.layers:
            x = x + F.relu(layer(x))
        return self.outlet(x)


class Flames:
    """Sixteen gases burn on a grid cut into an upper and a lower half, one a rank; the rows at the cut are sent to the
    other rank before each small step of time. `together`: those of all gases at once."""

    def __init__(self, together, gases=16, rows=768, columns=4096, hidden=64):
        self.together, self.rank = together, dist.get_rank()
        with torch.device(GPU):
            self.gas = torch.rand(1, gases, rows + 2, columns).bfloat16()
            self.spread = (0.05 * torch.randn(hidden, gases, 3, 3)).bfloat16()
            self.burn = (0.05 * torch.randn(gases, hidden, 1, 1)).bfloat16()
        self.edge, self.beyond = (-2, -1) if self.rank == 0 else (1, 0)

    def swap(self, sent, received):
        other = 1 - self.rank
        pair = [dist.P2POp(dist.isend, sent, other), dist.P2POp(dist.irecv, received, other)]
        for work in dist.batch_isend_irecv(pair):
            work.wait()

    def exchange(self):
        gas = self.gas[0]
        if self.together:
            sent = gas[:, self.edge].contiguous()
            received = torch.empty_like(sent)
            self.swap(sent, received)
            gas[:, self.beyond] = received
            return
        for one in gas:
            self.swap(one[self.edge], one[self.beyond])

    def advance(self, times):
        for _ in range(times):
            self.exchange()
            change = F.conv2d(F.relu_(F.conv2d(self.gas, self.spread, padding=(0, 1))), self.burn)
            self.gas[:, :, 1:-1].add_(change, alpha=0.001)


# --- hearts ----------------------------------------------------------------------------------------------------------

class BeatBlock(nn.Module):
    def __init__(self, inputs, outputs, stride, size=7):
        super().__init__()
        self.conv1 = nn.Conv1d(inputs, outputs, size, stride, size // 2, bias=False)
        self.conv2 = nn.Conv1d(outputs, outputs, size, 1, size // 2, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm1d(outputs), nn.BatchNorm1d(outputs)
        self.skip = nn.Identity()
        if stride > 1 or inputs != outputs:
            self.skip = nn.Sequential(nn.Conv1d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm1d(outputs))

    def forward(self, x):
        h = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        return F.relu(h + self.skip(x))


class Beats(nn.Module):
    """What ails a heart, from twelve leads."""

    def __init__(self, leads=12, width=128, stages=4, each=4, kinds=26):
        super().__init__()
        self.inlet = nn.Sequential(nn.Conv1d(leads, width, 15, 4, 7, bias=False), nn.BatchNorm1d(width), nn.ReLU())
        blocks, inputs = [], width
        for stage in range(stages):
            outputs = width << stage
            for index in range(each):
                blocks.append(BeatBlock(inputs, outputs, 2 if stage and index == 0 else 1))
                inputs = outputs
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(inputs, kinds)

    def forward(self, x):
        return self.head(self.blocks(self.inlet(x)).mean(2))


# --- graphs ----------------------------------------------------------------------------------------------------------

class FromAll(torch.autograd.Function):
    """Rows of all ranks; backward, each rank gets the sum of what all ranks have for its rows."""

    @staticmethod
    def forward(_, rows):
        everything = rows.new_empty(dist.get_world_size() * len(rows), *rows.shape[1:])
        dist.all_gather_into_tensor(everything, rows.contiguous())
        return everything

    @staticmethod
    def backward(_, gradients):
        rows = gradients.new_empty(len(gradients) // dist.get_world_size(), *gradients.shape[1:])
        dist.reduce_scatter_tensor(rows, gradients.contiguous())
        return rows


class CitedLayer(nn.Module):
    """A paper hears from those that it cites; `short`: what they say is worked out before it is sent."""

    def __init__(self, dim, said, short):
        super().__init__()
        self.short, self.say = short, nn.Linear(dim, said)
        self.own, self.heard = nn.Linear(dim, dim), nn.Linear(said, dim)

    def forward(self, x, cited):
        said = FromAll.apply(self.say(x)) if self.short else self.say(FromAll.apply(x))
        heard = said.float().index_select(0, cited.flatten()).unflatten(0, cited.shape).mean(1)
        return F.relu(self.own(x) + self.heard(heard))


class Cited(nn.Module):
    """The field of each paper; each rank has one half of them."""

    def __init__(self, short, numbers=256, dim=1024, said=128, layers=3, fields=40):
        super().__init__()
        self.inlet, self.head = nn.Linear(numbers, dim), nn.Linear(dim, fields)
        self.layers = nn.ModuleList(CitedLayer(dim, said, short) for _ in range(layers))

    def forward(self, x, cited):
        x = self.inlet(x)
        for layer in self.layers:
            x = layer(x, cited)
        return self.head(x)


class Followers(nn.Module):
    """What interests somebody, from his followers."""

    def __init__(self, numbers=512, dim=1024, kinds=64):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(numbers, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.weight, self.head = nn.Linear(dim, 1), nn.Linear(dim, kinds)

    def forward(self, x):
        x = self.third(F.relu(self.second(F.relu(self.first(x)))))
        shares = self.weight(x).float().softmax(1).to(x.dtype)
        return self.head((shares.transpose(1, 2) @ x).squeeze(1))


class Crystals(nn.Module):
    """A number for each crystal, from its atoms and their neighbours; `at_once`: all crystals' means together."""

    def __init__(self, at_once, dim=384, layers=5, elements=100, numbers=64):
        super().__init__()
        self.at_once, self.atoms = at_once, nn.Embedding(elements, dim)
        self.own, self.other, self.bond = (nn.ModuleList(nn.Linear(inputs, 2 * dim) for _ in range(layers))
                                           for inputs in (dim, dim, numbers))
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 1))

    def means(self, x, crystal, count):
        if self.at_once:
            sums = x.new_zeros(count, x.shape[1]).index_add(0, crystal, x)
            return sums / torch.zeros(count, device=x.device).index_add(0, crystal, x.new_ones(len(x)))[:, None]
        return torch.stack([x[crystal == index].mean(0) for index in range(count)])

    def forward(self, elements, near, bonds, crystal, count):
        x = self.atoms(elements)
        for own_part, other, bond in zip(self.own, self.other, self.bond):
            there = other(x).index_select(0, near.flatten()).unflatten(0, near.shape)
            gate, value = (own_part(x)[:, None] + there + bond(bonds)).chunk(2, dim=-1)
            x = x + (torch.sigmoid(gate) * F.silu(value)).sum(1).float()
        return self.head(self.means(x, crystal, count)).squeeze(1)


def crystals(count, atoms, neighbours=12, numbers=64):
    """Elements, neighbours, bonds and the crystal of each atom, and the wanted numbers."""
    all_atoms = count * atoms
    first = torch.arange(count).repeat_interleave(atoms)[:, None] * atoms
    near = first + torch.randint(0, atoms, (all_atoms, neighbours))
    crystal = torch.arange(count).repeat_interleave(atoms)
    return (torch.randint(0, 100, (all_atoms,)), near, torch.rand(all_atoms, neighbours, numbers), crystal,
            torch.randn(count))


class Forces(nn.Module):
    """Energy of the atoms at some places, of whose pairs this rank has some."""

    def __init__(self, waves=64, width=512, out=128):
        super().__init__()
        self.register_buffer("centres", torch.linspace(0, 6, waves))
        self.pairs = nn.Sequential(nn.Linear(waves, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                                   nn.Linear(width, out))
        self.atoms = nn.Sequential(nn.Linear(out, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, places, one, other):
        apart = (places.index_select(0, one) - places.index_select(0, other)).square().sum(1).add(1e-6).sqrt()
        pairs = self.pairs(torch.exp(-(apart[:, None] - self.centres).square()))
        around = torch.zeros(len(places), pairs.shape[1], device=places.device).index_add(0, one, pairs.float())
        return self.atoms(around).float().sum()


# --- texts and genes -------------------------------------------------------------------------------------------------

class Sentences(nn.Module):
    """A vector for a sentence."""

    def __init__(self, vocab=16384, dim=1024, layers=12, heads=16, length=96):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(1, length, dim))
        self.blocks = nn.Sequential(*(own.Block(dim, heads, causal=False) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, dim)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.words(ids) + self.positions)).mean(1))


class Adapted(nn.Module):
    """A frozen layer with two thin ones beside it that learn."""

    def __init__(self, layer, rank=16):
        super().__init__()
        self.layer = layer
        self.down = nn.Linear(layer.in_features, rank, bias=False)
        self.up = nn.Linear(rank, layer.out_features, bias=False)

    def forward(self, x):
        return self.layer(x) + self.up(self.down(x))


def adapted(model):
    """The decoder in bf16, of which only what stands beside its attention's layers learns."""
    model.bfloat16().requires_grad_(False)
    for block in model.blocks:
        block.qkv, block.out = Adapted(block.qkv).bfloat16(), Adapted(block.out).bfloat16()
    for name, weight in model.named_parameters():
        weight.requires_grad_(name.endswith(("down.weight", "up.weight")) and (".qkv." in name or ".out." in name))
    return model


class Genes(Dataset):
    """A stretch of a genome, a few letters changed, in words of six; and how often shorter ones are in its strands."""

    def __init__(self, letters=1500):
        dice = random.Random(3)
        self.genome, self.letters = "".join(dice.choices("ACGT", k=200_000)), letters
        self.numbers = {"": 0}
        for size in range(1, 7):
            words = [word for word in self.numbers if len(word) == size - 1]
            self.numbers.update({word + letter: 4 * self.numbers[word] + at for word in words
                                 for at, letter in enumerate("ACGT")})

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        dice = random.Random(index)
        begin = dice.randrange(200_000 - self.letters)
        text = "".join(dice.choice("ACGT") if dice.random() < 0.02 else letter
                       for letter in self.genome[begin:begin + self.letters])
        counts, profile = collections.Counter(), [0.0] * 1024
        for strand in (text, text.translate(PAIRS)[::-1]):
            for size in (3, 4, 5):
                for at in range(self.letters - size + 1):
                    counts[strand[at:at + size]] += 1
        for word, count in counts.items():
            profile[self.numbers[word] * 4 ** (5 - len(word))] += count
        ids = [self.numbers[text[at:at + 6]] for at in range(0, self.letters - 5, 3)]
        return torch.tensor(ids), torch.tensor(profile), index % 50


class Reader(nn.Module):
    """What a stretch of a genome does, from its words and their counts."""

    def __init__(self, dim=1024, layers=5, heads=16, length=499, kinds=50):
        super().__init__()
        self.words, self.positions = nn.Embedding(4096, dim), nn.Parameter(torch.zeros(1, length, dim))
        self.counts, self.norm, self.head = nn.Linear(1024, dim), nn.LayerNorm(dim), nn.Linear(dim, kinds)
        self.blocks = nn.Sequential(*(own.Block(dim, heads, causal=False) for _ in range(layers)))

    def forward(self, ids, profile):
        x = self.words(ids) + self.positions + self.counts(profile)[:, None]
        return self.head(self.norm(self.blocks(x)).mean(1))


# --- recommenders ----------------------------------------------------------------------------------------------------

class Viewers(nn.Module):
    """A vector for somebody from the vectors of the films that he saw, to be compared with those of other films."""

    def __init__(self, dim=512, layers=3, heads=8, length=64):
        super().__init__()
        self.positions, self.norm = nn.Parameter(torch.zeros(1, length, dim)), nn.LayerNorm(dim)
        self.blocks = nn.Sequential(*(own.Block(dim, heads) for _ in range(layers)))

    def forward(self, films):
        return self.norm(self.blocks(films + self.positions))[:, -1]


class FilmFinder:
    """Films of the two million that a viewer's vector is closest to."""

    def __init__(self, films=2_000_000, dim=512, found=32):
        self.films, self.found = torch.randn(films, dim, device=GPU, dtype=torch.bfloat16), found

    @torch.no_grad()
    def closest(self, viewers):
        return torch.cat([(part @ self.films.T).topk(self.found, dim=1).indices for part in viewers.split(256)])

    @torch.no_grad()
    def closest_of_rank0(self, viewers):
        """Rank 0 looks for all viewers, and tells the others."""
        count, ranks = len(viewers), dist.get_world_size()
        everybody = viewers.new_empty(ranks * count, viewers.shape[1])
        dist.all_gather_into_tensor(everybody, viewers.contiguous())
        ids = torch.empty(ranks * count, self.found, dtype=torch.long, device=GPU)
        if dist.get_rank() == 0:
            ids = self.closest(everybody).contiguous()
        dist.broadcast(ids, 0)
        return ids.chunk(ranks)[dist.get_rank()]


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


class Crossed(nn.Module):
    """Deep and cross network over what is known about an offer and about who sees it."""

    def __init__(self, fields=40, rows=20000, dim=64, crosses=4, width=4096):
        super().__init__()
        inside = fields * dim
        self.table = nn.Embedding(fields * rows, dim)
        self.crosses = nn.ModuleList(nn.Linear(inside, inside) for _ in range(crosses))
        self.deep = nn.Sequential(nn.Linear(inside, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                  nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(inside + width, 1)

    def forward(self, known):
        first = self.table(known).flatten(1)
        x = first
        for cross in self.crosses:
            x = torch.addcmul(x, first.to(x.dtype), cross(x).to(x.dtype))
        return self.head(torch.cat([x, self.deep(first).to(x.dtype)], dim=1)).squeeze(1)
