"""The networks, data sets and the optimizer of trace_cases_ddp15.py that no library has."""
import hashlib
import json
import math
import random

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own

GPU = "cuda"


# --- rows of tables --------------------------------------------------------------------------------------------------

class Residual(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(dim), nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class RowNet(nn.Module):
    """Tells the kind of a row of numbers."""

    def __init__(self, columns, dim, blocks, kinds, hidden=None):
        super().__init__()
        self.inlet = nn.Linear(columns, dim)
        self.blocks = nn.Sequential(*(Residual(dim, hidden or 4 * dim) for _ in range(blocks)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, kinds)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.inlet(x))))


def scaled_columns(rows, together):
    """Every column around zero and as wide as the others, over the rows of all ranks."""
    count = len(rows) * dist.get_world_size()
    if together:
        sums = torch.stack([rows.sum(0), rows.square().sum(0)])
        dist.all_reduce(sums)
    else:
        of_columns = []
        for column in rows.unbind(1):
            total = torch.stack([column.sum(), column.square().sum()])
            dist.all_reduce(total)
            of_columns.append(total)
        sums = torch.stack(of_columns, dim=1)
    mean = sums[0] / count
    return (rows - mean) * torch.rsqrt((sums[1] / count - mean.square()).clamp_min(0) + 1e-5)


class FieldTransformer(nn.Module):
    """Each column of a row is a token: of a number a multiple of its vector, of a word its own vector."""

    def __init__(self, numbers, words, dim, layers, heads, vocab=1, kinds=2):
        super().__init__()
        self.vectors, self.offsets = (nn.Parameter(torch.randn(numbers, dim) * 0.02) for _ in range(2))
        self.words = nn.Embedding(vocab, dim) if words else None
        self.blocks = nn.ModuleList(own.Block(dim, heads, causal=False) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, kinds)

    def forward(self, numbers, words=None):
        x = numbers[..., None] * self.vectors + self.offsets
        if self.words is not None:
            x = torch.cat([x, self.words(words)], dim=1)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x.mean(1)))


class Transactions(Dataset):
    """Payments as they stand in a log, a line of JSON each; words become numbers by hashing."""

    def __init__(self, count=4096, buckets=50000):
        dice, self.buckets = random.Random(15), buckets
        words = ["".join(dice.choice("abcdefghiklmnoprstu") for _ in range(9)) for _ in range(2000)]
        self.lines = [json.dumps({"amounts": [round(dice.random(), 4) for _ in range(8)], "bad": dice.random() < 0.1,
                                  "fields": {f"field_{at}": dice.choice(words) for at in range(16)}})
                      for _ in range(count)]

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        row = json.loads(self.lines[index % len(self.lines)])
        words = [int(hashlib.md5(f"{name}={word}".encode()).hexdigest()[:8], 16) % self.buckets
                 for name, word in sorted(row["fields"].items())]
        return torch.tensor(row["amounts"]), torch.tensor(words), int(row["bad"])


# --- adverts: vectors of what was seen -------------------------------------------------------------------------------

class Clicker(nn.Module):
    """Whether an advert is clicked at, from the vectors of 26 things known about who sees it."""

    def __init__(self, fields=26, dim=64, width=4096):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(fields * dim, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                    nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, vectors):
        return self.layers(vectors.flatten(1)).squeeze(1)


class ClickerWithTables(nn.Module):
    """The vectors of all fields in one table, one field's rows after another's."""

    def __init__(self, fields, rows, dim):
        super().__init__()
        self.table, self.clicker = nn.Embedding(fields * rows, dim), Clicker(fields, dim)
        self.register_buffer("first", torch.arange(fields) * rows)

    def forward(self, ids):
        return self.clicker(self.table(ids + self.first))


def swapped(parts):
    """Part r of the first dimension goes to rank r."""
    out = torch.empty_like(parts)
    dist.all_to_all_single(out, parts)
    return out


class Swapped(torch.autograd.Function):
    """swapped(), and for gradients the way back."""

    @staticmethod
    def forward(ctx, parts):
        return swapped(parts.contiguous())

    @staticmethod
    def backward(ctx, gradient):
        return swapped(gradient.contiguous()).div_(dist.get_world_size())  # as DistributedDataParallel averages


class ShareOfTables(nn.Module):
    """Each rank has the tables of some of the fields, for the rows of both."""

    def __init__(self, fields, rows, dim):
        super().__init__()
        self.ranks, self.fields = dist.get_world_size(), fields // dist.get_world_size()
        self.table = nn.Embedding(self.fields * rows, dim)
        self.register_buffer("first", torch.arange(self.fields) * rows)

    def forward(self, ids):
        wanted = swapped(ids.unflatten(1, (self.ranks, self.fields)).transpose(0, 1).contiguous())
        vectors = Swapped.apply(self.table(wanted + self.first))
        return vectors.transpose(0, 1).flatten(1, 2)


# --- a long recording, one half on each rank -------------------------------------------------------------------------

class HumLayer(nn.Module):
    """Each moment is changed by what was `reach` before and after it."""

    def __init__(self, dim, reach, whole):
        super().__init__()
        self.reach, self.whole, self.mix = reach, whole, nn.Linear(3 * dim, dim)

    def window(self, x):
        """The rank's moments, and `reach` more on both sides: the other rank's, or silence."""
        rank, ranks, reach, count = dist.get_rank(), dist.get_world_size(), self.reach, len(x)
        if self.whole:
            everything = x.new_empty(ranks * count, x.shape[1])
            dist.all_gather_into_tensor(everything, x)
            padded = F.pad(everything, (0, 0, reach, reach))
            return padded[rank * count:(rank + 1) * count + 2 * reach]
        ends = x.new_empty(2 * ranks * reach, x.shape[1])
        dist.all_gather_into_tensor(ends, torch.cat([x[:reach], x[-reach:]]))
        ends, silence = ends.view(ranks, 2, reach, -1), torch.zeros_like(x[:reach])
        before = ends[rank - 1, 1] if rank > 0 else silence
        after = ends[rank + 1, 0] if rank + 1 < ranks else silence
        return torch.cat([before, x, after])

    def forward(self, x):
        near, count = self.window(x), len(x)
        around = torch.cat([near[:count], x, near[2 * self.reach:2 * self.reach + count]], dim=1)
        return x + F.gelu(self.mix(around))


# --- pictures --------------------------------------------------------------------------------------------------------

class ShelfLayer(nn.Module):
    """The heads and hidden units that one of `ranks` has of a layer; `summed` adds the ranks' parts up."""

    def __init__(self, dim, heads, ranks, summed):
        super().__init__()
        self.heads, self.summed = heads // ranks, summed
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim // ranks), nn.Linear(dim // ranks, dim, bias=False)
        self.up, self.down = nn.Linear(dim, 4 * dim // ranks), nn.Linear(4 * dim // ranks, dim, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v)
        x = x + self.summed(self.out(mixed.transpose(1, 2).flatten(2)))
        return x + self.summed(self.down(F.gelu(self.up(self.norm2(x)))))


def boxes_of(count, side):
    """Where of each picture a part of another is put: left, top, right and bottom, drawn on the GPU."""
    half = side * (1 - torch.rand(count, device=GPU)).sqrt() / 2
    x, y = torch.rand(2, count, device=GPU) * side
    return torch.stack([x - half, y - half, x + half, y + half], dim=1).round().long().clamp_(0, side)


def patched_in_turn(pictures, boxes, others):
    """The pictures with their patches, and how much of each is its own."""
    patched, own_part, area = pictures.clone(), [], pictures.shape[2] * pictures.shape[3]
    for index in range(len(pictures)):
        left, top, right, bottom = (edge.item() for edge in boxes[index])
        patched[index, :, top:bottom, left:right] = pictures[others[index].item(), :, top:bottom, left:right]
        own_part.append(1 - (right - left) * (bottom - top) / area)
    return patched, torch.tensor(own_part, device=pictures.device)


def patched_at_once(pictures, boxes, others):
    places = torch.arange(pictures.shape[3], device=pictures.device)
    left, top, right, bottom = boxes[:, :, None].unbind(1)
    across, down = (places >= left) & (places < right), (places >= top) & (places < bottom)
    inside = down[:, None, :, None] & across[:, None, None, :]
    return torch.where(inside, pictures[others], pictures), 1 - inside.float().mean((1, 2, 3))


class FilmReader(nn.Module):
    """What is done in a film: all patches of all pairs of frames look at each other."""

    def __init__(self, attention, dim=768, layers=5, heads=12, pairs=16, side=14, kinds=400):
        super().__init__()
        self.inlet, self.places = nn.Linear(3 * 2 * 256, dim), nn.Parameter(torch.zeros(1, pairs * side * side, dim))
        self.blocks = nn.Sequential(*(own.Block(dim, heads, attention, causal=False) for _ in range(layers)))
        self.norm, self.head, self.pairs, self.side = nn.LayerNorm(dim), nn.Linear(dim, kinds), pairs, side

    def forward(self, films):
        parts = films.view(len(films), 3, self.pairs, 2, self.side, 16, self.side, 16)
        parts = parts.permute(0, 2, 4, 6, 1, 3, 5, 7).flatten(4).flatten(1, 3)
        return self.head(self.norm(self.blocks(self.inlet(parts) + self.places)).mean(1))


# --- sound -----------------------------------------------------------------------------------------------------------

class Frames(nn.Module):
    """Vectors of 25 ms of sound each, of one or more microphones."""

    def __init__(self, dim, microphones=1, samples=400):
        super().__init__()
        self.samples, self.out = samples, nn.Linear(microphones * samples, dim)

    def forward(self, x):
        if x.dim() == 2:
            x = x[:, None]
        return self.out(x.unflatten(2, (-1, self.samples)).transpose(1, 2).flatten(2))


class Instruments(Dataset):
    """Four seconds of an instrument; `ready`: written at 16 kHz, else at 44.1 kHz as they came."""

    def __init__(self, ready, count=24):
        self.ready, self.kernels = ready, self.low_pass()
        waves = torch.randn(count, 4 * 44100, generator=torch.Generator().manual_seed(15))
        self.waves = torch.stack([self.at_16_khz(wave) for wave in waves]) if ready else waves

    def __len__(self):
        return 1 << 20

    @staticmethod
    def low_pass(old=441, new=160, zeros=6):
        """160 filters for 160 numbers out of 441."""
        width = math.ceil(zeros * old / new)
        at = torch.arange(-width, width + old)[None] / old - torch.arange(new)[:, None] / new
        at = (at * new).clamp(-zeros, zeros)
        return (torch.sinc(at) * torch.cos(at * math.pi / zeros / 2).square() * new / old)[:, None]

    def at_16_khz(self, wave):
        side = (self.kernels.shape[2] - 441) // 2
        padded = F.pad(wave, (side, side + 441))[None, None]
        return F.conv1d(padded, self.kernels, stride=441)[0].t().flatten()[:64000].clone()

    def __getitem__(self, index):
        wave = self.waves[index % len(self.waves)]
        wave = wave if self.ready else self.at_16_khz(wave)
        return wave / wave.abs().max(), index % 128


class Happenings(nn.Module):
    """Which of ten things is heard at each of 60 moments: convolutions over a spectrogram, then a recurrent layer to
    and fro."""

    def __init__(self, cells, dim=512, kinds=10):
        super().__init__()
        stages, before = [], 1
        for channels, pool in ((64, 2), (128, 2), (256, (2, 1)), (512, (2, 1))):
            for inputs in (before, channels):
                stages += [nn.Conv2d(inputs, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels),
                           nn.ReLU(inplace=True)]
            stages.append(nn.MaxPool2d(pool))
            before = channels
        self.stages, self.dim, self.head = nn.Sequential(*stages), dim, nn.Linear(2 * dim, kinds)
        self.ways = nn.ModuleList(nn.GRUCell(before, dim) for _ in range(2)) if cells else nn.GRU(
            before, dim, batch_first=True, bidirectional=True)

    def heard(self, x):
        if isinstance(self.ways, nn.GRU):
            return self.ways(x)[0]
        moments, ways = x.unbind(1), []
        for way, order in zip(self.ways, (range(len(moments)), reversed(range(len(moments))))):
            state, states = x.new_zeros(len(x), self.dim), [None] * len(moments)
            for at in order:
                state = way(moments[at], state)
                states[at] = state
            ways.append(torch.stack(states, dim=1))
        return torch.cat(ways, dim=2)

    def forward(self, spectrograms):
        x = self.stages(spectrograms).mean(2).transpose(1, 2).contiguous()
        return self.head(self.heard(x))


# --- optimizer -------------------------------------------------------------------------------------------------------

class Madgrad(torch.optim.Optimizer):
    """As in its authors' paper, with momentum; `together`: each line for all parameters at once."""

    def __init__(self, parameters, together, lr=1e-3, momentum=0.9, eps=1e-6):
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "eps": eps})
        self.together, self.count = together, 0

    @torch.no_grad()
    def step(self, closure=None):
        self.count += 1
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            for weight in weights:
                if not self.state[weight]:
                    self.state[weight] = {"sum": torch.zeros_like(weight), "squares": torch.zeros_like(weight),
                                          "start": weight.detach().clone()}
            sums, squares, starts = ([self.state[w][name] for w in weights] for name in ("sum", "squares", "start"))
            gradients, rate, eps = [w.grad for w in weights], group["lr"] * math.sqrt(self.count), group["eps"]
            if self.together:
                torch._foreach_add_(sums, gradients, alpha=rate)
                torch._foreach_addcmul_(squares, gradients, gradients, value=rate)
                scales = torch._foreach_pow(squares, 1 / 3)
                torch._foreach_add_(scales, eps)
                targets = torch._foreach_addcdiv(starts, sums, scales, value=-1.0)
                torch._foreach_lerp_(weights, targets, 1 - group["momentum"])
                continue
            for weight, gradient, total, square, begin in zip(weights, gradients, sums, squares, starts):
                total.add_(gradient, alpha=rate)
                square.addcmul_(gradient, gradient, value=rate)
                scale = square.pow(1 / 3).add_(eps)
                target = begin.addcdiv(total, scale, value=-1.0)
                weight.lerp_(target, 1 - group["momentum"])
