"""Networks, data sets and solvers of trace_cases_blind21.py: pets, traffic, scans, chats, organs, surfaces, few shots
and molecules. More stand in trace_nets_blind21b.py."""
import io

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.utils.data import Dataset

from trace_cases import GPU
from trace_cases_blind4 import Layer, join_heads, split_heads


# --- what is loaded --------------------------------------------------------------------------------------------------

class Pets(Dataset):
    """Photographs (JPEG files) of 37 breeds, changed by chance as in the recipes of torchvision."""

    def __init__(self, count=32, height=250, width=333):
        from PIL import Image
        from torchvision.transforms import v2
        drawn = np.random.default_rng(210)
        ramp = np.arange(height)[:, None, None] // 2 + np.arange(width)[None, :, None] // 4
        self.files = []
        for _ in range(count):
            file = io.BytesIO()
            noise = drawn.integers(0, 24, (height, width, 3))
            Image.fromarray(((ramp + noise) % 256).astype(np.uint8)).save(file, "JPEG", quality=92)
            self.files.append(file.getvalue())
        self.transform = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(),
                                     v2.RandAugment(), v2.PILToTensor(), v2.ToDtype(torch.float32, scale=True),
                                     v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        from PIL import Image
        picture = Image.open(io.BytesIO(self.files[index % len(self.files)])).convert("RGB")
        return self.transform(picture), index % 37


class Traffic:
    """How many cars passed each of 128 places in each of many spans of five minutes."""

    def __init__(self, places=128, times=40000, past=168, ahead=24):
        self.counts = np.random.default_rng(211).gamma(2.0, 30.0, (times, places))
        self.past, self.ahead = past, ahead

    def in_numpy(self, batch):
        def batches():
            pasts, futures = [], []
            for begin in np.random.randint(0, len(self.counts) - self.past - self.ahead, batch):
                window = self.counts[begin:begin + self.past + self.ahead]
                mean, spread = window[:self.past].mean(0), window[:self.past].std(0) + 1e-5
                window = (window - mean) / spread
                pasts.append(window[:self.past])
                futures.append(window[self.past:])
            past, future = (torch.tensor(np.stack(part), dtype=torch.float32) for part in (pasts, futures))
            return past.to(GPU).transpose(1, 2), future.to(GPU).transpose(1, 2)
        return batches

    def on_gpu(self, batch):
        counts = torch.from_numpy(self.counts).float().to(GPU)
        span = torch.arange(self.past + self.ahead, device=GPU)

        def batches():
            begin = torch.randint(0, len(counts) - len(span), (batch, 1), device=GPU)
            windows = counts[begin + span].transpose(1, 2)
            past = windows[..., :self.past]
            windows = (windows - past.mean(2, keepdim=True)) / (past.std(2, keepdim=True) + 1e-5)
            return windows[..., :self.past], windows[..., self.past:]
        return batches


# --- scans -----------------------------------------------------------------------------------------------------------

class Cubes(nn.Module):
    """Scans (n, depth, height, width) -> what is in each cube of 16 by 16 by 16"""

    def __init__(self, dim):
        super().__init__()
        self.cut = nn.Linear(16 ** 3, dim)

    def forward(self, x):
        x = x.unflatten(3, (-1, 16)).unflatten(2, (-1, 16)).unflatten(1, (-1, 16))
        return self.cut(x.permute(0, 1, 3, 5, 2, 4, 6).flatten(4).flatten(1, 3))


def overlaps_in_turn(found, right, organs=14):
    """Dice's coefficient of each organ of each scan; (scans, slices, height, width) each."""
    dice = {}
    for scan in range(len(found)):
        for organ in range(1, organs):
            mine, theirs = found[scan] == organ, right[scan] == organ
            both = (mine & theirs).sum().item()
            total = mine.sum().item() + theirs.sum().item()
            dice[scan, organ] = 2 * both / max(total, 1)
    return dice


def overlaps_at_once(found, right, organs=14):
    dice = []
    for organ in range(1, organs):
        mine, theirs = found == organ, right == organ
        both = (mine & theirs).sum((1, 2, 3))
        total = mine.sum((1, 2, 3)) + theirs.sum((1, 2, 3))
        dice.append(2 * both / total.clamp(min=1))
    return torch.stack(dice, dim=1)


# --- language --------------------------------------------------------------------------------------------------------

class Offloaded(nn.Module):
    """A layer whose weights wait on the host until it is its turn."""

    def __init__(self, layer):
        super().__init__()
        self.weights = {name: weight.detach().cpu() for name, weight in layer.state_dict().items()}
        self.layer = [layer.to("meta")]

    def forward(self, x):
        weights = {name: weight.to(x.device) for name, weight in self.weights.items()}
        return functional_call(self.layer[0], weights, (x,))


def rms(x, weight):
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weight


def turned(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], dim=-1) * sin


class ChatLayer(nn.Module):
    """Of a Llama: grouped queries, turned positions, a gated feed-forward."""

    def __init__(self, dim, heads, groups, hidden, batch, length):
        super().__init__()
        self.heads, self.groups, size = heads, groups, dim // heads
        self.norm1, self.norm2 = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.ones(dim))
        self.q, self.k, self.v = (nn.Linear(dim, count * size, bias=False) for count in (heads, groups, groups))
        self.o = nn.Linear(dim, dim, bias=False)
        self.gate, self.up, self.down = (nn.Linear(dim, hidden, bias=False), nn.Linear(dim, hidden, bias=False),
                                         nn.Linear(hidden, dim, bias=False))
        self.register_buffer("keys", torch.randn(batch, groups, length, size))
        self.register_buffer("values", torch.randn(batch, groups, length, size))

    def forward(self, x, at, cos, sin):
        y = rms(x, self.norm1)
        q, k, v = split_heads(self.q(y), self.heads), split_heads(self.k(y), self.groups), split_heads(self.v(y),
                                                                                                        self.groups)
        self.keys[:, :, at:at + 1] = turned(k, cos, sin)
        self.values[:, :, at:at + 1] = v
        known, told = self.keys[:, :, :at + 1], self.values[:, :, :at + 1]
        found = F.scaled_dot_product_attention(turned(q, cos, sin), known, told, enable_gqa=True)
        x = x + self.o(join_heads(found))
        y = rms(x, self.norm2)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class ChatModel(nn.Module):
    def __init__(self, batch, length, vocab=32000, dim=2048, heads=16, groups=4, layers=14):
        super().__init__()
        self.words, self.norm = nn.Embedding(vocab, dim), nn.Parameter(torch.ones(dim))
        self.layers = nn.ModuleList(ChatLayer(dim, heads, groups, 5632, batch, length) for _ in range(layers))
        self.head = nn.Linear(dim, vocab, bias=False)
        size = dim // heads
        angles = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, size, 2) / size)
        angles = torch.cat([angles, angles], dim=1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids, at):
        x, cos, sin = self.words(ids), self.cos[at], self.sin[at]
        for layer in self.layers:
            x = layer(x, at, cos, sin)
        return self.head(rms(x, self.norm))

    def answered(self, ids, begin, count):
        for at in range(begin, begin + count):
            ids = self(ids, at).argmax(-1)
        return ids


# --- surfaces --------------------------------------------------------------------------------------------------------

def kernel_of(places, width=0.3, noise=0.5):
    """How alike heights at two places are; (n, n)"""
    apart = (places[:, None] - places[None]).square().sum(-1)
    return torch.exp(-0.5 * apart / width ** 2) + noise * torch.eye(len(places), device=places.device)


def solved_in_turn(kernel, heights, steps=32):
    """Conjugate gradients: kernel @ x = heights"""
    x, rest = torch.zeros_like(heights), heights.clone()
    way, power = rest.clone(), torch.dot(rest, rest).item()
    for _ in range(steps):
        moved = kernel @ way
        length = power / torch.dot(way, moved).item()
        x += length * way
        rest -= length * moved
        after = torch.dot(rest, rest).item()
        if after < 1e-20:
            break
        way = rest + (after / power) * way
        power = after
    return x


def solved_on_gpu(kernel, heights, steps=32):
    x, rest = torch.zeros_like(heights), heights.clone()
    way, power = rest.clone(), torch.dot(rest, rest)
    for _ in range(steps):
        moved = kernel @ way
        length = power / torch.dot(way, moved)
        x.addcmul_(length, way)
        rest.addcmul_(length, moved, value=-1)
        after = torch.dot(rest, rest)
        way = torch.addcmul(rest, after / power, way)
        power = after
    return x


# --- few examples ----------------------------------------------------------------------------------------------------

class FewShots(nn.Module):
    """Finn et al.: weights from which a few steps lead to a network for a new task."""

    def __init__(self, features=512, dim=512, kinds=5):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU(),
                                    nn.Linear(dim, kinds))

    def forward(self, x):
        return self.layers(x)


def after_steps(model, weights, known, kinds, asked, answers, steps=3):
    """The loss of one task after some steps on its known examples."""
    def loss_of(weights, x, y):
        return F.cross_entropy(functional_call(model, weights, (x,)), y)
    for _ in range(steps):
        slopes = grad(loss_of)(weights, known, kinds)
        weights = {name: weight - 0.05 * slopes[name] for name, weight in weights.items()}
    return loss_of(weights, asked, answers)


def tasks_in_turn(model, *tasks):
    weights = dict(model.named_parameters())
    return torch.stack([after_steps(model, weights, *task) for task in zip(*tasks)]).mean()


def tasks_at_once(model, *tasks):
    weights = dict(model.named_parameters())
    return vmap(lambda *task: after_steps(model, weights, *task))(*tasks).mean()


# --- molecules -------------------------------------------------------------------------------------------------------

class MoleculeLayer(Layer):
    def forward(self, x, bias):
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        x = x + self.proj(join_heads(F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype))))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class MoleculeReader(nn.Module):
    """Ying et al.: atoms look at each other, more or less by how many bonds are between them."""

    def __init__(self, dim=768, heads=12, layers=8):
        super().__init__()
        self.atoms, self.degrees, self.ways = nn.Embedding(128, dim), nn.Embedding(16, dim), nn.Embedding(32, heads)
        self.layers = nn.ModuleList(MoleculeLayer(dim, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, 1)

    def forward(self, atoms, degrees, bonds_between):
        x = self.atoms(atoms) + self.degrees(degrees)
        bias = self.ways(bonds_between).permute(0, 3, 1, 2).contiguous()
        for layer in self.layers:
            x = layer(x, bias)
        return self.head(self.norm(x).mean(1))[:, 0]
