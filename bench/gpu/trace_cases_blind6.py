"""A further set of cases for record_traces.py --cases trace_cases_blind6: weather, speakers, games, splats, codecs,
experts, shops and adapters, each with one flaw; written by somebody who did not know the analysis."""
import json
import math
import random
import zlib

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

from trace_cases import (GPU, UNCACHED, WORKERS, Prefetched, adamw, amp, captured, case_list, channels_last, classify,
                         graph_if, inference, loaded, resident, tf32, training)
from trace_cases_blind import BlindCase
from trace_cases_blind4 import join_heads, mixed_by_cause, split_heads

FOUND, case = case_list(BlindCase)


# --- networks --------------------------------------------------------------------------------------------------------

class Block(nn.Module):
    """Attention, then a feed-forward part; `by_hand`: softmax(QK)V in single operations."""

    def __init__(self, dim, heads, causal=False, by_hand=False):
        super().__init__()
        self.heads, self.causal, self.by_hand = heads, causal, by_hand
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.fc1, self.fc2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def project(self, x):
        return (split_heads(part, self.heads) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))

    def mix(self, q, k, v, bias=None):
        if not self.by_hand:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=self.causal)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        if bias is not None:
            scores = scores + bias
        return torch.matmul(torch.softmax(scores.float(), dim=-1).to(v.dtype), v)

    def attend(self, x, bias=None):
        return self.proj(join_heads(self.mix(*self.project(x), bias)))

    def feed(self, x):
        return self.fc2(F.gelu(self.fc1(self.norm2(x))))

    def forward(self, x, bias=None):
        x = x + self.attend(x, bias)
        return x + self.feed(x)


class Weather(nn.Module):
    """The fields of a 128x256 grid six hours later: patches of 4x4, attention within windows of 16x32 of them, with
    a bias by distance."""

    def __init__(self, fields, dim, depth, heads, by_hand=False):
        super().__init__()
        self.fields, self.embed = fields, nn.Conv2d(fields, dim, 4, stride=4)
        self.blocks = nn.ModuleList(Block(dim, heads, by_hand=by_hand) for _ in range(depth))
        self.out = nn.Linear(dim, 16 * fields)
        row, column = torch.arange(512) // 32, torch.arange(512) % 32
        far = (row[:, None] - row).abs() + (column[:, None] - column).abs()
        self.register_buffer("bias", far * -0.05)

    def forward(self, x):
        h = self.embed(x).unflatten(3, (2, 32)).unflatten(2, (2, 16))
        h = h.permute(0, 2, 4, 3, 5, 1).flatten(3, 4).flatten(0, 2)
        bias = self.bias.to(h.dtype)
        for block in self.blocks:
            h = block(h, bias)
        cells = self.out(h).unflatten(-1, (4, 4, self.fields)).unflatten(1, (16, 32)).unflatten(0, (-1, 2, 2))
        return x + cells.permute(0, 7, 1, 3, 5, 2, 4, 6).flatten(5, 7).flatten(2, 4)


def forecast_loss(model, now, later):
    return F.mse_loss(model(now).float(), later.float())


def states(batch, fields):
    return torch.randn(batch, fields, 128, 256), torch.randn(batch, fields, 128, 256)


class Impala(nn.Module):
    """The convolutional network of a game-playing agent: policy and value of a stack of four frames."""

    def __init__(self, widths=(32, 64, 64), actions=18):
        super().__init__()
        sizes = (4, *widths)
        self.inlets = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in zip(sizes, widths))
        self.convs = nn.ModuleList(nn.ModuleList(nn.Conv2d(w, w, 3, padding=1) for _ in range(4)) for w in widths)
        self.hidden, self.head = nn.Linear(widths[-1] * 11 * 11, 256), nn.Linear(256, actions + 1)

    def forward(self, x):
        for inlet, (a, b, c, d) in zip(self.inlets, self.convs):
            x = F.max_pool2d(inlet(x), 3, stride=2, padding=1)
            x = x + b(F.relu(a(F.relu(x))))
            x = x + d(F.relu(c(F.relu(x))))
        return self.head(F.relu(self.hidden(F.relu(x).flatten(1))))


class Speaker(nn.Module):
    """Dilated convolutions over mel frames, mean and deviation over time, an embedding of the voice."""

    def __init__(self, width=512, speakers=96):
        super().__init__()
        self.inlet = nn.Conv1d(80, width, 5, padding=2)
        self.convs = nn.ModuleList(nn.Conv1d(width, width, 3, padding=d, dilation=d) for d in (1, 2, 3, 4))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(4))
        self.embed, self.head, self.last = nn.Linear(2 * width, 192), nn.Linear(192, speakers), None

    def forward(self, x):
        x = F.relu(self.inlet(x))
        for conv, norm in zip(self.convs, self.norms):
            x = x + F.relu(norm(conv(x)))
        voice = self.embed(torch.cat([x.mean(2), x.float().var(2).add(1e-4).sqrt().to(x.dtype)], dim=1))
        self.last = voice.detach().float()
        return self.head(voice)


class Encoder(nn.Module):
    """Words to one vector a text."""

    def __init__(self, vocab, dim, depth, heads, length, out):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, dim), nn.Parameter(torch.randn(length, dim) * 0.02)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.final, self.head = nn.LayerNorm(dim), nn.Linear(dim, out)

    def forward(self, ids):
        x = self.words(ids) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.final(x).mean(1))


class Bottleneck(nn.Module):
    """A small trained network behind a frozen one."""

    def __init__(self, dim, width):
        super().__init__()
        self.down, self.up = nn.Linear(dim, width), nn.Linear(width, dim)

    def forward(self, x):
        return x + self.up(F.gelu(self.down(x)))


class AdapterBlock(Block):
    def __init__(self, dim, heads, width=32):
        super().__init__(dim, heads)
        for p in self.parameters():
            p.requires_grad_(False)
        for norm in (self.norm1, self.norm2):
            norm.requires_grad_(True)
        self.after1, self.after2 = Bottleneck(dim, width), Bottleneck(dim, width)

    def forward(self, x, bias=None):
        x = x + self.after1(self.attend(x, bias))
        return x + self.after2(self.feed(x))


class GameModel(nn.Module):
    """What a board looks like after a move, and which move is promising; boards are known by learnt features only."""

    def __init__(self, width, depth, moves=81):
        super().__init__()
        self.moves, self.policy = nn.Embedding(moves, width), nn.Linear(width, moves)
        self.convs = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(depth))

    def after(self, boards, moves):
        x = boards + self.moves(moves)[:, :, None, None]
        for conv in self.convs:
            x = x + F.relu(conv(x))
        return x / x.abs().amax((1, 2, 3), keepdim=True)

    def best(self, boards):
        return self.policy(boards.mean((2, 3))).argmax(1)


class Served(nn.Module):
    """One word more for each request; each has an adapter of its own beside the feed-forward part."""

    def __init__(self, dim, depth, heads, adapters, rank=16):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.low = nn.Parameter(torch.randn(depth, adapters, dim, rank) * 0.02)
        self.high = nn.Parameter(torch.randn(depth, adapters, rank, dim) * 0.02)

    def adapt(self, layer, x, chosen):
        low, high = self.low[layer], self.high[layer]
        if isinstance(chosen, list):
            return torch.stack([x[at] @ low[one] @ high[one] for at, one in enumerate(chosen)])
        return torch.bmm(torch.bmm(x, low[chosen]), high[chosen])

    def forward(self, x, keys, values, chosen):
        for layer, block in enumerate(self.blocks):
            q, k, v = block.project(x)
            keys[layer, :, :, -1:], values[layer, :, :, -1:] = k, v
            x = x + block.proj(join_heads(block.mix(q, keys[layer], values[layer])))
            x = x + block.feed(x) + self.adapt(layer, block.norm2(x), chosen)
        return x


class Codec(nn.Module):
    """Waves to codes and back: strided convolutions, several codebooks, each for what the ones before left over."""

    def __init__(self, width, books, code=128, strides=(2, 4, 5, 8)):
        super().__init__()
        sizes = [(width << i, width << (i + 1), s) for i, s in enumerate(strides)]
        last = sizes[-1][1]
        self.inlet, self.outlet = nn.Conv1d(1, width, 7, padding=3), nn.Conv1d(width, 1, 7, padding=3)
        self.near = nn.ModuleList(nn.Conv1d(a, a, 3, padding=1) for a, _, _ in sizes)
        self.downs = nn.ModuleList(nn.Conv1d(a, b, 2 * s, stride=s, padding=(s + 1) // 2) for a, b, s in sizes)
        self.ups = nn.ModuleList(nn.ConvTranspose1d(b, a, 2 * s, stride=s, padding=(s + 1) // 2, output_padding=s % 2)
                                 for a, b, s in reversed(sizes))
        self.back = nn.ModuleList(nn.Conv1d(a, a, 3, padding=1) for a, _, _ in reversed(sizes))
        self.narrow, self.wide = nn.Conv1d(last, code, 1), nn.Conv1d(code, last, 1)
        self.books = nn.Parameter(torch.randn(books, 1024, code))

    def encoded(self, x):
        x = self.inlet(x)
        for near, down in zip(self.near, self.downs):
            x = down(F.elu(x + near(F.elu(x))))
        return self.narrow(F.elu(x))

    def quantized(self, x):
        given = x.transpose(1, 2)
        left, total = given, 0
        for book in self.books:
            nearest = (2 * left @ book.T - book.square().sum(1)).argmax(-1)
            chosen = F.embedding(nearest, book)
            left, total = left - chosen, total + chosen
        return (given + (total - given).detach()).transpose(1, 2)

    def decoded(self, x):
        x = self.wide(x)
        for up, back in zip(self.ups, self.back):
            x = up(F.elu(x))
            x = x + back(F.elu(x))
        return self.outlet(F.elu(x))

    def forward(self, x):
        return self.decoded(self.quantized(self.encoded(x)))


class Egnn(nn.Module):
    """The energy of molecules: messages between all pairs of atoms, weakened by their distance."""

    def __init__(self, dim, depth, kinds=16):
        super().__init__()
        self.kinds, self.head = nn.Embedding(kinds, dim), nn.Linear(dim, 1)
        self.edges = nn.ModuleList(nn.Sequential(nn.Linear(2 * dim + 1, dim), nn.SiLU(), nn.Linear(dim, dim), nn.SiLU())
                                   for _ in range(depth))
        self.nodes = nn.ModuleList(nn.Sequential(nn.Linear(2 * dim, dim), nn.SiLU(), nn.Linear(dim, dim))
                                   for _ in range(depth))

    def forward(self, kinds, x):
        h, atoms = self.kinds(kinds), x.shape[1]
        far = (x[:, :, None] - x[:, None]).square().sum(-1, keepdim=True)
        for edge, node in zip(self.edges, self.nodes):
            this, other = h[:, :, None].expand(-1, -1, atoms, -1), h[:, None].expand(-1, atoms, -1, -1)
            pairs = torch.cat([this, other, far], dim=-1)
            h = h + node(torch.cat([h, (edge(pairs) / (1 + far)).sum(2)], dim=-1))
        return self.head(h).sum((1, 2))


class ExpertChoice(nn.Module):
    """Every expert takes the tokens that suit it best, all equally many; `full`: experts multiply in fp32."""

    def __init__(self, dim, hidden, experts, full=False):
        super().__init__()
        self.experts, self.full = experts, full
        self.norm, self.gate = nn.LayerNorm(dim), nn.Linear(dim, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, dim, hidden) / math.sqrt(dim))
        self.down = nn.Parameter(torch.randn(experts, hidden, dim) / math.sqrt(hidden))

    def apart(self, rows):
        if not self.full:
            return torch.bmm(F.gelu(torch.bmm(rows, self.up)), self.down)
        with torch.autocast("cuda", enabled=False):
            return torch.bmm(F.gelu(torch.bmm(rows.float(), self.up)), self.down)

    def forward(self, x):
        flat = x.flatten(0, 1)
        h = self.norm(flat)
        weight, index = torch.softmax(self.gate(h).float(), dim=-1).topk(flat.shape[0] // self.experts, dim=0)
        index = index.T.flatten()
        out = self.apart(h.index_select(0, index).unflatten(0, (self.experts, -1))) * weight.T[..., None]
        return x + torch.zeros_like(flat).index_add(0, index, out.flatten(0, 1).to(flat.dtype)).view_as(x)


class ExpertLm(nn.Module):
    def __init__(self, vocab, dim, depth, heads, experts, full):
        super().__init__()
        self.words, self.head = nn.Embedding(vocab, dim), nn.Linear(dim, vocab, bias=False)
        self.blocks = nn.ModuleList(Block(dim, heads, causal=True) for _ in range(depth))
        self.mixtures = nn.ModuleList(ExpertChoice(dim, 3 * dim, experts, full) for _ in range(depth))

    def forward(self, ids):
        x = self.words(ids)
        for block, mixture in zip(self.blocks, self.mixtures):
            x = mixture(x + block.attend(x))
        return self.head(x)


class Grouped(nn.Module):
    """A layer in which four heads of queries share one of keys and values; `by_hand`: keys and values are repeated for
    each head of queries, and softmax(QK)V is written out."""

    def __init__(self, dim, heads, by_hand=False):
        super().__init__()
        self.heads, self.by_hand, hidden = heads, by_hand, 5 * dim // 2
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.q, self.kv = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim // 2, bias=False)
        self.proj = nn.Linear(dim, dim, bias=False)
        self.up, self.down = nn.Linear(dim, 2 * hidden, bias=False), nn.Linear(hidden, dim, bias=False)

    def project(self, x):
        h = self.norm1(x)
        k, v = (split_heads(part, self.heads // 4) for part in self.kv(h).chunk(2, dim=-1))
        return split_heads(self.q(h), self.heads), k, v

    def mix(self, q, k, v, causal=False):
        if not self.by_hand:
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)
        k, v = k.repeat_interleave(4, dim=1), v.repeat_interleave(4, dim=1)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        return torch.matmul(torch.softmax(scores.float(), dim=-1).to(v.dtype), v)

    def finish(self, x, mixed):
        x = x + self.proj(join_heads(mixed))
        gate, value = self.up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * value)

    def forward(self, x):
        return self.finish(x, self.mix(*self.project(x), causal=True))


class PairedClicks(nn.Module):
    """A recommender: the products of every two features, then a perceptron; `broadcast`: by multiplying all with
    all, element by element."""

    def __init__(self, features, rows, dim, broadcast):
        super().__init__()
        self.table, self.broadcast = nn.Embedding(features * rows, dim), broadcast
        self.register_buffer("first", torch.arange(features) * rows)
        one, other = torch.triu_indices(features, features, 1)
        self.register_buffer("pairs", one * features + other)
        self.score = nn.Sequential(nn.Linear(len(one) + features * dim, 1024), nn.ReLU(), nn.Linear(1024, 512),
                                   nn.ReLU(), nn.Linear(512, 1))

    def forward(self, ids):
        x = self.table(ids + self.first)
        if self.broadcast:
            products = (x[:, :, None] * x[:, None]).sum(-1)
        else:
            products = torch.bmm(x, x.transpose(1, 2))
        pairs = products.flatten(1).index_select(1, self.pairs)
        return self.score(torch.cat([pairs, x.flatten(1)], dim=1))[:, 0]


class TsMixer(nn.Module):
    """Forecasts many series: perceptrons along time and along the series in turns."""

    def __init__(self, length, series, depth):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(series) for _ in range(2 * depth))
        self.times = nn.ModuleList(nn.Linear(length, length) for _ in range(depth))
        self.ups = nn.ModuleList(nn.Linear(series, 2 * series) for _ in range(depth))
        self.downs = nn.ModuleList(nn.Linear(2 * series, series) for _ in range(depth))
        self.ahead = nn.Linear(length, 96)

    def forward(self, x):
        for at, (time, up, down) in enumerate(zip(self.times, self.ups, self.downs)):
            x = x + F.relu(time(self.norms[2 * at](x).transpose(1, 2))).transpose(1, 2)
            x = x + down(F.relu(up(self.norms[2 * at + 1](x))))
        return self.ahead(x.transpose(1, 2))


class Critics(nn.Module):
    """Two opinions on the value of an action, as soft actor-critic has them."""

    def __init__(self, inputs, width):
        super().__init__()
        self.pair = nn.ModuleList(nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                                nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
                                  for _ in range(2))

    def forward(self, x):
        return torch.cat([critic(x) for critic in self.pair], dim=1)


class Latents(nn.Module):
    """Denoises the latent patches of a video; every patch is told the time."""

    def __init__(self, dim, depth, heads, tokens, width=64):
        super().__init__()
        self.inlet, self.outlet, self.time = nn.Linear(width, dim), nn.Linear(dim, width), nn.Linear(1, dim)
        self.places = nn.Parameter(torch.randn(tokens, dim) * 0.02)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))

    def forward(self, x, t):
        h = self.inlet(x) + self.places + self.time(t[:, None])[:, None]
        for block in self.blocks:
            h = block(h)
        return self.outlet(h)


# --- data_loading ----------------------------------------------------------------------------------------------------

class Reanalysis(Dataset):
    """Coarse fields of two times, brought to a finer grid on the CPU."""

    def __init__(self, fields):
        self.coarse = torch.randn(24, fields, 64, 128)

    def __len__(self):
        return 1 << 20

    def fine(self, index):
        fields = F.interpolate(self.coarse[index % 24][None], size=(128, 256), mode="bicubic", antialias=True)[0]
        return (fields - fields.mean((1, 2), keepdim=True)) / fields.std((1, 2), keepdim=True)

    def __getitem__(self, index):
        return self.fine(index), self.fine(index + 1)


@case("weather_regridded_by_two_workers", "weather", "data_loading", "num_workers 2 -> 14", 8, loader=True)
def _(kind):
    batches, close = loaded(Reanalysis(20), 8, 2 if kind == "broken" else WORKERS)
    return training(Weather(20, 384, 4, 12).to(GPU), forecast_loss, batches), close


class Products(Dataset):
    """Records of a shop as compressed JSON; the words of the title and the text are hashed."""

    def __init__(self, length):
        draw, self.length = random.Random(11), length
        words = ["".join(draw.choices("abcdefghijklmnoprstuvw", k=draw.randrange(3, 9))) for _ in range(3000)]
        self.records = []
        for number in range(600):
            record = {"id": number, "price": draw.random(), "title": " ".join(draw.choices(words, k=16)),
                      "text": " ".join(draw.choices(words, k=200)),
                      "offers": [{"seller": draw.choice(words), "price": draw.random()} for _ in range(40)]}
            self.records.append(zlib.compress(json.dumps(record).encode()))

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        record = json.loads(zlib.decompress(self.records[index % 600]))
        words = (record["title"] + " " + record["text"]).split()[: self.length]
        return torch.tensor([zlib.crc32(word.encode()) % 30000 for word in words]), record["id"] % 400


@case("products_unpacked_in_process", "products", "data_loading", "num_workers 0 -> 14", 256, loader=True)
def _(kind):
    batches, close = loaded(Products(128), 256, 0 if kind == "broken" else WORKERS)
    return training(Encoder(30000, 384, 4, 6, 128, 400).to(GPU), classify, batches), close


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("impala_frames_as_pageable_floats", "impala", "host_transfer",
      "bytes in pinned memory, copied on a second stream, scaled on the GPU", 1536)
def _(kind):
    model = Impala().to(GPU).to(memory_format=torch.channels_last)
    frames = channels_last(torch.randint(0, 256, (1536, 4, 84, 84), dtype=torch.uint8))
    actions = torch.randint(0, 18, (1536,))
    if kind == "broken":
        floats = frames.float() / 255

        def batches():
            return floats.to(GPU), actions.to(GPU)
        return training(model, classify, batches)
    ahead = Prefetched(frames, actions)

    def scaled():
        x, y = ahead()
        return x.float() / 255, y
    return training(model, classify, scaled)


@case("forecast_state_through_the_host", "weather", "host_transfer", "the states stay on the GPU until the end", 4)
def _(kind):
    """Three times six hours; every state is put on a list in host memory, of which the last is the next input."""
    with torch.device(GPU):
        model = Weather(69, 1536, 8, 12).bfloat16().eval()
    start = torch.randn(4, 69, 128, 256, device=GPU)

    def run():
        kept = [start.cpu() if kind == "broken" else start]
        for _ in range(3):
            state = model(kept[-1].to(GPU).bfloat16()).float()
            kept.append(state.cpu() if kind == "broken" else state)
        return kept
    return inference(run)


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("speaker_centres_by_boolean_masks", "speaker", "cpu_gpu_sync", "sums of all speakers by index_add_", 128)
def _(kind):
    """The mean voice of every speaker moves a little towards the batch."""
    model, centres = Speaker().to(GPU), torch.zeros(96, 192, device=GPU)
    mels, labels = resident(torch.randn(128, 80, 300), torch.randint(0, 96, (128,)))()

    @torch.no_grad()
    def tail(m, _):
        if kind == "broken":
            for speaker in range(96):
                mine = m.last[labels == speaker]
                if len(mine):
                    centres[speaker].lerp_(mine.mean(0), 0.05)
            return
        sums = torch.zeros_like(centres).index_add_(0, labels, m.last)
        counts = torch.zeros(96, 1, device=GPU).index_add_(0, labels, torch.ones(128, 1, device=GPU))
        centres.copy_(torch.where(counts > 0, centres.lerp(sums / counts.clamp(min=1), 0.05), centres))
    return training(model, classify, lambda: (mels, labels), tail=tail)


class CachedDecoder(nn.Module):
    """One word more for each of several texts whose keys and values are kept."""

    def __init__(self, vocab, dim, depth, heads, batch, length):
        super().__init__()
        self.words, self.head = nn.Embedding(vocab, dim), nn.Linear(dim, vocab, bias=False)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        for name in ("keys", "values"):
            self.register_buffer(name, torch.randn(depth, batch, heads, length, dim // heads))

    def forward(self, ids):
        x = self.words(ids)
        for index, block in enumerate(self.blocks):
            q, k, v = block.project(x)
            self.keys[index, :, :, -1:], self.values[index, :, :, -1:] = k, v
            x = x + block.proj(join_heads(block.mix(q, self.keys[index], self.values[index])))
            x = x + block.feed(x)
        return self.head(x[:, -1])


def drawn(chances):
    return (chances / torch.empty_like(chances).exponential_()).argmax(-1)


@case("nucleus_cut_read_for_every_text", "cached_decoder", "cpu_gpu_sync", "the nucleus of all texts by one mask", 24)
def _(kind):
    with torch.device(GPU):
        model = CachedDecoder(32000, 1024, 6, 16, 24, 1024).bfloat16().eval()
    ids = torch.randint(0, 32000, (24, 1), device=GPU)

    def sampled(chances):
        if kind == "fixed":
            ranked, order = chances.sort(dim=-1, descending=True)
            ranked = torch.where(ranked.cumsum(-1) - ranked < 0.9, ranked, 0.0)
            return order.gather(1, drawn(ranked)[:, None])
        words = []
        for row in chances:
            ranked, order = row.sort(descending=True)
            count = (ranked.cumsum(0) < 0.9).sum().item() + 1
            words.append(order.gather(0, drawn(ranked[:count])[None]))
        return torch.cat(words)[:, None]
    return inference(lambda: sampled(torch.softmax(model(ids).float(), dim=-1)))


@case("game_search_reads_every_move", "game_model", "cpu_gpu_sync", "moves stay on the GPU", 512)
def _(kind):
    """Looks sixteen moves ahead; the author's tree, in Python, wants to know each."""
    model = GameModel(128, 4).to(GPU).bfloat16().to(memory_format=torch.channels_last).eval()
    start = channels_last(torch.randn(512, 128, 9, 9, device=GPU, dtype=torch.bfloat16))

    def run():
        boards, path = start, []
        for _ in range(16):
            moves = model.best(boards)
            if kind == "broken":
                moves = moves.tolist()
            path.append(moves)
            if kind == "broken":
                moves = torch.tensor(moves, device=GPU)
            boards = model.after(boards, moves)
        return boards, path
    return inference(run)


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("adapters_applied_request_by_request", "served_adapters", "launch_overhead",
      "adapters of all requests gathered, two batched products a layer", 16)
def _(kind):
    with torch.device(GPU):
        model = Served(1024, 8, 16, 12).bfloat16().eval()
        keys, values = (torch.randn(8, 16, 16, 512, 64).bfloat16() for _ in range(2))
    chosen = [at * 5 % 12 for at in range(16)]
    if kind == "fixed":
        chosen = torch.tensor(chosen, device=GPU)
    x = torch.randn(16, 1, 1024, device=GPU, dtype=torch.bfloat16)
    return inference(lambda: model(x, keys, values, chosen))


@case("codec_streams_chunk_by_chunk", "codec", "launch_overhead", "CUDA graph", 4,
      accept=["launch_overhead", "gpu_underused"])  # 80 ms of four streams are little, too
def _(kind):
    model, waves = Codec(32, 16).to(GPU).eval(), torch.randn(4, 1, 1920, device=GPU)
    step = inference(lambda: model(waves), tf32(True))
    return captured(step) if kind == "fixed" else step


@case("molecular_dynamics_eager_forces", "egnn", "launch_overhead", "CUDA graph of a time step", 1,
      accept=["launch_overhead", "gpu_underused"])  # one molecule of 96 atoms is little, too
def _(kind):
    model = Egnn(64, 4).to(GPU).requires_grad_(False)
    atoms, place = torch.randint(0, 16, (1, 96), device=GPU), torch.randn(1, 96, 3, device=GPU) * 4
    speed = torch.zeros_like(place)

    def step():
        x = place.detach().requires_grad_()
        force, = torch.autograd.grad(model(atoms, x).sum(), x)
        speed.mul_(0.99).add_(force, alpha=-1e-5)
        place.add_(speed, alpha=1e-3)
    return captured(step) if kind == "fixed" else step


# --- precision -------------------------------------------------------------------------------------------------------

@case("weather_windows_trained_in_fp32", "weather", "precision", "bf16 autocast", 8)
def _(kind):
    model = Weather(20, 768, 4, 12).to(GPU)
    return training(model, forecast_loss, resident(*states(8, 20)), mixed=kind == "fixed", before=tf32(False))


@case("experts_outside_autocast", "expert_lm", "precision", "the experts' products in bf16, as all else", 12)
def _(kind):
    with torch.device(GPU):
        model = ExpertLm(8192, 768, 3, 12, 8, kind == "broken")

    def loss_of(m, ids):
        return F.cross_entropy(m(ids)[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())
    return training(model, loss_of, resident(torch.randint(0, 8192, (12, 1024))), before=tf32(False))


# --- attention -------------------------------------------------------------------------------------------------------

@case("weather_windows_written_out", "weather", "attention", "scaled_dot_product_attention with the bias as mask", 8)
def _(kind):
    model = Weather(20, 512, 6, 16, by_hand=kind == "broken").to(GPU)
    return training(model, forecast_loss, resident(*states(8, 20)))


@case("grouped_cache_repeated_for_every_head", "grouped_decode", "attention",
      "scaled_dot_product_attention(enable_gqa=True)", 32, accept=["attention", "memory_bandwidth"])
def _(kind):
    """One word more for 32 texts of 4096 words; a single query makes attention a matter of reading the cache."""
    with torch.device(GPU):
        layers = nn.ModuleList(Grouped(2048, 32, by_hand=kind == "broken") for _ in range(6)).bfloat16().eval()
    caches = [tuple(torch.randn(32, 8, 4096, 64, device=GPU, dtype=torch.bfloat16) for _ in range(2)) for _ in layers]
    word = torch.randn(32, 1, 2048, device=GPU, dtype=torch.bfloat16)

    def run():
        h = word
        for layer, (keys, values) in zip(layers, caches):
            q, k, v = layer.project(h)
            keys[:, :, -1:], values[:, :, -1:] = k, v
            h = layer.finish(h, layer.mix(q, keys, values))
        return h
    return inference(run)


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

def harmonics(c, x, y, z):
    """Colours of splats seen from one place: coefficients of spherical harmonics up to the third degree."""
    xx, yy, zz = x * x, y * y, z * z
    out = 0.2820948 * c[:, 0] - 0.4886025 * y * c[:, 1] + 0.4886025 * z * c[:, 2] - 0.4886025 * x * c[:, 3]
    out = out + 1.0925484 * x * y * c[:, 4] - 1.0925484 * y * z * c[:, 5]
    out = out + 0.3153916 * (2 * zz - xx - yy) * c[:, 6] - 1.0925484 * x * z * c[:, 7]
    out = out + 0.5462742 * (xx - yy) * c[:, 8] - 0.5900436 * y * (3 * xx - yy) * c[:, 9]
    out = out + 2.8906114 * x * y * z * c[:, 10] - 0.4570458 * y * (4 * zz - xx - yy) * c[:, 11]
    out = out + 0.3731763 * z * (2 * zz - 3 * xx - 3 * yy) * c[:, 12] - 0.4570458 * x * (4 * zz - xx - yy) * c[:, 13]
    out = out + 1.4453057 * z * (xx - yy) * c[:, 14] - 0.5900436 * x * (xx - 3 * yy) * c[:, 15]
    return (out + 0.5).clamp_min(0.0)


@case("splat_colours_unfused", "splats", "memory_bandwidth", "torch.compile fuses the harmonics", 2_000_000)
def _(kind):
    coefficients = torch.randn(2_000_000, 16, 3, device=GPU)
    x, y, z = F.normalize(torch.randn(2_000_000, 3, device=GPU), dim=1)[..., None].unbind(1)
    function = torch.compile(harmonics) if kind == "fixed" else harmonics
    return inference(lambda: function(coefficients, x, y, z))


@case("pairs_of_features_by_broadcasting", "paired_clicks", "memory_bandwidth", "one batched matrix product", 4096)
def _(kind):
    model = PairedClicks(32, 5000, 64, kind == "broken").to(GPU)
    ids, clicked = torch.randint(0, 5000, (4096, 32)), torch.rand(4096).round()
    return training(model, lambda m, i, y: F.binary_cross_entropy_with_logits(m(i).float(), y), resident(ids, clicked))


@case("cache_grown_by_cat_at_every_word", "cached_decoder", "memory_bandwidth",
      "keys and values written into a cache that is long enough from the start", 48)
def _(kind):
    """Four words more for 48 texts of 2048 words."""
    blocks, length = nn.ModuleList(Block(1024, 16) for _ in range(6)).to(GPU).bfloat16().eval(), 2048
    room = torch.randn(6, 2, 48, 16, length + 8, 64, device=GPU, dtype=torch.bfloat16)
    grown = [tuple(part[:, :, :length].contiguous() for part in layer) for layer in room] if kind == "broken" else None
    word = torch.randn(48, 1, 1024, device=GPU, dtype=torch.bfloat16)

    def longer(cache, layer, at, k, v):
        if kind == "broken":
            cache[layer] = tuple(torch.cat(pair, dim=2) for pair in zip(cache[layer], (k, v)))
            return cache[layer]
        room[layer, 0, :, :, at:at + 1], room[layer, 1, :, :, at:at + 1] = k, v
        return room[layer, 0, :, :, :at + 1], room[layer, 1, :, :, :at + 1]

    def run():
        h, cache = word, list(grown or ())
        for at in range(length, length + 4):
            for layer, block in enumerate(blocks):
                q, k, v = block.project(h)
                h = h + block.proj(join_heads(block.mix(q, *longer(cache, layer, at, k, v))))
                h = h + block.feed(h)
        return h
    return inference(run)


# --- optimizer -------------------------------------------------------------------------------------------------------

@case("bottlenecks_adamw_per_parameter", "bottlenecks", "optimizer", "AdamW(fused=True)", 64)
def _(kind):
    model = Encoder(16000, 512, 0, 8, 128, 20).to(GPU)
    model.blocks.extend(AdapterBlock(512, 8).to(GPU) for _ in range(12))
    model.words.requires_grad_(False)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, 1e-3, **({"foreach": False} if kind == "broken" else {"fused": True}))
    data = torch.randint(0, 16000, (64, 128)), torch.randint(0, 20, (64,))
    return training(model, classify, resident(*data), optimizer)


@case("series_mixer_radam_per_parameter", "ts_mixer", "optimizer", "RAdam(foreach=True)", 64)
def _(kind):
    model = TsMixer(256, 128, 14).to(GPU)
    optimizer = torch.optim.RAdam(model.parameters(), 1e-3, foreach=kind == "fixed")
    data = torch.randn(64, 256, 128), torch.randn(64, 128, 96)
    return training(model, lambda m, x, y: F.mse_loss(m(x).float(), y), resident(*data), optimizer)


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("codec_without_caching_allocator", "codec", "memory_allocation", "the caching allocator", 16,
      environment=UNCACHED)
def _(kind):
    model = Codec(32, 8).to(GPU)
    return training(model, lambda m, x: F.l1_loss(m(x).float(), x), resident(torch.randn(16, 1, 16000)))


@case("ppo_empties_cache_per_minibatch", "impala", "memory_allocation", "no empty_cache() between minibatches", 1536)
def _(kind):
    """Two minibatches of the frames of one rollout."""
    model = Impala().to(GPU).to(memory_format=torch.channels_last)
    optimizer = adamw(model)
    frames = channels_last(torch.randint(0, 256, (1536, 4, 84, 84), dtype=torch.uint8, device=GPU))
    actions = torch.randint(0, 18, (1536, 1), device=GPU)
    before, gain, target = torch.full((1536,), -2.9, device=GPU), *torch.randn(2, 1536, device=GPU)

    def loss_of(part):
        out = model(frames[part].float() / 255).float()
        chances = out[:, :18].log_softmax(1)
        ratio = (chances.gather(1, actions[part])[:, 0] - before[part]).exp()
        policy = torch.minimum(ratio * gain[part], ratio.clamp(0.8, 1.2) * gain[part]).mean()
        return F.mse_loss(out[:, 18], target[part]) - policy + 0.01 * (chances.exp() * chances).sum(1).mean()

    def step():
        for part in (slice(0, 768), slice(768, 1536)):
            optimizer.zero_grad(set_to_none=True)
            with amp():
                loss = loss_of(part)
            loss.backward()
            optimizer.step()
            del loss
            if kind == "broken":
                torch.cuda.empty_cache()
    return step


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("codec_encodes_one_recording", "codec", "gpu_underused", "batch 1 -> 48", 1, fixed_batch=48,
      accept=["gpu_underused"])
def _(kind):
    model = Codec(32, 8).to(GPU).bfloat16().eval()
    waves = torch.randn(1 if kind == "broken" else 48, 1, 16000, device=GPU, dtype=torch.bfloat16)
    return captured(inference(lambda: model.quantized(model.encoded(waves))))


@case("critics_learn_from_64_moves", "critics", "gpu_underused", "batch 64 -> 8192", 64, fixed_batch=8192,
      accept=["gpu_underused"])
def _(kind):
    moves = 64 if kind == "broken" else 8192
    data = torch.randn(moves, 128), torch.randn(moves, 1)
    return graph_if(True, Critics(128, 512).to(GPU), lambda m, x, y: (m(x).float() - y).square().mean(),
                    resident(*data))


@case("energies_of_one_molecule", "egnn", "gpu_underused", "batch 1 -> 64", 1, fixed_batch=64)
def _(kind):
    molecules = 1 if kind == "broken" else 64
    data = torch.randint(0, 16, (molecules, 40)), torch.randn(molecules, 40, 3) * 3, torch.randn(molecules)
    return training(Egnn(128, 5).to(GPU), lambda m, a, x, y: F.mse_loss(m(a, x).float(), y), resident(*data))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("weather_healthy", "weather", "none", "", 12)
def _(kind):
    with torch.device(GPU):
        model = Weather(24, 1536, 4, 12).bfloat16()
    now, later = states(12, 24)
    return training(model, forecast_loss, Prefetched(now.bfloat16(), later.bfloat16()), mixed=False)


@case("video_latents_healthy", "latents", "none", "", 8)
def _(kind):
    with torch.device(GPU):
        model = Latents(2048, 5, 16, 1024).bfloat16()
    x, t, noise = torch.randn(8, 1024, 64), torch.rand(8), torch.randn(8, 1024, 64)

    def loss_of(m, x, t, noise):
        return F.mse_loss(m(torch.lerp(x, noise, t[:, None, None]), t).float(), (noise - x).float())
    return training(model, loss_of, Prefetched(*(part.bfloat16() for part in (x, t, noise))), mixed=False)


@case("two_texts_contrasted_healthy", "contrast", "none", "", 256)
def _(kind):
    with torch.device(GPU):
        model = Encoder(16384, 1536, 4, 12, 64, 512).bfloat16()

    def loss_of(m, asked, answered):
        ask, answer = (F.normalize(m(ids).float(), dim=1) for ids in (asked, answered))
        return F.cross_entropy(ask @ answer.T * 20, torch.arange(256, device=GPU))
    texts = (torch.randint(0, 16384, (256, 64)) for _ in range(2))
    return training(model, loss_of, Prefetched(*texts), mixed=False)


@case("grouped_prefill_healthy", "grouped", "none", "", 4)
def _(kind):
    with torch.device(GPU):
        model = nn.Sequential(*(Grouped(4096, 32) for _ in range(4))).bfloat16().eval()
    x = torch.randn(4, 2048, 4096, device=GPU, dtype=torch.bfloat16)
    return inference(lambda: model(x))


CASES = mixed_by_cause(FOUND)
