"""The networks, data sets and helpers of trace_cases_ddp9.py that no library has."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own

GPU = "cuda"


# --- layers split over the ranks -------------------------------------------------------------------------------------

class Entered(torch.autograd.Function):
    """Where all ranks' shares begin: nothing to do forward, the sum of the gradients backward."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient)
        return gradient


class Summed(torch.autograd.Function):
    """Where all ranks' shares end: the sum forward, nothing to do backward."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class ShareOfLayer(nn.Module):
    """The heads and hidden units that one of `ranks` has; with one rank, a layer like any other."""

    def __init__(self, dim, heads, ranks):
        super().__init__()
        self.heads, self.split = heads // ranks, ranks > 1
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim // ranks), nn.Linear(dim // ranks, dim, bias=False)
        self.up, self.down = nn.Linear(dim, 4 * dim // ranks), nn.Linear(4 * dim // ranks, dim, bias=False)

    def attended(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))

    def fed_forward(self, x):
        return self.down(F.gelu(self.up(x)))

    def forward(self, x):
        for norm, part in ((self.norm1, self.attended), (self.norm2, self.fed_forward)):
            found = norm(x)
            found = Summed.apply(part(Entered.apply(found))) if self.split else part(found)
            x = x + found
        return x


class TradesModel(nn.Module):
    """Forecasts the next of a row of trades from the figures of those before."""

    def __init__(self, dim, layers, heads, ranks, figures=64):
        super().__init__()
        self.inlet = nn.Linear(figures, dim)
        self.layers = nn.Sequential(*(ShareOfLayer(dim, heads, ranks) for _ in range(layers)))
        self.outlet = nn.Linear(dim, figures)

    def forward(self, x):
        return self.outlet(self.layers(self.inlet(x)))


# --- texts -----------------------------------------------------------------------------------------------------------

class Papers(nn.Module):
    """Masked words of papers and of abstracts, each kind in a batch of its own."""

    def __init__(self, vocab=8192, dim=768, layers=6, heads=12, length=10240):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(length, dim))
        self.blocks = nn.ModuleList(own.Block(dim, heads, causal=False) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab)

    def loss(self, ids):
        x = self.words(ids) + self.places[:ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1).float(), ids.flatten(), reduction="sum")

    def forward(self, *batches):
        return sum(self.loss(ids) for ids in batches) / sum(ids.numel() for ids in batches)


class NotesBlock(nn.Module):
    """A decoder layer; `written_out`: norm and activation as the papers' formulas."""

    def __init__(self, dim, heads, written_out):
        super().__init__()
        self.heads, self.written_out = heads, written_out
        self.scale1, self.scale2 = (nn.Parameter(torch.ones(dim)) for _ in range(2))
        self.qkv, self.out = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.up, self.down = nn.Linear(dim, 4 * dim, bias=False), nn.Linear(4 * dim, dim, bias=False)

    def norm(self, x, scale):
        if not self.written_out:
            return F.rms_norm(x, scale.shape, scale, 1e-6)
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return scale * wide.to(x.dtype)

    def activation(self, x):
        if not self.written_out:
            return F.gelu(x, approximate="tanh")
        return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x, self.scale1)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(self.activation(self.up(self.norm(x, self.scale2))))


class Notes(nn.Module):
    """Goes on with a piece of music, one event after the other."""

    def __init__(self, written_out, events=2048, dim=1024, layers=8, heads=16, length=1024):
        super().__init__()
        self.events, self.places = nn.Embedding(events, dim), nn.Parameter(torch.zeros(length, dim))
        self.blocks = nn.Sequential(*(NotesBlock(dim, heads, written_out) for _ in range(layers)))
        self.head = nn.Linear(dim, events)

    def forward(self, ids):
        return self.head(self.blocks(self.events(ids) + self.places))


class Captions(nn.Module):
    """Scores the words that follow a picture's patches."""

    def __init__(self, vocab=16384, dim=1024, layers=4, heads=16):
        super().__init__()
        self.words = nn.Embedding(vocab, dim)
        self.blocks = nn.Sequential(*(own.Block(dim, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab)

    def forward(self, seen, ids):
        x = self.blocks(torch.cat([seen, self.words(ids)], dim=1))
        return self.head(self.norm(x[:, -ids.shape[1]:])).argmax(-1)


# --- pictures and sounds ---------------------------------------------------------------------------------------------

def conv(inputs, outputs, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(True))


class Colours(nn.Sequential):
    """Colours a grey photo."""

    def __init__(self, width=64):
        middle = [conv(4 * width, 4 * width) for _ in range(4)]
        super().__init__(conv(1, width), conv(width, 2 * width, 2), conv(2 * width, 4 * width, 2), *middle,
                         nn.Upsample(scale_factor=2), conv(4 * width, 2 * width), nn.Upsample(scale_factor=2),
                         conv(2 * width, width), nn.Conv2d(width, 3, 3, padding=1), nn.Sigmoid())


class Slices(Dataset):
    """Slices of computed tomographies in three windows of density, turned, cut out and made smaller."""

    def __init__(self, side=512, size=224):
        self.stored, self.size = torch.randint(-1000, 2000, (48, side, side), dtype=torch.int16), size
        self.low = torch.tensor([-1000.0, -160.0, -450.0])[:, None, None]
        self.range = torch.tensor([1400.0, 400.0, 1900.0])[:, None, None]

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        left, top = index * 7 % 64, index * 13 % 64
        part = self.stored[index % 48, top:top + 448, left:left + 448].float()
        windows = ((part - self.low) / self.range).clamp(0, 1)
        turn = torch.tensor(0.1 * (index % 9 - 4))
        where = torch.stack([torch.stack([turn.cos(), -turn.sin(), turn * 0]),
                             torch.stack([turn.sin(), turn.cos(), turn * 0])])
        grid = F.affine_grid(where[None], (1, 3, 448, 448), align_corners=False)
        turned = F.grid_sample(windows[None], grid, align_corners=False)
        small = F.interpolate(turned, size=(self.size, self.size), mode="bilinear", antialias=True)[0]
        return (small - 0.5) / 0.25 + 0.02 * torch.randn_like(small), index % 14


class Spectra:
    """Log-mel spectrograms of clips of four seconds, on one device."""

    def __init__(self, device, bands=128):
        self.window, self.bank = torch.hann_window(1024, device=device), torch.rand(513, bands, device=device)

    def __call__(self, clips):
        waves = torch.stft(clips, 1024, 160, window=self.window, return_complex=True)
        power = waves.abs().square().transpose(-2, -1)
        return torch.log(power @ self.bank + 1e-5)


# --- clusters --------------------------------------------------------------------------------------------------------

def nearest(points, centres, rows=131072):
    """Of unit vectors; a part of the points at a time."""
    return torch.cat([(part @ centres.T).argmax(1) for part in points.split(rows)])


def sums_of(points, which, count, rows=131072):
    """The sum of each cluster's points, and how many they are."""
    sums, members = points.new_zeros(count, points.shape[1], dtype=torch.float32), torch.zeros(count, device=GPU)
    for part, index in zip(points.split(rows), which.split(rows)):
        sums.index_add_(0, index, part.float())
        members.index_add_(0, index, torch.ones_like(index, dtype=torch.float32))
    return sums, members
