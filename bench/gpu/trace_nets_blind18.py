"""The networks, data sets and metrics of trace_cases_blind18.py that no library has."""
import io
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

from trace_cases import GPU
from trace_cases_blind4 import Layer, join_heads, split_heads


# --- data sets -------------------------------------------------------------------------------------------------------

class Leaves(Dataset):
    """Photographs of leaves as PNG files; which of 120 plants they are of."""

    def __init__(self, count=24, side=400):
        from PIL import Image
        from torchvision.transforms import v2
        drawn, ramp = np.random.default_rng(180), np.arange(side) // 4
        self.files = []
        for _ in range(count):
            noise = drawn.integers(0, 24, (side, side, 3))
            file = io.BytesIO()
            Image.fromarray((ramp[:, None, None] + ramp[:, None] + noise).astype(np.uint8)).save(file, "PNG")
            self.files.append(file.getvalue())
        self.transform = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(),
                                     v2.ToDtype(torch.float32, scale=True),
                                     v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        from PIL import Image
        picture = np.array(Image.open(io.BytesIO(self.files[index % len(self.files)])).convert("RGB"))
        return self.transform(torch.from_numpy(picture).permute(2, 0, 1)), index % 120


class Sentences:
    """Which sequence of eight letters of a genome stands near which other; the more frequent, the likelier drawn."""

    def __init__(self, words=65536, negatives=8):
        frequency = np.random.default_rng(181).zipf(1.5, words).clip(max=10000).astype(np.float64) ** 0.75
        self.chances, self.words, self.negatives = frequency / frequency.sum(), words, negatives

    def near(self, count):
        return torch.randint(0, self.words, (2, count), device=GPU).unbind()

    def in_numpy(self, count):
        def batches():
            far = np.random.choice(self.words, size=(count, self.negatives), p=self.chances)
            return *self.near(count), torch.from_numpy(far).to(GPU)
        return batches

    def on_gpu(self, count):
        edges = torch.from_numpy(self.chances.cumsum()).float().to(GPU)

        def batches():
            far = torch.searchsorted(edges, torch.rand(count, self.negatives, device=GPU))
            return *self.near(count), far.clamp(max=self.words - 1)
        return batches


class WordVectors(nn.Module):
    """Mikolov et al.: what stands near is told from what was drawn at random."""

    def __init__(self, words, dim=256):
        super().__init__()
        self.inner, self.outer = nn.Embedding(words, dim), nn.Embedding(words, dim)

    def forward(self, here, near, far):
        x = self.inner(here)
        apart = (self.outer(far) @ x[..., None])[..., 0]
        return -F.logsigmoid((x * self.outer(near)).sum(-1)).mean() - F.logsigmoid(-apart).sum(-1).mean()


# --- pictures --------------------------------------------------------------------------------------------------------

def twice(a, b, stride=1):
    return nn.Sequential(nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.SiLU(True),
                         nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.SiLU(True))


class Hourglass(nn.Module):
    """From pictures to pictures; height and width are to be multiples of 8."""

    def __init__(self, inputs, outputs, widths=(48, 96, 192, 384)):
        super().__init__()
        pairs = list(zip(widths, widths[1:]))
        self.stem, self.head = twice(inputs, widths[0]), nn.Conv2d(widths[0], outputs, 1)
        self.downs = nn.ModuleList(twice(a, b, 2) for a, b in pairs)
        self.ups = nn.ModuleList(twice(a + b, a) for a, b in pairs[::-1])

    def forward(self, x):
        kept = [self.stem(x)]
        for down in self.downs:
            kept.append(down(kept[-1]))
        x = kept.pop()
        for up in self.ups:
            x = up(torch.cat([kept.pop(), F.interpolate(x, scale_factor=2.0)], dim=1))
        return self.head(x)


def scan_loss(model, measured, seen):
    """measured (n, coils, h, w) is the spectrum that the coils of a scanner measured; some of its lines are missing."""
    coils = torch.fft.ifft2(measured)
    pictures = torch.view_as_real(coils).permute(0, 1, 4, 2, 3).flatten(1, 2)
    return F.l1_loss(model(pictures.contiguous(memory_format=torch.channels_last)).float(), seen)


def lab_of(rgb):
    """Red, green and blue from 0 to 1 (n, 3, h, w) as lightness and two colours, as people see them."""
    linear = torch.where(rgb > 0.04045, ((rgb.clamp(min=1e-4) + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    r, g, b = linear.unbind(1)
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089
    x, y, z = (torch.where(part > 0.008856, part.clamp(min=1e-4) ** (1 / 3), 7.787 * part + 16 / 116)
               for part in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def colours_apart(shown, wanted):
    """The colour difference of 1994, mean over all pixels."""
    light1, a1, b1 = lab_of(shown)
    light2, a2, b2 = lab_of(wanted)
    chroma1, chroma2 = (a1 * a1 + b1 * b1 + 1e-6).sqrt(), (a2 * a2 + b2 * b2 + 1e-6).sqrt()
    chroma = chroma1 - chroma2
    hue = ((a1 - a2) ** 2 + (b1 - b2) ** 2 - chroma * chroma).clamp(min=0)
    parts = (light1 - light2) ** 2 + (chroma / (1 + 0.045 * chroma2)) ** 2 + hue / (1 + 0.015 * chroma2) ** 2
    return (parts + 1e-6).sqrt().mean()


# --- waves in the ground ---------------------------------------------------------------------------------------------

class Ground:
    """Sound goes down into the ground and back; where it went both ways, the ground's speed can be corrected."""

    def __init__(self, shots=16, side=640, steps=40, every=10):
        self.steps, self.every = steps, every
        with torch.device(GPU):
            self.speed = 0.05 + 0.05 * torch.rand(1, 1, side, side)
            self.source, self.heard = torch.randn(2, shots, 1, side, side).unbind()
            line = torch.tensor([-1 / 12, 4 / 3, -5 / 2, 4 / 3, -1 / 12])
            self.kernel = torch.zeros(1, 1, 5, 5)
            self.kernel[0, 0, 2] += line
            self.kernel[0, 0, :, 2] += line

    def stepped(self, now, before):
        bent = F.conv2d(now, self.kernel, padding=2)
        return torch.addcmul(2 * now - before, self.speed, bent), now

    def corrected(self, keep, bring):
        now, before, kept = self.source, torch.zeros_like(self.source), []
        for at in range(self.steps):
            if at % self.every == 0:
                kept.append(keep(now))
            now, before = self.stepped(now, before)
        back, after, change = self.heard, torch.zeros_like(self.heard), torch.zeros_like(self.speed)
        for at in reversed(range(self.steps)):
            back, after = self.stepped(back, after)
            if at % self.every == 0:
                change += (back * bring(kept.pop())).sum(0, keepdim=True)
        return change


# --- who is where, and what comes next -------------------------------------------------------------------------------

class Watcher(nn.Module):
    """Sees 64 boxes in the picture of each camera."""

    def __init__(self, boxes=64):
        super().__init__()
        self.boxes = boxes
        self.layers = nn.Sequential(twice(3, 64, 2), twice(64, 128, 2), twice(128, 256, 2), twice(256, 512, 2),
                                    nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512 * 16, 4 * boxes))

    def forward(self, x):
        centre, size = self.layers(x).float().unflatten(1, (self.boxes, 4)).sigmoid().split(2, dim=-1)
        return torch.cat([centre - size / 2 - 0.01, centre + size / 2 + 0.01], dim=-1)


def overlaps(a, b):
    """(n, boxes, 4) each -> (n, boxes of a, boxes of b)"""
    low = torch.maximum(a[:, :, None, :2], b[:, None, :, :2])
    high = torch.minimum(a[:, :, None, 2:], b[:, None, :, 2:])
    both = (high - low).clamp(min=0).prod(-1)
    one, other = ((x[..., 2:] - x[..., :2]).prod(-1) for x in (a, b))
    return both / (one[:, :, None] + other[:, None] - both)


def followed(shared, least=0.05):
    """Whom of those known (rows) each of those seen (columns) is: the pair that overlaps most, then the next one."""
    pairs = []
    for overlap in shared:
        width = overlap.shape[1]
        for _ in range(len(overlap)):
            at = overlap.argmax().item()
            row, column = divmod(at, width)
            if overlap[row, column] < least:
                break
            pairs.append((row, column))
            overlap[row] = -1.0
            overlap[:, column] = -1.0
    return pairs


def kept_in_turn(chances, drafted, drawn):
    """How many of the words that a small model guessed the large one takes."""
    counts = []
    for row in range(len(chances)):
        count = 0
        while count < chances.shape[1] and drawn[row, count] < chances[row, count] / drafted[row, count]:
            count += 1
        counts.append(count)
    return torch.tensor(counts, device=chances.device)


def kept_at_once(chances, drafted, drawn):
    return (drawn < chances / drafted).long().cumprod(1).sum(1)


# --- layers ----------------------------------------------------------------------------------------------------------

def causal_by_hand(q, k, v):
    length = q.shape[-2]
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    later = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
    return scores.masked_fill(later, float("-inf")).softmax(-1) @ v


def causal_fused(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def biased_by_hand(q, k, v, bias):
    scores = torch.einsum("bhid,bhjd->bhij", q, k) * q.shape[-1] ** -0.5 + bias
    return torch.einsum("bhij,bhjd->bhid", scores.softmax(-1), v)


def biased_fused(q, k, v, bias):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


class MixLayer(Layer):
    def __init__(self, dim, heads, attended):
        super().__init__(dim, heads)
        self.attended = attended

    def mix(self, x, *bias):
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))
        return self.proj(join_heads(self.attended(q, k, v, *bias)))


class BiasedLayer(MixLayer):
    def forward(self, x, bias):
        x = x + self.mix(self.norm1(x), bias)
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class StarReader(nn.Module):
    """Patches of the sky; those that are near each other have more to tell."""

    def __init__(self, attended, side=48, dim=768, heads=12, layers=6):
        super().__init__()
        self.inlet, self.head = nn.Linear(300, dim), nn.Linear(dim, 8)
        self.layers = nn.ModuleList(BiasedLayer(dim, heads, attended) for _ in range(layers))
        places = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij"), dim=-1)
        places = places.flatten(0, 1).float()
        slopes = 2.0 ** -torch.arange(1, heads + 1)
        self.register_buffer("bias", -slopes[:, None, None] * torch.cdist(places, places))

    def forward(self, x):
        x = self.inlet(x)
        for layer in self.layers:
            x = layer(x, self.bias.expand(len(x), -1, -1, -1))
        return self.head(x)


class Words(nn.Module):
    """Layers over words; some numbers for each."""

    def __init__(self, vocab, dim, layers, outputs, make):
        super().__init__()
        self.words, self.norm, self.head = nn.Embedding(vocab, dim), nn.LayerNorm(dim), nn.Linear(dim, outputs)
        self.layers = nn.Sequential(*(make() for _ in range(layers)))

    def hidden(self, ids):
        return self.norm(self.layers(self.words(ids)))

    def forward(self, ids):
        return self.head(self.hidden(ids))


def next_word(scores, ids):
    return F.cross_entropy(scores[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())


# --- codes, qubits, pores --------------------------------------------------------------------------------------------

def counted_by_one_hot(nearest, x, codes):
    chosen = F.one_hot(nearest, codes).type(x.dtype)
    return chosen.sum(0), chosen.t() @ x


def counted_by_index(nearest, x, codes):
    sums = torch.zeros(codes, x.shape[1], dtype=x.dtype, device=x.device).index_add_(0, nearest, x)
    return torch.zeros_like(sums[:, 0]).index_add_(0, nearest, torch.ones_like(x[:, 0])), sums


class TileCoder(nn.Module):
    """Pictures as codes: each of 8192 codes is a moving average of what it stood for."""

    def __init__(self, counted, codes=8192, dim=64, width=256):
        super().__init__()
        self.counted = counted
        self.encoder = nn.Sequential(nn.Conv2d(3, width, 4, 4), nn.ReLU(True), nn.Conv2d(width, dim, 1))
        self.decoder = nn.Sequential(nn.Conv2d(dim, width, 1), nn.ReLU(True), nn.ConvTranspose2d(width, 3, 4, 4))
        self.register_buffer("codes", torch.randn(codes, dim))
        self.register_buffer("counts", torch.ones(codes))
        self.register_buffer("sums", self.codes.clone())

    @torch.no_grad()
    def moved(self, x):
        nearest = torch.addmm(self.codes.square().sum(1), x, self.codes.t(), alpha=-2).argmin(1)
        counts, sums = self.counted(nearest, x, len(self.codes))
        self.counts.mul_(0.99).add_(counts, alpha=0.01)
        self.sums.mul_(0.99).add_(sums, alpha=0.01)
        self.codes.copy_(self.sums / self.counts.clamp(min=1e-3)[:, None])
        return nearest

    def forward(self, x):
        z = self.encoder(x).float().permute(0, 2, 3, 1)
        coded = self.codes[self.moved(z.detach().flatten(0, 2))].view(z.shape)
        shown = self.decoder((z + (coded - z).detach()).permute(0, 3, 1, 2))
        return F.mse_loss(shown.float(), x) + 0.25 * F.mse_loss(z, coded)


class Qubits(nn.Module):
    """A circuit of gates on ten qubits, which learns to tell two kinds of measurements apart."""

    def __init__(self, qubits=10, layers=5):
        super().__init__()
        self.qubits = qubits
        self.inlet, self.head = nn.Linear(24, qubits), nn.Linear(qubits, 2)
        self.angles = nn.Parameter(torch.randn(layers, qubits))
        bits = torch.arange(1 << qubits)[:, None] >> torch.arange(qubits - 1, -1, -1) & 1
        self.register_buffer("signs", 1.0 - 2.0 * bits)
        self.register_buffer("entangled", 1.0 - 2.0 * ((bits[:, 1:] * bits[:, :-1]).sum(1) % 2))

    def turned(self, state, qubit, angle):
        """state (n, 2 ** qubits); angle (n, 1, 1) or one for all"""
        state = state.view(len(state), 1 << qubit, 2, -1)
        low, high, cos, sin = state[:, :, 0], state[:, :, 1], torch.cos(angle / 2), torch.sin(angle / 2)
        return torch.stack([cos * low - sin * high, sin * low + cos * high], dim=2).flatten(1)

    def forward(self, x):
        angles = self.inlet(x)
        state = torch.zeros(len(x), 1 << self.qubits, device=x.device)
        state[:, 0] = 1.0
        for qubit in range(self.qubits):
            state = self.turned(state, qubit, angles[:, qubit, None, None])
        for layer in self.angles:
            for qubit in range(self.qubits):
                state = self.turned(state, qubit, layer[qubit])
            state = state * self.entangled
        return self.head(state.square() @ self.signs)


class PoreReader(nn.Module):
    """Reads letters out of the current through a pore: 4000 samples become 800 frames of 5 chances."""

    def __init__(self, dim=512, layers=8):
        super().__init__()
        self.near = nn.Sequential(nn.Conv1d(1, 64, 5, padding=2), nn.SiLU(True), nn.Conv1d(64, dim, 19, 5, 9),
                                  nn.SiLU(True))
        self.layers, self.head = nn.Sequential(*(Layer(dim, 8) for _ in range(layers))), nn.Linear(dim, 5)

    def forward(self, current):
        return self.head(self.layers(self.near(current).transpose(1, 2)))
