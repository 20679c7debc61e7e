"""The networks, data sets and losses of trace_cases_blind12.py that no library has."""
import random
import zlib

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

from trace_nets_blind9 import picture_network

GPU = "cuda"


class HourGlass(nn.Module):
    """Down by `step` between the widths and up again, over lines, pictures or volumes."""

    def __init__(self, dims, inputs, outputs, widths, kernel=3, step=2):
        super().__init__()
        conv, norm, up, pool = ((nn.Conv1d, nn.BatchNorm1d, nn.ConvTranspose1d, nn.MaxPool1d),
                                (nn.Conv2d, nn.BatchNorm2d, nn.ConvTranspose2d, nn.MaxPool2d),
                                (nn.Conv3d, nn.BatchNorm3d, nn.ConvTranspose3d, nn.MaxPool3d))[dims - 1]

        def block(a, b):
            parts = []
            for first, second in ((a, b), (b, b)):
                parts += [conv(first, second, kernel, padding=kernel // 2, bias=False), norm(second), nn.ReLU(True)]
            return nn.Sequential(*parts)
        self.down = nn.ModuleList(block(a, b) for a, b in zip((inputs, *widths), widths))
        self.up = nn.ModuleList(up(b, a, step, step) for a, b in zip(widths, widths[1:]))
        self.merge = nn.ModuleList(block(2 * a, a) for a in widths[:-1])
        self.pool, self.head = pool(step), conv(widths[0], outputs, 1)

    def forward(self, x):
        kept = []
        for block in self.down:
            kept.append(block(self.pool(kept[-1]) if kept else x))
        x = kept.pop()
        for up, merge in reversed(list(zip(self.up, self.merge))):
            x = merge(torch.cat([kept.pop(), up(x)], dim=1))
        return self.head(x)


# --- shops and earthquakes -------------------------------------------------------------------------------------------

class Purchases:
    """Who bought what; a batch has a buyer, something that he bought and something that he did not."""

    def __init__(self, users=20000, items=8000, each=40):
        table = np.random.default_rng(7).integers(0, items, (users, each))
        self.items, self.bought = items, table.tolist()
        self.had, self.table = [set(row) for row in self.bought], torch.from_numpy(table)

    def drawn(self, count):
        users, liked, others = [], [], []
        for _ in range(count):
            user = random.randrange(len(self.bought))
            other = random.randrange(self.items)
            while other in self.had[user]:
                other = random.randrange(self.items)
            users.append(user)
            liked.append(random.choice(self.bought[user]))
            others.append(other)
        return tuple(torch.tensor(part).to(GPU) for part in (users, liked, others))

    def drawn_by_table(self, table, count):
        """`table`: all purchases, on the GPU."""
        users = torch.randint(0, len(table), (count,), device=GPU)
        rows = table[users]
        liked = rows.gather(1, torch.randint(0, rows.shape[1], (count, 1), device=GPU))[:, 0]
        others, again = torch.randint(0, self.items, (2, count), device=GPU)
        return users, liked, torch.where((rows == others[:, None]).any(1), again, others)


class Collaborative(nn.Module):
    """How much a buyer would like something: an MLP of the two."""

    def __init__(self, users=20000, items=8000, dim=512, width=2560):
        super().__init__()
        self.users, self.items = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.layers = nn.Sequential(nn.Linear(2 * dim, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                    nn.Linear(width, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, users, items):
        return self.layers(torch.cat([self.users(users), self.items(items)], dim=-1))[..., 0]


class Tremors(Dataset):
    """Recordings of three axes, packed `a_chunk` at a time, and where in them the waves arrive."""

    def __init__(self, a_chunk, count=192, length=6144):
        waves = (np.random.default_rng(8).standard_normal((count, 3, length)) * 60).astype(np.int16)
        self.chunks = [zlib.compress(waves[at:at + a_chunk].tobytes(), 1) for at in range(0, count, a_chunk)]
        self.a_chunk, self.count, self.length = a_chunk, count, length

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        at = index * 7919 % self.count  # as if shuffled
        chunk = np.frombuffer(zlib.decompress(self.chunks[at // self.a_chunk]), np.int16)
        wave = chunk.reshape(-1, 3, self.length)[at % self.a_chunk].astype(np.float32) / 60
        arrivals = torch.zeros(self.length, dtype=torch.long)
        first = 500 + index * 131 % 3000
        arrivals[first:first + 80], arrivals[first + 1500:first + 1580] = 1, 2
        return torch.from_numpy(wave), arrivals


# --- boxes -----------------------------------------------------------------------------------------------------------

class Detector(nn.Module):
    """Three boxes a cell of 32 pixels."""

    def __init__(self, name, size, inputs=1024):
        super().__init__()
        self.body, self.head = picture_network(name, num_classes=0), nn.Conv2d(inputs, 15, 1, device=GPU)
        rows, columns = torch.meshgrid(*(torch.arange(size // 32, device=GPU).float() for _ in range(2)), indexing="ij")
        self.register_buffer("cells", torch.stack([columns, rows]))
        self.register_buffer("sizes", torch.tensor([40.0, 80.0, 160.0], device=GPU).view(3, 1, 1, 1))

    def forward(self, x):
        told = self.head(self.body.forward_features(x)).float().unflatten(1, (3, 5))
        middles = (self.cells.float() + told[:, :, :2].sigmoid()) * 32
        half = self.sizes.float() * told[:, :, 2:4].clamp(-1, 1).exp() / 2
        boxes = torch.cat([middles - half, middles + half], dim=2)
        return boxes.movedim(2, -1).flatten(1, 3), told[:, :, 4].flatten(1)


def candidates(boxes, scores, count=200):
    best, at = scores.topk(count)
    return boxes.gather(1, at[..., None].expand(-1, -1, 4)), best


def suppressed(boxes, scores, most=20, overlap=0.5):
    """Of boxes that overlap, the best one."""
    from torchvision.ops import box_iou
    found = []
    for box, score in zip(boxes, scores):
        order, kept = score.argsort(descending=True), []
        while len(order) and len(kept) < most:
            best, order = order[:1], order[1:]
            kept.append(best.item())
            order = order[box_iou(box[best], box[order])[0] <= overlap]
        found.append(torch.tensor(kept))
    return found


def suppressed_by_library(boxes, scores, most=20, overlap=0.5):
    from torchvision.ops import batched_nms
    pictures, count = scores.shape
    of = torch.arange(pictures * count, device=boxes.device) // count
    kept = batched_nms(boxes.flatten(0, 1), scores.flatten(), of, overlap).cpu()
    return [kept[kept // count == at][:most] - at * count for at in range(pictures)]


# --- speech ----------------------------------------------------------------------------------------------------------

class FrameBlock(nn.Module):
    """Attention, then a convolution over nine neighbours."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.wide, self.narrow = nn.Conv1d(dim, 4 * dim, 9, padding=4), nn.Conv1d(4 * dim, dim, 1)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = self.norm1(x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)))
        return self.norm2(x + self.narrow(F.relu(self.wide(x.transpose(1, 2)))).transpose(1, 2))


class Speaker(nn.Module):
    """Frames of speech from phonemes and how many frames each of them lasts."""

    def __init__(self, lengthened, dim=512, heads=8, frames=1024):
        super().__init__()
        self.phonemes, self.lengthened, self.frames = nn.Embedding(80, dim), lengthened, frames
        self.before = nn.Sequential(*(FrameBlock(dim, heads) for _ in range(4)))
        self.after = nn.Sequential(*(FrameBlock(dim, heads) for _ in range(6)))
        self.mel = nn.Linear(dim, 80)

    def forward(self, phonemes, lasting):
        x = self.before(self.phonemes(phonemes))
        return self.mel(self.after(self.lengthened(x, lasting, self.frames)))


def lengthened_in_turn(x, lasting, frames):
    rows = []
    for text, counts in zip(x, lasting):
        parts = [one.expand(max(int(count.item()), 0), -1) for one, count in zip(text, counts)]
        rows.append(torch.cat(parts)[:frames])
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


def lengthened_at_once(x, lasting, frames):
    frame = torch.arange(frames, device=x.device).repeat(len(x), 1)
    at = torch.searchsorted(lasting.cumsum(1), frame, right=True)
    return x.gather(1, at[..., None].expand(-1, -1, x.shape[-1]))


class MelDecoder(nn.Module):
    """Reads an encoded text while it speaks: two LSTMs and additive attention, frame after frame."""

    def __init__(self, text=512, width=512, mels=320):
        super().__init__()
        self.width, self.text = width, text
        self.prenet = nn.Sequential(nn.Linear(mels, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
        self.first, self.second = nn.LSTMCell(256 + text, width), nn.LSTMCell(width + text, width)
        self.query, self.keys = nn.Linear(width, 128, bias=False), nn.Linear(text, 128, bias=False)
        self.score, self.mel = nn.Linear(128, 1, bias=False), nn.Linear(width + text, mels)

    def forward(self, text, frames):
        keys, heard = self.keys(text), self.prenet(frames)
        state1, state2 = ((text.new_zeros(len(text), self.width),) * 2 for _ in range(2))
        read, spoken = text.new_zeros(len(text), self.text), []
        for frame in heard.unbind(1):
            state1 = self.first(torch.cat([frame, read], dim=1), state1)
            scores = self.score(torch.tanh(keys + self.query(state1[0])[:, None]))
            read = (scores.softmax(1) * text).sum(1)
            state2 = self.second(torch.cat([state1[0], read], dim=1), state2)
            spoken.append(torch.cat([state2[0], read], dim=1))
        return self.mel(torch.stack(spoken, dim=1))


# --- pictures and volumes --------------------------------------------------------------------------------------------

class Doubled(nn.Module):
    """Residual convolutions with group norms."""

    def __init__(self, a, b):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(32, a), nn.GroupNorm(32, b)
        self.conv1, self.conv2 = nn.Conv2d(a, b, 3, padding=1), nn.Conv2d(b, b, 3, padding=1)
        self.pass_by = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x):
        y = self.conv1(F.silu(self.norm1(x)))
        return self.pass_by(x) + self.conv2(F.silu(self.norm2(y)))


class LatentDecoder(nn.Module):
    """Pictures of eight times the latents' size."""

    def __init__(self, widths=(512, 512, 256, 128)):
        super().__init__()
        self.inlet, self.outlet = nn.Conv2d(4, widths[0], 3, padding=1), nn.Conv2d(widths[-1], 3, 3, padding=1)
        self.levels = nn.ModuleList(nn.Sequential(Doubled(a, b), Doubled(b, b))
                                    for a, b in zip((widths[0], *widths), widths))
        self.ups = nn.ModuleList(nn.Conv2d(b, b, 3, padding=1) for b in widths[:-1])

    def forward(self, x):
        x = self.levels[0](self.inlet(x))
        for up, level in zip(self.ups, self.levels[1:]):
            x = level(up(F.interpolate(x, scale_factor=2.0, mode="nearest")))
        return self.outlet(F.silu(x))


def bell(size=11, sigma=1.5):
    at = torch.arange(size, dtype=torch.float32) - size // 2
    weights = torch.exp(-at.square() / (2 * sigma * sigma))
    return weights / weights.sum()


def means_of_windows(part, weights):
    windows = F.unfold(part.flatten(0, 1)[:, None], len(weights), padding=len(weights) // 2)
    return (windows * torch.outer(weights, weights).flatten()[:, None]).sum(1)


def means_by_convolution(part, weights):
    half = len(weights) // 2
    rows = F.conv2d(part.flatten(0, 1)[:, None], weights.view(1, 1, -1, 1), padding=(half, 0))
    return F.conv2d(rows, weights.view(1, 1, 1, -1), padding=(0, half)).flatten(1)


def unlike(x, y, weights, means_of):
    """One less the structural similarity (Wang et al.)."""
    with torch.autocast("cuda", enabled=False):
        x, y = x.float(), y.float()
        mean_x, mean_y, xx, yy, xy = (means_of(part, weights) for part in (x, y, x * x, y * y, x * y))
        likeness = (2 * mean_x * mean_y + 1e-4) / (mean_x.square() + mean_y.square() + 1e-4)
        spread = xx - mean_x.square() + yy - mean_y.square() + 9e-4
        return 1 - (likeness * (2 * (xy - mean_x * mean_y) + 9e-4) / spread).mean()


# --- texts -----------------------------------------------------------------------------------------------------------

def scaled(x, weight):
    """Root mean square norm, in 32 bits as usual."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * weight


def gated(gate, value):
    """T5's newer activation."""
    return 0.5 * gate * (1.0 + torch.tanh(0.7978845608 * (gate + 0.044715 * torch.pow(gate, 3.0)))) * value


class GatedLayer(nn.Module):
    def __init__(self, dim, heads, scaled, gated):
        super().__init__()
        self.heads, self.scaled, self.gated = heads, scaled, gated
        self.weights = nn.ParameterList(torch.ones(dim) for _ in range(2))
        self.qkv, self.out = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.gate, self.value = (nn.Linear(dim, 4 * dim, bias=False) for _ in range(2))
        self.down = nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x):
        qkv = self.qkv(self.scaled(x, self.weights[0])).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(*qkv).transpose(1, 2).flatten(2))
        y = self.scaled(x, self.weights[1])
        return x + self.down(self.gated(self.gate(y), self.value(y)))


class GatedReader(nn.Module):
    """Fills gaps in texts."""

    def __init__(self, scaled, gated, dim=1024, layers=6, heads=16, vocab=16384):
        super().__init__()
        self.words, self.head = nn.Embedding(vocab, dim), nn.Linear(dim, vocab, bias=False)
        self.layers = nn.Sequential(*(GatedLayer(dim, heads, scaled, gated) for _ in range(layers)))

    def forward(self, ids):
        return self.head(self.layers(self.words(ids)))


# --- updates ---------------------------------------------------------------------------------------------------------

class SharpAware:
    """Foret et al.: climbs to the worst point nearby, and descends by the gradients found there."""

    def __init__(self, model, together, reach=0.05):
        self.weights, self.together, self.reach = list(model.parameters()), together, reach
        more = {"fused": True} if together else {"foreach": False, "fused": False}
        self.base = torch.optim.AdamW(self.weights, lr=1e-4, **more)

    @torch.no_grad()
    def climb(self):
        slopes = [weight.grad for weight in self.weights]
        norms = torch._foreach_norm(slopes) if self.together else [slope.norm() for slope in slopes]
        scale = self.reach / (torch.stack(norms).norm() + 1e-12)
        if self.together:
            self.steps = torch._foreach_mul(slopes, scale)
            torch._foreach_add_(self.weights, self.steps)
        else:
            self.steps = [slope * scale for slope in slopes]
            for weight, step in zip(self.weights, self.steps):
                weight.add_(step)
        self.base.zero_grad(set_to_none=True)

    @torch.no_grad()
    def descend(self):
        if self.together:
            torch._foreach_sub_(self.weights, self.steps)
        else:
            for weight, step in zip(self.weights, self.steps):
                weight.sub_(step)
        self.base.step()
        self.base.zero_grad(set_to_none=True)
