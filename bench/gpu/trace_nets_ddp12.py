"""The networks and data sets of trace_cases_ddp12.py that no library has."""
import io

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

import trace_models as own

GPU = "cuda"


# --- points of a laser scanner ---------------------------------------------------------------------------------------

class Scans(nn.Module):
    """What each point of a scan belongs to, from the point and from the scan as a whole."""

    def __init__(self, kinds=20):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(6, 256), nn.Linear(256, 1024), nn.Linear(1024, 2048)
        self.near, self.whole = nn.Linear(2048, 1024), nn.Linear(2048, 1024)
        self.fourth, self.head = nn.Linear(1024, 512), nn.Linear(512, kinds)

    def forward(self, points):
        x = F.relu(self.third(F.relu(self.second(F.relu(self.first(points))))))
        x = F.relu(self.near(x) + self.whole(x.amax(1))[:, None])
        return self.head(F.relu(self.fourth(x)))


def points_loss(model, points, kinds):
    return F.cross_entropy(model(points).flatten(0, 1).float(), kinds.flatten())


def scans(batch, points, kinds=20):
    return torch.randn(batch, points, 6), torch.randint(0, kinds, (batch, points))


# --- noise taken from tunes ------------------------------------------------------------------------------------------

class Tunes(nn.Module):
    """Tells the noise in a tune's latent codes, 64 places of 128 numbers."""

    def __init__(self, dim=1024, layers=8, heads=16, places=64, numbers=128):
        super().__init__()
        self.inlet, self.outlet = nn.Linear(numbers, dim), nn.Linear(dim, numbers)
        self.times, self.positions = nn.Embedding(1000, dim), nn.Parameter(torch.zeros(1, places, dim))
        self.blocks = nn.Sequential(*(own.Block(dim, heads, causal=False) for _ in range(layers)))
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, times):
        x = self.inlet(x) + self.positions + self.times(times)[:, None]
        return self.outlet(self.norm(self.blocks(x)))


class Schedule:
    """How much of a tune is left at each of 1000 times."""

    def __init__(self, together):
        left = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0)
        self.left, self.numbers, self.together = left.to(GPU), left.tolist(), together

    def noisy(self, x, noise, times):
        if self.together:
            left = self.left[times][:, None, None]
            return left.sqrt() * x + (1 - left).sqrt() * noise
        rows = []
        for tune, grain, time in zip(x, noise, times):
            left = self.numbers[time.item()]
            rows.append(left ** 0.5 * tune + (1 - left) ** 0.5 * grain)
        return torch.stack(rows)

    def loss(self, model, x):
        noise, times = torch.randn_like(x), torch.randint(0, 1000, (len(x),), device=x.device)
        return F.mse_loss(model(self.noisy(x, noise, times), times).float(), noise)


# --- pictures --------------------------------------------------------------------------------------------------------

class Enlarger(nn.Module):
    """Pictures four times as wide and as high."""

    def __init__(self, width=128, layers=6):
        super().__init__()
        self.inlet = nn.Conv2d(3, width, 3, padding=1)
        self.body = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(layers))
        self.outlet = nn.Conv2d(width, 48, 3, padding=1)

    def forward(self, x):
        x = self.inlet(x)
        for convolution in self.body:
            x = x + F.relu(convolution(x))
        return F.pixel_shuffle(self.outlet(x), 4)


class Photographs(Dataset):
    """JPEG files of `side` pixels a side, of which 224 x 224 are cut out once they are 256 a side."""

    def __init__(self, side, count=12):
        from PIL import Image
        dice, self.files = np.random.default_rng(3), []
        for _ in range(count):
            coarse = Image.fromarray(dice.integers(0, 256, (32, 32, 3), dtype=np.uint8))
            file = io.BytesIO()
            coarse.resize((side, side), Image.BICUBIC).save(file, "JPEG", quality=92)
            self.files.append(file.getvalue())

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        from PIL import Image
        picture = Image.open(io.BytesIO(self.files[index % len(self.files)])).convert("RGB")
        if picture.size != (256, 256):
            picture = picture.resize((256, 256), Image.BILINEAR)
        left, top = index * 7 % 32, index * 11 % 32
        pixels = np.asarray(picture)[top:top + 224, left:left + 224]
        if index % 2:
            pixels = pixels[:, ::-1]
        x = torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))
        return x.float().div_(127.5).sub_(1), index % 1000


def sheet_of(pictures, columns=3):
    """Pictures side by side, as a PNG file."""
    from PIL import Image
    rows = [torch.cat(list(row), dim=2) for row in pictures.split(columns)]
    sheet, file = torch.cat(rows, dim=1).permute(1, 2, 0).contiguous().numpy(), io.BytesIO()
    Image.fromarray(sheet).save(file, "PNG")
    return file.getvalue()


def confusion(guessed, wanted, kinds):
    """How many pixels of each kind were taken for each."""
    pairs = (wanted * kinds + guessed).flatten()
    counts = torch.zeros(kinds * kinds, dtype=torch.int32, device=pairs.device)
    return counts.index_add_(0, pairs, torch.ones_like(pairs, dtype=torch.int32)).view(kinds, kinds)
