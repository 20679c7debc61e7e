"""The networks and data sets of trace_cases_blind14.py that no library has."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

from trace_cases import GPU


# --- data sets -------------------------------------------------------------------------------------------------------

class Meals(Dataset):
    """Photos of meals, made what a network expects by the processor that comes with it."""

    def __init__(self, count=64):
        import transformers as hf
        from PIL import Image
        pixels = np.random.default_rng(14).integers(0, 256, (count, 384, 512, 3), dtype=np.uint8)
        self.photos = [Image.fromarray(each) for each in pixels]
        self.processor = hf.ViTImageProcessor(size={"height": 224, "width": 224})

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        photo = self.photos[index % len(self.photos)]
        return self.processor(photo, return_tensors="pt")["pixel_values"][0], index % 101


# --- pictures --------------------------------------------------------------------------------------------------------

def varied_in_turn(pictures, size=64):
    """Every other picture is turned left to right; of every other one a square is wiped out."""
    pictures = pictures.clone()
    most = pictures.shape[-1] - size
    for picture in pictures:
        if torch.rand(1, device=GPU) < 0.5:
            picture.copy_(picture.flip(-1))
        if torch.rand(1, device=GPU) < 0.5:
            top = torch.randint(0, most, (1,), device=GPU).item()
            left = torch.randint(0, most, (1,), device=GPU).item()
            picture[:, top:top + size, left:left + size] = 0
    return pictures


def varied_at_once(pictures, size=64):
    count, wide = len(pictures), pictures.shape[-1]
    turned, wiped = torch.rand(2, count, 1, 1, 1, device=GPU) < 0.5
    corners = torch.randint(0, wide - size, (2, count, 1), device=GPU)
    at = torch.arange(wide, device=GPU)
    rows, columns = (at >= corners) & (at < corners + size)
    square = rows[:, None, :, None] & columns[:, None, None, :] & wiped
    return torch.where(turned, pictures.flip(-1), pictures).masked_fill(square, 0)


class DenseBlock(nn.Module):
    """Five convolutions, each of all that came before."""

    def __init__(self, dim=64, growth=32):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(dim + at * growth, growth, 3, padding=1) for at in range(4))
        self.last = nn.Conv2d(dim + 4 * growth, dim, 3, padding=1)

    def forward(self, x):
        kept = [x]
        for layer in self.layers:
            kept.append(F.leaky_relu(layer(torch.cat(kept, dim=1)), 0.2))
        return x + 0.2 * self.last(torch.cat(kept, dim=1))


class Enlarger(nn.Module):
    """ESRGAN (Wang et al.): makes pictures four times as large."""

    def __init__(self, dim=64, depth=4):
        super().__init__()
        self.inlet, self.outlet = nn.Conv2d(3, dim, 3, padding=1), nn.Conv2d(dim, 3, 3, padding=1)
        self.groups = nn.ModuleList(nn.Sequential(*(DenseBlock(dim) for _ in range(3))) for _ in range(depth))
        self.body, self.up1, self.up2, self.fine = (nn.Conv2d(dim, dim, 3, padding=1) for _ in range(4))

    def forward(self, x):
        x = y = self.inlet(x)
        for group in self.groups:
            y = y + 0.2 * group(y)
        x = x + self.body(y)
        for up in (self.up1, self.up2):
            x = F.leaky_relu(up(F.interpolate(x, scale_factor=2, mode="nearest")), 0.2)
        return self.outlet(F.leaky_relu(self.fine(x), 0.2))


class BatchNormByHand(nn.Module):
    """As a first lesson writes it."""

    def __init__(self, dim, eps=1e-5, momentum=0.1):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(1, dim, 1, 1)), nn.Parameter(torch.zeros(1, dim, 1, 1))
        self.register_buffer("moving_mean", torch.zeros(1, dim, 1, 1))
        self.register_buffer("moving_var", torch.ones(1, dim, 1, 1))
        self.eps, self.momentum = eps, momentum

    def forward(self, x):
        mean = x.mean(dim=(0, 2, 3), keepdim=True)
        var = ((x - mean) ** 2).mean(dim=(0, 2, 3), keepdim=True)
        with torch.no_grad():
            self.moving_mean.lerp_(mean.float(), self.momentum)
            self.moving_var.lerp_(var.float(), self.momentum)
        return self.gamma * ((x - mean) / torch.sqrt(var + self.eps)) + self.beta


class Darknet19(nn.Module):
    """Redmon and Farhadi's classifier; a number is a layer's width, of which every other one in a group is narrow."""

    def __init__(self, norm, classes=1000):
        super().__init__()
        parts, before = [], 3
        for group in ((32,), (64,), (128, 64, 128), (256, 128, 256), (512, 256, 512, 256, 512),
                      (1024, 512, 1024, 512, 1024)):
            for at, width in enumerate(group):
                size = 1 if at % 2 else 3
                parts += [nn.Conv2d(before, width, size, padding=size // 2, bias=False), norm(width),
                          nn.LeakyReLU(0.1)]
                before = width
            parts.append(nn.MaxPool2d(2) if before < 1024 else nn.Conv2d(before, classes, 1))
        self.layers = nn.Sequential(*parts)

    def forward(self, x):
        return self.layers(x).mean((2, 3))
