"""A seventh set of cases for record_traces.py --cases trace_cases_blind5: molecules, tables, proteins, retrieval, point
clouds, policies, forecasts and adapters, each with one flaw; written by somebody who did not know the analysis."""
import functools
import itertools
import math
import random
import zlib

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

from trace_cases import (GPU, UNCACHED, WORKERS, Prefetched, adamw, amp, captured, case_list, channels_last, classify,
                         graph_if, inference, loaded, next_token, resident, tf32, training)
from trace_cases_blind import BlindCase
from trace_cases_blind4 import join_heads, mixed_by_cause, split_heads

FOUND, case = case_list(BlindCase)


# --- networks --------------------------------------------------------------------------------------------------------

class Unit(nn.Module):
    """Attention and a gated feed-forward part; `written`: softmax(QK)V in three operations."""

    def __init__(self, dim, heads, causal=False, written=False, linear=nn.Linear):
        super().__init__()
        hidden = 8 * dim // 3 // 64 * 64
        self.heads, self.causal, self.written = heads, causal, written
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = linear(dim, 3 * dim, bias=False), linear(dim, dim, bias=False)
        self.up, self.down = linear(dim, 2 * hidden, bias=False), linear(hidden, dim, bias=False)

    def project(self, x):
        return (split_heads(part, self.heads) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))

    def attend(self, q, k, v, mask=None):
        if not self.written:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal and mask is None)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores + mask
        return torch.softmax(scores.float(), dim=-1).to(v.dtype) @ v

    def feed(self, x):
        gate, value = self.up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * value)

    def forward(self, x, mask=None):
        return self.feed(x + self.proj(join_heads(self.attend(*self.project(x), mask))))


class Chat(nn.Module):
    """A language model; a mask given to it says what is seen, too."""

    def __init__(self, vocab, dim, depth, heads, **unit):
        super().__init__()
        self.words = nn.Embedding(vocab, dim)
        self.units = nn.ModuleList(Unit(dim, heads, causal=True, **unit) for _ in range(depth))
        self.final, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)

    def hidden(self, ids, mask=None):
        x = self.words(ids)
        for unit in self.units:
            x = unit(x, mask)
        return self.final(x)

    def forward(self, ids, mask=None):
        return self.head(self.hidden(ids, mask))


class Sentences(nn.Module):
    def __init__(self, vocab, dim, depth, heads, length):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab, dim), nn.Parameter(torch.randn(length, dim) * 0.02)
        self.units = nn.ModuleList(Unit(dim, heads) for _ in range(depth))
        self.final = nn.LayerNorm(dim)

    def forward(self, ids, mask=None):
        x = self.words(ids) + self.positions[: ids.shape[1]]
        for unit in self.units:
            x = unit(x, mask)
        return self.final(x)


class ProteinLm(nn.Module):
    def __init__(self, dim, depth, heads, length):
        super().__init__()
        self.body, self.head = Sentences(24, dim, depth, heads, length), nn.Linear(dim, 24)

    def forward(self, ids):
        return self.head(self.body(ids))


class Gin(nn.Module):
    """Adds up the neighbours of every atom; one number a molecule."""

    def __init__(self, dim, depth):
        super().__init__()
        self.atoms, self.head = nn.Embedding(64, dim), nn.Linear(dim, 1)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
                                    for _ in range(depth))

    def forward(self, kinds, source, target, owner, count):
        x = self.atoms(kinds)
        for layer in self.layers:
            x = x + layer(x.index_add(0, target, x[source])).to(x.dtype)
        pooled = torch.zeros(count, x.shape[1], device=x.device).index_add(0, owner, x)
        return self.head(pooled)[:, 0]


class FtTransformer(nn.Module):
    """A table's row as a sequence: one token a column."""

    def __init__(self, numbers, kinds, dim, depth, heads, size=1000):
        super().__init__()
        self.scale, self.shift = (nn.Parameter(torch.randn(numbers, dim) * 0.1) for _ in range(2))
        self.table = nn.Embedding(kinds * size, dim)
        self.register_buffer("first", torch.arange(kinds) * size)
        self.units = nn.ModuleList(Unit(dim, heads) for _ in range(depth))
        self.final, self.head = nn.LayerNorm(dim), nn.Linear(dim, 1)

    def forward(self, numbers, kinds):
        x = torch.cat([numbers[..., None] * self.scale + self.shift, self.table(kinds + self.first)], dim=1)
        for unit in self.units:
            x = unit(x)
        return self.head(self.final(x.mean(1)))[:, 0]


def row_loss(model, numbers, kinds, label):
    return F.binary_cross_entropy_with_logits(model(numbers, kinds).float(), label.float())


class Uvit(nn.Module):
    """Denoises tokens; the later units also see what the earlier ones gave."""

    def __init__(self, dim, depth, heads, tokens=256, width=16):
        super().__init__()
        self.inlet, self.outlet = nn.Linear(width, dim), nn.Linear(dim, width)
        self.positions = nn.Parameter(torch.randn(tokens, dim) * 0.02)
        self.time = nn.Sequential(nn.Linear(1, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.first, self.second = (nn.ModuleList(Unit(dim, heads) for _ in range(depth // 2)) for _ in range(2))
        self.joins = nn.ModuleList(nn.Linear(2 * dim, dim) for _ in range(depth // 2))

    def forward(self, x, t):
        h, kept = self.inlet(x) + self.positions + self.time(t[:, None])[:, None], []
        for unit in self.first:
            h = unit(h)
            kept.append(h)
        for unit, join in zip(self.second, self.joins):
            h = unit(join(torch.cat([h, kept.pop()], dim=-1)))
        return self.outlet(h)


def noise_loss(model, x, t, noise):
    return F.mse_loss(model(torch.lerp(x, noise, t[:, None, None]), t).float(), noise - x)


def noisy_tokens(batch, tokens=256, width=16):
    return torch.randn(batch, tokens, width), torch.rand(batch), torch.randn(batch, tokens, width)


class VideoVit(nn.Module):
    """Attends over all 2x16x16 patches of a clip at once."""

    def __init__(self, dim, depth, heads, frames=16, size=224, written=False):
        super().__init__()
        count = frames // 2 * (size // 16) ** 2
        self.embed, self.positions = nn.Linear(1536, dim), nn.Parameter(torch.randn(count, dim) * 0.02)
        self.units = nn.ModuleList(Unit(dim, heads, written=written) for _ in range(depth))
        self.final, self.head = nn.LayerNorm(dim), nn.Linear(dim, 400)

    def forward(self, x):
        x = x.unflatten(4, (-1, 16)).unflatten(3, (-1, 16)).unflatten(2, (-1, 2))
        x = self.embed(x.permute(0, 2, 4, 6, 1, 3, 5, 7).flatten(4).flatten(1, 3)) + self.positions
        for unit in self.units:
            x = unit(x)
        return self.head(self.final(x.mean(1)))


class Pillars(nn.Module):
    """Points of a laser scanner to a map of cells, each with the largest features of its points; then convolutions."""

    def __init__(self, size, width=64):
        super().__init__()
        self.size, self.points = size, nn.Linear(4, width)
        layers = []
        for a, b in ((width, 128), (128, 128), (128, 192), (192, 192)):
            layers += [nn.Conv2d(a, b, 3, padding=1), nn.ReLU(True)]
        self.backbone = nn.Sequential(*layers, nn.Conv2d(192, 16, 1))

    def cells(self, points):
        at = ((points[..., :2] + 50) * (self.size / 100)).long().clamp_(0, self.size - 1)
        return at[..., 0] * self.size + at[..., 1]

    @staticmethod
    def inside(points):
        return (points[..., :2].abs() < 50).all(-1)

    def one_by_one(self, clouds):
        maps = []
        for points in clouds:
            points = points[self.inside(points)]
            cells, owner = torch.unique(self.cells(points), return_inverse=True)
            h = F.relu(self.points(points))
            pooled = h.new_zeros(len(cells), h.shape[1])
            pooled.scatter_reduce_(0, owner[:, None].expand_as(h), h, "amax")
            canvas = h.new_zeros(self.size**2, h.shape[1])
            canvas[cells] = pooled
            maps.append(canvas)
        return torch.stack(maps)

    def together(self, clouds):
        cells, all_cells = self.size**2, clouds.shape[0] * self.size**2
        at = self.cells(clouds) + cells * torch.arange(clouds.shape[0], device=clouds.device)[:, None]
        at = torch.where(self.inside(clouds), at, all_cells).flatten()
        h = F.relu(self.points(clouds)).flatten(0, 1)
        canvas = h.new_zeros(all_cells + 1, h.shape[1])
        canvas.scatter_reduce_(0, at[:, None].expand_as(h), h, "amax")
        return canvas[:-1].view(clouds.shape[0], cells, -1)

    def find(self, maps):
        with amp():
            return self.backbone(maps.unflatten(1, (self.size, self.size)).permute(0, 3, 1, 2))


class Tcn(nn.Module):
    """Residual pairs of dilated convolutions over time."""

    def __init__(self, width, depth, inputs=8):
        super().__init__()
        self.inlet, self.outlet = nn.Conv1d(inputs, width, 1), nn.Conv1d(width, inputs, 1)
        self.norms = nn.ModuleList(nn.GroupNorm(8, width) for _ in range(depth))
        self.convs = nn.ModuleList(nn.ModuleList(nn.Conv1d(width, width, 3, padding=2 ** (i % 6), dilation=2 ** (i % 6))
                                                 for _ in range(2)) for i in range(depth))

    def forward(self, x):
        x = self.inlet(x)
        for norm, (first, second) in zip(self.norms, self.convs):
            x = x + second(F.relu(first(F.relu(norm(x)))))
        return self.outlet(x)


class Additive(nn.Module):
    """A small network of its own for every feature; their sum is the answer."""

    def __init__(self, features, width):
        super().__init__()
        self.nets = nn.ModuleList(nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                                nn.Linear(width, 1)) for _ in range(features))

    def forward(self, x):
        return torch.cat([net(x[:, i:i + 1]) for i, net in enumerate(self.nets)], dim=1).sum(1)


class AdditiveBatched(nn.Module):
    """The same, with a batched product a layer."""

    def __init__(self, features, width):
        super().__init__()
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(features, a, b) / math.sqrt(a))
                                        for a, b in ((1, width), (width, width), (width, 1)))
        self.biases = nn.ParameterList(nn.Parameter(torch.zeros(features, 1, b)) for b in (width, width, 1))

    def forward(self, x):
        h = x.T[..., None]
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases)):
            h = torch.baddbmm(bias, h if index == 0 else F.relu(h), weight)
        return h.sum((0, 2))


class LoraLinear(nn.Module):
    """A frozen matrix and a trained one of low rank."""

    def __init__(self, inputs, outputs, bias=False, rank=16):
        super().__init__()
        self.base = nn.Linear(inputs, outputs, bias=bias)
        self.low, self.high = nn.Linear(inputs, rank, bias=False), nn.Linear(rank, outputs, bias=False)

    def forward(self, x):
        return self.base(x) + self.high(self.low(x)) * 2.0


def adapted(vocab, dim, depth, heads):
    """A language model of which only the adapters are trained, and their parameters."""
    with torch.device(GPU):
        model = Chat(vocab, dim, depth, heads, linear=LoraLinear).bfloat16()
    for name, p in model.named_parameters():
        p.requires_grad_(".low." in name or ".high." in name)
    return model, [p for p in model.parameters() if p.requires_grad]


class Int8Linear(nn.Module):
    """Weights of one byte, with a scale and a zero point a row; `dtype` is what they are turned into."""

    def __init__(self, inputs, outputs, bias=False, dtype=torch.bfloat16):
        super().__init__()
        self.dtype, self.ready = dtype, None
        self.register_buffer("weight", torch.randint(-127, 128, (outputs, inputs), dtype=torch.int8, device=GPU))
        self.register_buffer("zero", torch.zeros(outputs, 1, device=GPU))
        self.register_buffer("scale", torch.full((outputs, 1), 0.0137 / math.sqrt(inputs), device=GPU))

    def opened(self):
        return (self.weight.to(self.dtype) - self.zero.to(self.dtype)) * self.scale.to(self.dtype)

    def forward(self, x):
        return F.linear(x.to(self.dtype), self.opened()).to(x.dtype)


class OpenedInt8(Int8Linear):
    """Multiplies in the type of the input; opens the weights in every call, or once."""

    def __init__(self, inputs, outputs, once):
        super().__init__(inputs, outputs, dtype=torch.float32)
        self.ready = self.opened().bfloat16() if once else None

    def forward(self, x):
        return F.linear(x, self.opened().to(x.dtype) if self.ready is None else self.ready)


class QuantizedFeed(nn.Module):
    def __init__(self, dim, hidden, once):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up, self.down = OpenedInt8(dim, 2 * hidden, once), OpenedInt8(hidden, dim, once)

    def forward(self, x):
        gate, value = self.up(self.norm(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * value)


class DeepOnet(nn.Module):
    """Learns an operator: one network reads a function's samples, one the places; their products are the values."""

    def __init__(self, width, depth, sensors=256):
        super().__init__()
        def mlp(inputs):
            layers = [nn.Linear(inputs, width)]
            for _ in range(depth):
                layers += [nn.GELU(), nn.Linear(width, width)]
            return nn.Sequential(*layers)
        self.branch, self.trunk = mlp(sensors), mlp(2)

    def forward(self, samples, places):
        return self.branch(samples) @ self.trunk(places).T


def operator_loss(model, samples, places, values):
    return F.mse_loss(model(samples, places), values)


class CloudAutoencoder(nn.Module):
    def __init__(self, points):
        super().__init__()
        self.points = nn.Sequential(nn.Linear(3, 128), nn.ReLU(), nn.Linear(128, 512))
        self.decoder = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 3 * points))

    def forward(self, x):
        return self.decoder(self.points(x).amax(1)).view_as(x)


class Decomposed(nn.Module):
    """Forecasts a smoothed series and what is left of it by one matrix each; `windows`: smooths copies of windows."""

    def __init__(self, length, ahead, spans, windows):
        super().__init__()
        self.trend, self.rest = nn.Linear(length, ahead), nn.Linear(length, ahead)
        self.spans, self.windows = spans, windows
        for span in spans:
            bell = torch.exp(-torch.linspace(-2, 2, span) ** 2)
            self.register_buffer(f"bell{span}", bell / bell.sum())

    def smooth(self, x, span):
        bell = getattr(self, f"bell{span}")
        x = F.pad(x, (span // 2, span // 2), mode="replicate")
        if self.windows:
            return (x.unfold(-1, span, 1) * bell).sum(-1)
        return F.conv1d(x, bell.repeat(x.shape[1], 1, 1), groups=x.shape[1])

    def forward(self, x):
        trend = sum(self.smooth(x, span) for span in self.spans) / len(self.spans)
        return self.trend(trend) + self.rest(x - trend)


class PolicyNet(nn.Module):
    """Denoises a robot's next actions; what it sees scales and shifts every layer."""

    def __init__(self, width, depth, actions=14, seen=128):
        super().__init__()
        self.inlet, self.outlet = nn.Conv1d(actions, width, 5, padding=2), nn.Conv1d(width, actions, 1)
        self.convs = nn.ModuleList(nn.Conv1d(width, width, 5, padding=2) for _ in range(depth))
        self.norms = nn.ModuleList(nn.GroupNorm(8, width) for _ in range(depth))
        self.films = nn.ModuleList(nn.Linear(seen, 2 * width) for _ in range(depth))

    def forward(self, x, seen):
        h = self.inlet(x)
        for conv, norm, film in zip(self.convs, self.norms, self.films):
            scale, shift = film(seen)[:, :, None].chunk(2, dim=1)
            h = h + F.mish(norm(conv(h)) * (1 + scale) + shift)
        return self.outlet(h)


class Denoiser(nn.Module):
    """Residual convolutions at two resolutions."""

    def __init__(self, width, depth):
        super().__init__()
        def residual():
            return nn.Sequential(*(part for _ in range(2) for part in (
                nn.GroupNorm(16, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1))))
        self.inlet, self.outlet = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.fine, self.coarse = (nn.ModuleList(residual() for _ in range(depth)) for _ in range(2))

    def forward(self, x):
        h = self.inlet(x)
        for block in self.fine:
            h = h + block(h)
        low = F.avg_pool2d(h, 2)
        for block in self.coarse:
            low = low + block(low)
        return self.outlet(h + F.interpolate(low, scale_factor=2.0))


class Surrogate(nn.Module):
    """Steps a flow field in time by residual convolutions."""

    def __init__(self, width, depth, fields=8):
        super().__init__()
        self.inlet, self.outlet = nn.Conv2d(fields, width, 3, padding=1), nn.Conv2d(width, fields, 3, padding=1)
        self.convs = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(depth))

    def forward(self, x):
        h = self.inlet(x)
        for conv in self.convs:
            h = h + F.relu(conv(h))
        return self.outlet(h)


class RowResnet(nn.Module):
    def __init__(self, inputs, width, depth):
        super().__init__()
        self.inlet, self.head = nn.Linear(inputs, width), nn.Linear(width, 10)
        self.blocks = nn.ModuleList(nn.Sequential(nn.BatchNorm1d(width), nn.Linear(width, 2 * width), nn.ReLU(),
                                                  nn.Linear(2 * width, width)) for _ in range(depth))

    def forward(self, x):
        x = self.inlet(x)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x)


# --- data_loading ----------------------------------------------------------------------------------------------------

class Molecules(Dataset):
    """Reads atoms and bonds from a line of text, as a chemistry toolkit does."""

    def __init__(self):
        draw = random.Random(5)
        self.lines = [" ".join(f"{draw.choice('CNOSPFH')}{draw.randrange(max(1, i))}" for i in range(24 + k % 16))
                      for k in range(512)]

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        kinds, source, target = [], [], []
        for at, word in enumerate(self.lines[index % 512].split()):
            before = int(word[1:])
            kinds.append(ord(word[0]) - 64)
            source += [at, before]
            target += [before, at]
        return torch.tensor(kinds), torch.tensor([source, target]), index % 7 / 7


def joined(molecules):
    """Many molecules as one graph of several parts."""
    counts = [len(kinds) for kinds, _, _ in molecules]
    starts = itertools.accumulate(counts, initial=0)
    bonds = torch.cat([bonds + start for (_, bonds, _), start in zip(molecules, starts)], dim=1)
    owner = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    return (torch.cat([kinds for kinds, _, _ in molecules]), bonds[0].clone(), bonds[1].clone(), owner,
            torch.tensor([energy for _, _, energy in molecules]))


@case("gin_molecules_parsed_in_process", "gin", "data_loading", "num_workers 0 -> 14", 512, loader=True)
def _(kind):
    batches, close = loaded(Molecules(), 512, 0 if kind == "broken" else WORKERS, collate_fn=joined)
    return training(Gin(256, 5).to(GPU), lambda m, *g: F.mse_loss(m(*g[:4], g[4].shape[0]).float(), g[4]),
                    batches), close


class CsvRows(Dataset):
    """A row is a line of text: 48 numbers, then 16 words."""

    def __init__(self):
        draw = random.Random(3)
        self.lines = [",".join([f"{draw.gauss(0, 9):.4f}" for _ in range(48)] +
                               [f"k{draw.randrange(10**6)}" for _ in range(16)]) for _ in range(2000)]

    def __len__(self):
        return 1 << 22

    def __getitem__(self, index):
        fields = self.lines[index % 2000].split(",")
        numbers = [math.copysign(math.log1p(abs(float(field))), float(field)) for field in fields[:48]]
        kinds = [zlib.crc32(field.encode()) % 1000 for field in fields[48:]]
        return torch.tensor(numbers), torch.tensor(kinds), float(index % 2)


@case("table_rows_parsed_by_two_workers", "ft_transformer", "data_loading", "parsed once, rows drawn on the GPU", 1024,
      loader=True)
def _(kind):
    model = FtTransformer(48, 16, 128, 2, 4).to(GPU)
    if kind == "broken":
        batches, close = loaded(CsvRows(), 1024, 2)
        return training(model, row_loss, batches), close
    rows = 200_000
    table = resident(torch.randn(rows, 48), torch.randint(0, 1000, (rows, 16)), torch.rand(rows).round())()

    def drawn():
        index = torch.randint(0, rows, (1024,), device=GPU)
        return tuple(column[index] for column in table)
    return training(model, row_loss, drawn)


def masked_residues(proteins, codes, draw):
    """Inputs and targets of a masked language model, residue by residue."""
    rows, targets = [], []
    for protein in proteins:
        row, target = [], []
        for letter in protein:
            token = codes[letter]
            if draw.random() < 0.15:
                dice = draw.random()
                row.append(23 if dice < 0.8 else draw.randrange(20) if dice < 0.9 else token)
                target.append(token)
            else:
                row.append(token)
                target.append(-100)
        rows.append(row)
        targets.append(target)
    return torch.tensor(rows), torch.tensor(targets)


@case("protein_lm_masked_in_python", "protein_lm", "data_loading", "residues masked on the GPU", 64)
def _(kind):
    length, draw, letters = 512, random.Random(7), "ACDEFGHIKLMNPQRSTVWY"
    codes = {letter: i for i, letter in enumerate(letters)}
    proteins = ["".join(draw.choices(letters, k=length)) for _ in range(256)]
    tokens = torch.tensor([[codes[letter] for letter in protein] for protein in proteins], device=GPU)

    def batches():
        if kind == "broken":
            return tuple(t.to(GPU) for t in masked_residues(draw.sample(proteins, 64), codes, draw))
        ids = tokens[torch.randint(0, 256, (64,), device=GPU)]
        chosen, dice = (torch.rand(ids.shape, device=GPU) for _ in range(2))
        inputs = torch.where(dice < 0.8, 23, torch.where(dice < 0.9, torch.randint_like(ids, 20), ids))
        return torch.where(chosen < 0.15, inputs, ids), torch.where(chosen < 0.15, ids, -100)

    def loss_of(m, ids, targets):
        return F.cross_entropy(m(ids).flatten(0, 1).float(), targets.flatten())
    return training(ProteinLm(320, 3, 10, length).to(GPU), loss_of, batches)


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("search_streams_index_from_host", "search", "host_transfer", "the index stays on the GPU", 256)
def _(kind):
    """Exact search for the ten nearest of 262144 vectors, in four parts."""
    rows = 65536
    parts = [torch.randn(rows, 768, device=GPU, dtype=torch.bfloat16) for _ in range(4)]
    if kind == "broken":
        parts = [part.cpu().pin_memory() for part in parts]
    queries = torch.randn(256, 768, device=GPU, dtype=torch.bfloat16)

    def run():
        values, ids = [], []
        for index, part in enumerate(parts):
            found = torch.topk(queries @ part.to(GPU, non_blocking=True).T, 10, dim=1)
            values.append(found.values)
            ids.append(found.indices + index * rows)
        best = torch.cat(values, dim=1).topk(10, dim=1).indices
        return torch.cat(ids, dim=1).gather(1, best)
    return inference(run)


@case("decoding_with_cache_on_host", "chat_decode", "host_transfer", "keys and values stay on the GPU", 8)
def _(kind):
    units = nn.ModuleList(Unit(1024, 8) for _ in range(8)).to(GPU).bfloat16().eval()
    caches = [tuple(torch.randn(8, 8, 2048, 128, device=GPU, dtype=torch.bfloat16) for _ in range(2)) for _ in units]
    if kind == "broken":
        caches = [tuple(t.cpu().pin_memory() for t in cache) for cache in caches]
    token = torch.randn(8, 1, 1024, device=GPU, dtype=torch.bfloat16)

    def run():
        h = token
        for unit, cache in zip(units, caches):
            q, k, v = unit.project(h)
            keys, values = (t.to(GPU, non_blocking=True) for t in cache)
            keys[:, :, -1:], values[:, :, -1:] = k, v
            h = unit.feed(h + unit.proj(join_heads(unit.attend(q, keys, values))))
        return h
    return inference(run)


@case("uvit_average_kept_on_host", "uvit", "host_transfer", "the average on the GPU, by foreach functions", 32)
def _(kind):
    model = Uvit(512, 8, 8).to(GPU)
    average = [p.detach().clone() if kind == "fixed" else p.detach().cpu() for p in model.parameters()]

    @torch.no_grad()
    def tail(m, _):
        if kind == "fixed":
            torch._foreach_lerp_(average, list(m.parameters()), 0.001)
            return
        for kept, p in zip(average, m.parameters()):
            kept.mul_(0.999).add_(p.detach().cpu(), alpha=0.001)
    return training(model, noise_loss, resident(*noisy_tokens(32)), tail=tail)


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("sentences_pooled_by_lengths", "sentences", "cpu_gpu_sync", "a masked mean of all sentences at once", 128)
def _(kind):
    model = Sentences(16000, 384, 6, 6, 128).to(GPU).bfloat16().eval()
    ids, lengths = torch.randint(0, 16000, (128, 128), device=GPU), torch.randint(16, 129, (128,), device=GPU)

    def run():
        h = model(ids)
        if kind == "broken":
            pooled = torch.stack([h[i, :lengths[i]].mean(0) for i in range(len(lengths))])
        else:
            mask = (torch.arange(128, device=GPU) < lengths[:, None]).to(h.dtype)
            pooled = (h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return F.normalize(pooled, dim=-1)
    return inference(run)


@case("pillars_found_by_unique", "pillars", "cpu_gpu_sync", "points scattered to a map of fixed size", 16)
def _(kind):
    model = Pillars(96).to(GPU).to(memory_format=torch.channels_last).eval()
    clouds = torch.randn(16, 20000, 4, device=GPU) * 25
    return inference(lambda: model.find(model.one_by_one(clouds) if kind == "broken" else model.together(clouds)))


@case("tcn_gradients_checked_one_by_one", "tcn", "cpu_gpu_sync", "one flag for all gradients, kept on the GPU", 32)
def _(kind):
    model = Tcn(128, 20).to(GPU)
    optimizer, series, seen = adamw(model), torch.randn(32, 8, 1024, device=GPU), {}

    def step():
        optimizer.zero_grad(set_to_none=True)
        with amp():
            loss = F.mse_loss(model(series).float(), series)
        loss.backward()
        gradients = [p.grad for p in model.parameters()]
        if kind == "broken":
            healthy = all([bool(torch.isfinite(g).all()) for g in gradients])
        else:
            seen["finite"], healthy = torch.stack(torch._foreach_norm(gradients)).isfinite().all(), True
        if healthy:
            optimizer.step()
    return step


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("additive_model_net_per_feature", "additive", "launch_overhead", "one batched product a layer for all features",
      1024)
def _(kind):
    model = (Additive if kind == "broken" else AdditiveBatched)(48, 64).to(GPU)
    x, y = torch.randn(1024, 48), torch.randn(1024)
    return training(model, lambda m, x, y: F.mse_loss(m(x), y), resident(x, y), mixed=False)


@case("neural_ode_runge_kutta_eager", "neural_ode", "launch_overhead", "CUDA graph of the whole integration", 256,
      accept=["launch_overhead", "gpu_underused"])  # 256 trajectories are few, too
def _(kind):
    field = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 64)).to(GPU)
    start, h = torch.randn(256, 64, device=GPU), 0.05

    def run():
        x = start
        for _ in range(16):
            k1 = field(x)
            k2 = field(x + 0.5 * h * k1)
            k3 = field(x + 0.5 * h * k2)
            k4 = field(x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return x
    return captured(inference(run)) if kind == "fixed" else inference(run)


@case("lora_one_short_dialogue", "lora", "launch_overhead", "CUDA graph of the whole step", 1,
      accept=["launch_overhead", "gpu_underused"])  # one dialogue of 64 tokens is small, too
def _(kind):
    model, trained = adapted(8000, 512, 10, 8)
    optimizer = torch.optim.AdamW(trained, 1e-4, fused=True, capturable=True)
    return graph_if(kind == "fixed", model, next_token, resident(torch.randint(0, 8000, (1, 64))), optimizer)


# --- precision -------------------------------------------------------------------------------------------------------

@case("deeponet_in_float64", "deeponet", "precision", "float32 with TF32", 2048)
def _(kind):
    dtype = torch.float64 if kind == "broken" else torch.float32
    model = DeepOnet(2048, 4).to(GPU, dtype)
    data = torch.randn(2048, 256, dtype=dtype), torch.rand(4096, 2, dtype=dtype), torch.randn(2048, 4096, dtype=dtype)
    return training(model, operator_loss, resident(*data), mixed=False, before=tf32(True))


@case("ft_transformer_trains_in_fp32", "ft_transformer", "precision", "bf16 autocast", 256)
def _(kind):
    model = FtTransformer(48, 16, 512, 4, 8).to(GPU)
    data = torch.randn(256, 48), torch.randint(0, 1000, (256, 16)), torch.rand(256).round()
    return training(model, row_loss, resident(*data), mixed=kind == "fixed", before=tf32(False))


@case("int8_prefill_opened_to_fp32", "int8_prefill", "precision", "weights opened to bf16, multiplied in bf16", 4)
def _(kind):
    linear = functools.partial(Int8Linear, dtype=torch.float32 if kind == "broken" else torch.bfloat16)
    units = nn.Sequential(*(Unit(2048, 16, causal=True, linear=linear) for _ in range(4))).to(GPU).eval()
    for unit in units:
        unit.norm1.bfloat16()
        unit.norm2.bfloat16()
    x = torch.randn(4, 1024, 2048, device=GPU, dtype=torch.bfloat16)
    return inference(lambda: units(x), tf32(False))


# --- attention -------------------------------------------------------------------------------------------------------

@case("alibi_written_out", "alibi", "attention", "scaled_dot_product_attention with the bias as mask", 8)
def _(kind):
    heads, length = 12, 1024
    model = Chat(16000, 768, 6, heads, written=kind == "broken").to(GPU)
    slopes = torch.logspace(-1, -8, heads, base=2.0, device=GPU)[:, None, None]
    behind = torch.arange(length, device=GPU)[None, :] - torch.arange(length, device=GPU)[:, None]
    mask = (slopes * behind).masked_fill(behind > 0, float("-inf"))[None].bfloat16()
    ids = torch.randint(0, 16000, (8, length))
    return training(model, lambda m, ids: next_token(lambda batch: m(batch, mask), ids), resident(ids))


@case("video_joint_attention_written_out", "video_vit", "attention", "scaled_dot_product_attention", 8)
def _(kind):
    model = VideoVit(512, 6, 8, written=kind == "broken").to(GPU)
    return training(model, classify, resident(torch.randn(8, 3, 16, 224, 224), torch.randint(0, 400, (8,))))


def fused_attention(on):
    def setting():
        torch.backends.cuda.enable_flash_sdp(on)
        torch.backends.cuda.enable_mem_efficient_sdp(on)
        torch.backends.cuda.enable_cudnn_sdp(on)
    return setting


@case("reranker_fused_kernels_off", "reranker", "attention", "the fused attention kernels no longer switched off", 48)
def _(kind):
    """A switch left over from a search for NaN."""
    model = Sentences(16000, 768, 6, 12, 512).to(GPU).bfloat16().eval()
    ids, lengths = torch.randint(0, 16000, (48, 512), device=GPU), torch.randint(256, 513, (48, 1), device=GPU)
    seen = (torch.arange(512, device=GPU) < lengths)[:, None, None]
    score = nn.Linear(768, 1).to(GPU).bfloat16()
    return inference(lambda: score(model(ids, seen)[:, 0]), fused_attention(kind == "fixed"))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("int8_feed_forward_opened_every_call", "int8_decode", "memory_bandwidth", "weights opened once, at the start", 8)
def _(kind):
    blocks = nn.Sequential(*(QuantizedFeed(2048, 8192, kind == "fixed") for _ in range(8))).to(GPU).eval()
    for block in blocks:
        block.norm.bfloat16()
    x = torch.randn(8, 1, 2048, device=GPU, dtype=torch.bfloat16)
    return inference(lambda: blocks(x))


@case("chamfer_by_broadcasting", "cloud_autoencoder", "memory_bandwidth", "distances through a matrix product", 32)
def _(kind):
    model = CloudAutoencoder(2048).to(GPU)

    def chamfer(m, x):
        y = m(x)
        if kind == "broken":
            apart = (x[:, :, None] - y[:, None]).square().sum(-1)
        else:
            apart = torch.baddbmm(x.square().sum(-1)[:, :, None] + y.square().sum(-1)[:, None], x, y.mT, alpha=-2.0)
        return apart.min(2).values.mean() + apart.min(1).values.mean()
    return training(model, chamfer, resident(torch.rand(32, 2048, 3)), mixed=False, before=tf32(False))


@case("forecast_smoothed_by_windows", "decomposed", "memory_bandwidth", "F.conv1d(groups=channels)", 128)
def _(kind):
    model = Decomposed(2048, 96, (9, 25, 49), windows=kind == "broken").to(GPU)
    data = torch.randn(128, 64, 2048), torch.randn(128, 64, 96)
    return training(model, lambda m, x, y: F.mse_loss(m(x), y), resident(*data), mixed=False, before=tf32(True))


# --- optimizer -------------------------------------------------------------------------------------------------------

class Lars(torch.optim.Optimizer):
    """Momentum SGD; the length of a parameter over that of its gradient scales its step."""

    def __init__(self, parameters, lr, foreach):
        super().__init__(parameters, {"lr": lr})
        self.foreach = foreach

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            lr, parameters = group["lr"], [p for p in group["params"] if p.grad is not None]
            for p in parameters:
                if "speed" not in self.state[p]:
                    self.state[p]["speed"] = torch.zeros_like(p)
            if self.foreach:
                gradients, speeds = [p.grad for p in parameters], [self.state[p]["speed"] for p in parameters]
                lengths, slopes = (torch.stack(torch._foreach_norm(part)) for part in (parameters, gradients))
                ratios = (0.02 * lengths / (slopes + 1e-4 * lengths + 1e-8)).clamp_(max=1.0)
                torch._foreach_add_(gradients, parameters, alpha=1e-4)
                torch._foreach_mul_(gradients, list(ratios.unbind()))
                torch._foreach_mul_(speeds, 0.9)
                torch._foreach_add_(speeds, gradients)
                torch._foreach_add_(parameters, speeds, alpha=-lr)
                continue
            for p in parameters:
                length, slope = p.norm(), p.grad.norm()
                ratio = (0.02 * length / (slope + 1e-4 * length + 1e-8)).clamp_(max=1.0)
                change = p.grad.add(p, alpha=1e-4).mul_(ratio)
                speed = self.state[p]["speed"]
                speed.mul_(0.9).add_(change)
                p.add_(speed, alpha=-lr)


@case("shufflenet_lars_per_parameter", "shufflenet", "optimizer", "the same update with torch._foreach functions", 48,
      accept=["optimizer", "launch_overhead"])
def _(kind):
    import torchvision
    model = torchvision.models.shufflenet_v2_x1_0(weights=None).to(GPU).to(memory_format=torch.channels_last)
    x, y = channels_last(torch.randn(48, 3, 192, 192)), torch.randint(0, 1000, (48,))
    return training(model, classify, resident(x, y), Lars(model.parameters(), 0.1, kind == "fixed"))


@case("uvit_optimizer_per_parameter_in_hooks", "uvit", "optimizer", "one AdamW(fused=True) after the backward pass", 8,
      accept=["optimizer", "launch_overhead"])
def _(kind):
    """Every gradient is used and freed as soon as it is there, which saves memory."""
    model, data = Uvit(384, 12, 6).to(GPU), resident(*noisy_tokens(8))()
    together = adamw(model) if kind == "fixed" else None
    if kind == "broken":
        each = {p: torch.optim.AdamW([p], lr=1e-4) for p in model.parameters()}

        def update(p):
            each[p].step()
            each[p].zero_grad(set_to_none=True)
        for p in model.parameters():
            p.register_post_accumulate_grad_hook(update)

    def step():
        with amp():
            loss = noise_loss(model, *data)
        loss.backward()
        if together:
            together.step()
            together.zero_grad(set_to_none=True)
    return step


def orthogonal(x):
    """Nearly the nearest orthogonal matrix, by a polynomial applied five times."""
    wide = x.shape[-2] <= x.shape[-1]
    x = (x if wide else x.mT).bfloat16()
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(5):
        a = x @ x.mT
        x = 3.4445 * x + (-4.775 * a + 2.0315 * (a @ a)) @ x
    return x if wide else x.mT


class Muon(torch.optim.Optimizer):
    """`batched`: matrices of one shape are made orthogonal together."""

    def __init__(self, parameters, lr, batched):
        super().__init__(parameters, {"lr": lr})
        self.batched = batched

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            lr, shapes = group["lr"], {}
            for p in group["params"]:
                if "speed" not in self.state[p]:
                    self.state[p]["speed"] = torch.zeros_like(p)
                shapes.setdefault(tuple(p.shape) if self.batched else id(p), []).append(p)
            for alike in shapes.values():
                speeds = [self.state[p]["speed"] for p in alike]
                if not self.batched:
                    speeds[0].mul_(0.95).add_(alike[0].grad)
                    alike[0].add_(orthogonal(speeds[0]).to(alike[0].dtype), alpha=-lr)
                    continue
                torch._foreach_mul_(speeds, 0.95)
                torch._foreach_add_(speeds, [p.grad for p in alike])
                changes = orthogonal(torch.stack(speeds)).float().contiguous()
                torch._foreach_add_(alike, list(changes.unbind()), alpha=-lr)


@case("chat_muon_matrix_by_matrix", "chat_muon", "optimizer", "one batched product for all matrices of a shape", 4,
      accept=["optimizer", "launch_overhead"])
def _(kind):
    model = Chat(8000, 512, 8, 8).to(GPU)
    matrices = [p for p in model.units.parameters() if p.ndim == 2]
    chosen = {id(p) for p in matrices}
    rest = torch.optim.AdamW([p for p in model.parameters() if id(p) not in chosen], lr=1e-4, fused=True)
    muon, ids = Muon(matrices, 1e-3, kind == "fixed"), torch.randint(0, 8000, (4, 256), device=GPU)

    def step():
        model.zero_grad(set_to_none=True)
        with amp():
            loss = next_token(model, ids)
        loss.backward()
        muon.step()
        rest.step()
    return step


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("policy_without_caching_allocator", "policy", "memory_allocation", "the caching allocator", 256,
      environment=UNCACHED)
def _(kind):
    model = PolicyNet(256, 8).to(GPU)
    data = torch.randn(256, 14, 64), torch.randn(256, 128), torch.randn(256, 14, 64)
    return training(model, lambda m, x, seen, y: F.mse_loss(m(x, seen).float(), y), resident(*data))


@case("chat_empties_cache_per_token", "chat_decode", "memory_allocation", "no empty_cache() between the tokens", 32)
def _(kind):
    """Keys and values are lengthened by torch.cat; against what that leaves the author empties the cache."""
    units = nn.ModuleList(Unit(1024, 16) for _ in range(4)).to(GPU).bfloat16().eval()
    prompt = torch.randn(4, 2, 32, 16, 256, 64, device=GPU, dtype=torch.bfloat16)
    first = torch.randn(32, 1, 1024, device=GPU, dtype=torch.bfloat16)

    def run():
        h, caches = first, [tuple(layer) for layer in prompt]
        for _ in range(8):
            for index, unit in enumerate(units):
                q, k, v = unit.project(h)
                keys, values = (torch.cat(pair, dim=2) for pair in zip(caches[index], (k, v)))
                caches[index] = keys, values
                h = unit.feed(h + unit.proj(join_heads(unit.attend(q, keys, values))))
            if kind == "broken":
                torch.cuda.empty_cache()
        return h
    return inference(run)


@case("video_frees_between_micro_batches", "video_vit", "memory_allocation", "no empty_cache() in the loop", 48)
def _(kind):
    model = VideoVit(512, 4, 8, frames=8).to(GPU)
    optimizer = adamw(model)
    clips, y = torch.randn(12, 3, 8, 224, 224, device=GPU), torch.randint(0, 400, (12,), device=GPU)

    def step():
        optimizer.zero_grad(set_to_none=True)
        for _ in range(4):
            if kind == "broken" and torch.cuda.memory_reserved() > 300e6:
                torch.cuda.empty_cache()
            with amp():
                loss = classify(model, clips, y) / 4
            loss.backward()
        optimizer.step()
    return step


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("search_encodes_one_query", "sentences", "gpu_underused", "batch 1 -> 128", 1, fixed_batch=128,
      accept=["gpu_underused"])
def _(kind):
    model = Sentences(16000, 768, 12, 12, 64).to(GPU).bfloat16().eval()
    ids = torch.randint(0, 16000, (1 if kind == "broken" else 128, 64), device=GPU)
    return captured(inference(lambda: F.normalize(model(ids).mean(1), dim=-1)))


@case("denoiser_two_pictures", "denoiser2", "gpu_underused", "batch 2 -> 96", 2, fixed_batch=96,
      accept=["gpu_underused"])
def _(kind):
    model = Denoiser(192, 4).to(GPU).bfloat16().eval()
    x = torch.randn(2 if kind == "broken" else 96, 3, 32, 32, device=GPU, dtype=torch.bfloat16)
    return captured(inference(lambda: model(x)))


@case("row_resnet_small_batch", "row_resnet", "gpu_underused", "batch 256 -> 16384", 256, fixed_batch=16384,
      accept=["gpu_underused", "launch_overhead"])
def _(kind):
    rows = 256 if kind == "broken" else 16384
    model = RowResnet(200, 512, 8).to(GPU)
    return training(model, classify, resident(torch.randn(rows, 200), torch.randint(0, 10, (rows,))))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("lora_healthy", "lora", "none", "", 16)
def _(kind):
    model, trained = adapted(16384, 2560, 4, 20)
    return training(model, next_token, resident(torch.randint(0, 16384, (16, 1024))),
                    torch.optim.AdamW(trained, 1e-4, fused=True), mixed=False)


@case("flow_surrogate_healthy", "surrogate", "none", "", 16)
def _(kind):
    model = Surrogate(640, 8).to(GPU).to(memory_format=torch.channels_last).bfloat16()
    now, later = (channels_last(torch.randn(16, 8, 64, 64).bfloat16()) for _ in range(2))
    return training(model, lambda m, x, y: F.mse_loss(m(x).float(), y.float()), Prefetched(now, later), mixed=False)


@case("video_vit_healthy", "video_vit", "none", "", 24)
def _(kind):
    with torch.device(GPU):
        model = VideoVit(1024, 6, 16).bfloat16().eval()
    clips = Prefetched(torch.randint(0, 256, (24, 3, 16, 224, 224), dtype=torch.uint8))
    return inference(lambda: model(clips()[0].to(torch.bfloat16) / 255).argmax(-1))


@case("deeponet_graph_healthy", "deeponet", "none", "", 8192)
def _(kind):
    with torch.device(GPU):
        model = DeepOnet(4096, 3).bfloat16()
    data = torch.randn(8192, 256).bfloat16(), torch.rand(4096, 2).bfloat16(), torch.randn(8192, 4096).bfloat16()
    return graph_if(True, model, operator_loss, resident(*data))


CASES = mixed_by_cause(FOUND)
