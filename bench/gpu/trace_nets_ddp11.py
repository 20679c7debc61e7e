"""The networks and data sets of trace_cases_ddp11.py that no library has."""
import io
import random

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own

GPU = "cuda"


# --- speech ----------------------------------------------------------------------------------------------------------

class Recogniser(nn.Module):
    """The sounds of each 40 ms of a recording, from its spectrogram."""

    def __init__(self, dim=1024, layers=8, heads=16, sounds=2000):
        super().__init__()
        self.first, self.second = (nn.Conv1d(a, dim, 3, stride=2, padding=1) for a in (80, dim))
        self.blocks = nn.Sequential(*(own.Block(dim, heads, causal=False) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, sounds)

    def forward(self, frames):
        x = F.gelu(self.second(F.gelu(self.first(frames)))).transpose(1, 2).contiguous()
        return self.head(self.norm(self.blocks(x)))


def sounds_loss(model, frames, sounds):
    return F.cross_entropy(model(frames).flatten(0, 1).float(), sounds.flatten())


def recordings(batch, frames):
    return torch.randn(batch, 80, frames), torch.randint(0, 2000, (batch, frames // 4))


# --- texts -----------------------------------------------------------------------------------------------------------

class ReaderLayer(nn.Module):
    """The heads and hidden units that one of `ranks` has of a layer; `wide` adds the partial sums up in fp32."""

    def __init__(self, dim, heads, ranks, wide):
        super().__init__()
        self.heads, self.wide = heads // ranks, wide
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim // ranks), nn.Linear(dim // ranks, dim, bias=False)
        self.up, self.down = nn.Linear(dim, 4 * dim // ranks), nn.Linear(4 * dim // ranks, dim, bias=False)

    def summed(self, part):
        total = part.float() if self.wide else part
        dist.all_reduce(total)
        return total.to(part.dtype)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.summed(self.out(mixed.transpose(1, 2).flatten(2)))
        return x + self.summed(self.down(F.gelu(self.up(self.norm2(x)))))


class WholeWords:
    """Texts of which one word of seven is to be guessed, with all of its pieces: of these eight of ten are hidden, one
    is another piece and one stays."""

    def __init__(self, batch, length, on_gpu, vocab=8192, mask=4):
        dice = random.Random(dist.get_rank())
        self.texts = [[self.word(dice, vocab) for _ in range(length)] for _ in range(batch)]
        self.length, self.on_gpu, self.vocab, self.mask = length, on_gpu, vocab, mask
        ids = [[piece for word in text for piece in word][:length] for text in self.texts]
        of_word = [[at for at, word in enumerate(text) for _ in word][:length] for text in self.texts]
        self.ids, self.of_word = torch.tensor(ids).to(GPU), torch.tensor(of_word).to(GPU)

    @staticmethod
    def word(dice, vocab):
        return [dice.randrange(5, vocab) for _ in range(dice.choice((1, 1, 1, 2, 2, 3)))]

    def changed(self, piece):
        draw = random.random()
        return self.mask if draw < 0.8 else random.randrange(5, self.vocab) if draw < 0.9 else piece

    def masked(self):
        """Word by word, as it is read."""
        inputs, labels = [], []
        for text in self.texts:
            given, wanted = [], []
            for word in text:
                if len(given) >= self.length:
                    break
                chosen = random.random() < 0.15
                for piece in word:
                    given.append(self.changed(piece) if chosen else piece)
                    wanted.append(piece if chosen else -100)
            inputs.append(given[:self.length])
            labels.append(wanted[:self.length])
        return torch.tensor(inputs).to(GPU), torch.tensor(labels).to(GPU)

    def __call__(self):
        if not self.on_gpu:
            return self.masked()
        words = torch.rand(self.ids.shape, device=GPU) < 0.15
        chosen, draw = words.gather(1, self.of_word), torch.rand(self.ids.shape, device=GPU)
        others = torch.where(draw < 0.9, torch.randint_like(self.ids, 5, self.vocab), self.ids)
        changed = torch.where(draw < 0.8, self.mask, others)
        return torch.where(chosen, changed, self.ids), self.ids.masked_fill(~chosen, -100)


# --- what people bought ----------------------------------------------------------------------------------------------

class Baskets(nn.Module):
    """The next purchase of a customer from those before; each is an item, a shop, an hour and so on."""

    def __init__(self, fields=12, values=8192, dim=768, layers=4, heads=12):
        super().__init__()
        self.fields = nn.Embedding(values, dim // fields)
        self.blocks = nn.Sequential(*(own.Block(dim, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, values)

    def forward(self, events):
        scores = self.head(self.norm(self.blocks(self.fields(events).flatten(2))))
        return F.cross_entropy(scores[:, :-1].flatten(0, 1).float(), events[:, 1:, 0].flatten())


class Histories:
    """The purchases of a batch of customers; `packed`: from a file with all of them made equally long."""

    def __init__(self, batch, length, packed, fields=12, values=8192):
        dice = random.Random(dist.get_rank())
        counts = [dice.randint(length // 2, length) for _ in range(batch)]
        self.rows = [[[dice.randrange(1, values) for _ in range(fields)] for _ in range(count)] for count in counts]
        self.length, self.empty = length, [0] * fields
        self.packed = self.padded().pin_memory() if packed else None

    def padded(self):
        return torch.tensor([row + [self.empty] * (self.length - len(row)) for row in self.rows])

    def __call__(self):
        batch = self.padded() if self.packed is None else self.packed
        return (batch.to(GPU, non_blocking=True),)


# --- pictures --------------------------------------------------------------------------------------------------------

class Terrain(Dataset):
    """Height, slope, rain and sunshine of a square of land, each square a compressed file of numpy."""

    def __init__(self, squares=24, side=224):
        dice, self.files = np.random.default_rng(5), []
        for _ in range(squares):
            file = io.BytesIO()
            layers = dice.normal(0, 300, (4, side, side)).cumsum(2).astype(np.int16)
            np.savez_compressed(file, layers=layers, kind=dice.integers(0, 30))
            self.files.append(file.getvalue())

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        with np.load(io.BytesIO(self.files[index % len(self.files)])) as square:
            layers, kind = square["layers"].astype(np.float32), int(square["kind"])
        layers = np.rot90(layers, index % 4, (1, 2))
        layers = (layers - layers.mean((1, 2), keepdims=True)) / (layers.std((1, 2), keepdims=True) + 1e-3)
        return torch.from_numpy(np.ascontiguousarray(layers)), kind


class Finder(nn.Module):
    """Nine boxes at every place of the last map, each of one of 21 kinds; kind 0 is no thing at all."""

    def __init__(self, backbone, features, kinds=21, boxes=9):
        super().__init__()
        self.backbone, self.kinds = backbone, kinds
        self.head = nn.Conv2d(features, boxes * kinds, 3, padding=1)

    def forward(self, x):
        scores = self.head(self.backbone.forward_features(x))
        return scores.permute(0, 2, 3, 1).flatten(1).unflatten(1, (-1, self.kinds))


def hard_loss(scores, wanted, together):
    """All boxes with a thing, and three times as many of those without whose loss is the largest, in each picture."""
    losses = F.cross_entropy(scores.flatten(0, 1).float(), wanted.flatten(), reduction="none").view(wanted.shape)
    things = wanted > 0
    if together:
        counts = things.sum(1, keepdim=True)
        order = losses.detach().masked_fill(things, -1.0).argsort(1, descending=True)
        hard = order.argsort(1) < 3 * counts
        return (losses * (things | hard)).sum() / counts.sum()
    total, found = 0.0, 0
    for loss, thing in zip(losses, things):
        count = thing.sum().item()
        hardest = loss[~thing].topk(3 * count).values
        total, found = total + loss[thing].sum() + hardest.sum(), found + count
    return total / found


def boxes_of(batch, places, boxes=9, kinds=21):
    """A thing in about one box of thirty."""
    some = torch.randint(1, kinds, (batch, places * boxes))
    return some * (torch.rand(some.shape) < 1 / 30)
