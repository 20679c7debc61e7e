"""What trace_cases_ddp19.py needs for networks that are whole on each rank and no library has."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own

GPU = "cuda"


# --- sleep -----------------------------------------------------------------------------------------------------------

class Nights(Dataset):
    """Windows of recordings of the sleep, of which only slow and middling waves are kept."""

    def __init__(self, channels=32, length=2048, nights=64):
        self.nights = np.random.default_rng(7).standard_normal((nights, channels, 2 * length)).astype(np.float32)
        self.length, rates = length, np.fft.rfftfreq(length, 1 / 256)
        self.kept = ((rates > 0.3) & (rates < 35)).astype(np.float64)

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        first = (index * 37) % self.length
        window = self.nights[index % len(self.nights), :, first:first + self.length].astype(np.float64)
        window = np.fft.irfft(np.fft.rfft(window, axis=1) * self.kept, self.length, axis=1)
        middle, spread = np.median(window, axis=1, keepdims=True), window.std(axis=1, keepdims=True)
        window = np.clip((window - middle) / (spread + 1e-6), -8, 8)
        return torch.from_numpy(window.astype(np.float32)), index % 5


class Sleepers(nn.Module):
    """The stage of sleep in a window."""

    def __init__(self, channels=32, dim=512, layers=6, heads=8, stages=5):
        super().__init__()
        self.inlet = nn.Sequential(nn.Conv1d(channels, dim, 8, stride=4, padding=2), nn.GELU(),
                                   nn.Conv1d(dim, dim, 4, stride=2, padding=1), nn.GELU())
        self.blocks = nn.Sequential(*(own.Block(dim, heads, causal=False) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, stages)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.inlet(x).transpose(1, 2))).mean(1))


# --- pictures --------------------------------------------------------------------------------------------------------

def pasted_in_turn(pictures, partners, boxes):
    """Into each picture the part of its partner that is in its box (top, bottom, left, right)."""
    mixed = pictures.clone()
    for index in range(len(pictures)):
        top, bottom, left, right = boxes[index].tolist()
        mixed[index, :, top:bottom, left:right] = pictures[int(partners[index]), :, top:bottom, left:right]
    return mixed


def pasted_at_once(pictures, partners, boxes):
    top, bottom, left, right = (side[:, None, None, None] for side in boxes.unbind(1))
    rows = torch.arange(pictures.shape[2], device=pictures.device)[:, None]
    columns = torch.arange(pictures.shape[3], device=pictures.device)
    inside = (rows >= top) & (rows < bottom) & (columns >= left) & (columns < right)
    return torch.where(inside, pictures[partners], pictures)


def drawn_boxes(count, size):
    """Top, bottom, left and right of a box a picture, drawn on the GPU."""
    ends = torch.randint(0, size + 1, (count, 2, 2), device=GPU).sort(dim=2).values
    return ends.flatten(1)


class GroupNorm(nn.Module):
    """`by_hand`: as in the paper."""

    def __init__(self, width, groups, by_hand):
        super().__init__()
        self.groups, self.by_hand = groups, by_hand
        self.scale, self.shift = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        if not self.by_hand:
            return F.group_norm(x, self.groups, self.scale, self.shift, 1e-5)
        parts = x.float().unflatten(1, (self.groups, -1))
        mean = parts.mean((2, 3, 4), keepdim=True)
        variance = (parts - mean).square().mean((2, 3, 4), keepdim=True)
        parts = (parts - mean) / torch.sqrt(variance + 1e-5)
        return parts.flatten(1, 2) * self.scale[:, None, None] + self.shift[:, None, None]


class Glaciers(nn.Module):
    """What each place of a glacier is, from radar."""

    def __init__(self, by_hand, bands=4, width=96, layers=6, kinds=8):
        super().__init__()
        self.by_hand = by_hand
        self.inlet, self.outlet = nn.Conv2d(bands, width, 3, padding=1), nn.Conv2d(width, kinds, 1)
        self.convolutions = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(layers))
        self.norms = nn.ModuleList(GroupNorm(width, 8, by_hand) for _ in range(layers))

    def forward(self, x):
        x = self.inlet(x)
        for convolution, norm in zip(self.convolutions, self.norms):
            h = norm(convolution(x))
            x = x + (h * torch.sigmoid(h) if self.by_hand else F.silu(h)).to(x.dtype)
        return self.outlet(x)


# --- language --------------------------------------------------------------------------------------------------------

class TaleBlock(nn.Module):
    def __init__(self, dim, heads, written_out):
        super().__init__()
        self.heads, self.written_out = heads, written_out
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def attend(self, q, k, v, later):
        """Of batch, words, heads and numbers."""
        if not self.written_out:
            q, k, v = (part.transpose(1, 2) for part in (q, k, v))
            return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k).float() / q.shape[-1] ** 0.5
        chances = torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1).to(v.dtype)
        return torch.einsum("bhqk,bkhd->bqhd", chances, v)

    def forward(self, x, later):
        parts = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(2, (self.heads, -1)) for part in parts)
        x = x + self.out(self.attend(q, k, v, later).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Tales(nn.Module):
    def __init__(self, written_out, vocab=8192, dim=1024, layers=6, heads=16, length=2048):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(1, length, dim))
        self.blocks = nn.ModuleList(TaleBlock(dim, heads, written_out) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)
        self.register_buffer("later", torch.ones(length, length, dtype=torch.bool).triu(1))

    def forward(self, ids):
        x = self.words(ids) + self.positions
        for block in self.blocks:
            x = block(x, self.later)
        return self.head(self.norm(x))


class Commentary(nn.Module):
    """Words about a game of chess, from its moves."""

    def __init__(self, moves=2048, vocab=8192, dim=768, layers=4, heads=12, length=256):
        super().__init__()
        self.moves, self.words = nn.Embedding(moves, dim), nn.Embedding(vocab, dim)
        self.positions = nn.Parameter(torch.zeros(1, length, dim))
        self.encoder = nn.ModuleList(own.Block(dim, heads, causal=False) for _ in range(layers))
        self.decoder = nn.ModuleList(own.Block(dim, heads) for _ in range(layers))
        self.ask, self.tell = (nn.ModuleList(nn.Linear(dim, size) for _ in range(layers)) for size in (dim, 2 * dim))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(layers))
        self.norm, self.head, self.heads = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False), heads

    def split(self, x):
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def forward(self, moves, words):
        game, x = self.moves(moves) + self.positions, self.words(words) + self.positions
        for block in self.encoder:
            game = block(game)
        for block, norm, ask, tell in zip(self.decoder, self.norms, self.ask, self.tell):
            k, v = (self.split(part) for part in tell(game).chunk(2, dim=-1))
            x = x + F.scaled_dot_product_attention(self.split(ask(norm(x))), k, v).transpose(1, 2).flatten(2)
            x = block(x)
        return self.head(self.norm(x))


class Sermons(nn.Module):
    """A decoder; what its blocks keep for backward waits on the host if `on_host`."""

    def __init__(self, on_host, vocab=8192, dim=1024, layers=8, heads=16, length=1024):
        super().__init__()
        self.on_host = on_host
        self.words, self.positions = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(1, length, dim))
        self.blocks = nn.Sequential(*(own.Block(dim, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        x = self.words(ids) + self.positions
        if self.on_host:
            with torch.autograd.graph.save_on_cpu(pin_memory=True):
                x = self.blocks(x)
        else:
            x = self.blocks(x)
        return self.head(self.norm(x))


# --- oil wells -------------------------------------------------------------------------------------------------------

class Wells(nn.Module):
    """What each of many oil wells gives, by a small network of its own. `at_once`: all of them in batched products."""

    def __init__(self, at_once, wells=64, numbers=64, width=512):
        super().__init__()
        self.at_once = at_once
        if at_once:
            sizes = (numbers, width), (width, width), (width, 1)
            self.weights = nn.ParameterList([nn.Parameter(torch.randn(wells, *size) / size[0] ** 0.5)
                                             for size in sizes])
            self.shifts = nn.ParameterList([nn.Parameter(torch.zeros(wells, 1, size[1])) for size in sizes])
        else:
            self.networks = nn.ModuleList(nn.Sequential(nn.Linear(numbers, width), nn.ReLU(), nn.Linear(width, width),
                                                        nn.ReLU(), nn.Linear(width, 1)) for _ in range(wells))

    def forward(self, x):
        """Wells, days, numbers -> wells, days."""
        if not self.at_once:
            return torch.stack([network(part) for network, part in zip(self.networks, x)]).squeeze(2)
        for layer, (weight, shift) in enumerate(zip(self.weights, self.shifts)):
            x = torch.baddbmm(shift, F.relu(x) if layer else x, weight)
        return x.squeeze(2)
