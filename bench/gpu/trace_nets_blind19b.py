"""More networks of trace_cases_blind19.py, and what is worked out of pictures, counts and places."""
import math
import random

import torch
import torch.nn.functional as F
from torch import nn


# --- molecules -------------------------------------------------------------------------------------------------------

def bonds_in_turn(places, reach=2.0):
    """places (molecules, atoms, 3) -> the numbers of atoms that are near each other (2, pairs)"""
    found, atoms = [], places.shape[1]
    for number, molecule in enumerate(places):
        apart = (molecule[:, None] - molecule).norm(dim=-1)
        near = (apart < reach) & (apart > 1e-3)
        found.append(near.nonzero().t() + number * atoms)
    return torch.cat(found, dim=1)


def bonds_at_once(places, reach=2.0):
    apart = (places[:, :, None] - places[:, None]).norm(dim=-1)
    molecule, one, other = ((apart < reach) & (apart > 1e-3)).nonzero().unbind(1)
    return torch.stack([one, other]) + molecule * places.shape[1]


class BondNet(nn.Module):
    """Schuett et al.: what an atom tells another depends on how far it is."""

    def __init__(self, dim=384, layers=5, waves=64):
        super().__init__()
        self.kinds, self.head = nn.Embedding(20, dim), nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 1))
        self.filters = nn.ModuleList(nn.Sequential(nn.Linear(waves, dim), nn.SiLU(), nn.Linear(dim, dim))
                                     for _ in range(layers))
        self.mixes = nn.ModuleList(nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
                                   for _ in range(layers))
        self.register_buffer("centres", torch.linspace(0.0, 2.0, waves))

    def forward(self, places, kinds, bonds):
        one, other = bonds
        flat = places.flatten(0, 1)
        apart = (flat[one] - flat[other]).square().sum(1, keepdim=True).sqrt()
        waves = torch.exp(-100.0 * (apart - self.centres).square())
        x = self.kinds(kinds.flatten())
        for weight, mix in zip(self.filters, self.mixes):
            told = torch.zeros_like(x).index_add_(0, one, x[other] * weight(waves))
            x = x + mix(told)
        return self.head(x).view(kinds.shape).sum(1)


# --- lightning -------------------------------------------------------------------------------------------------------

class LightningLayer(nn.Module):
    def __init__(self, dim, heads, weights):
        super().__init__()
        self.weights = weights
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.core = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        h = self.norm1(x)
        mixed, _ = self.core(h, h, h, need_weights=self.weights)
        x = x + mixed
        return x + self.feed(self.norm2(x))


class Lightning(nn.Module):
    """Place, time, strength and sign of flashes; 24 storms."""

    def __init__(self, weights, dim=768, heads=12, layers=5):
        super().__init__()
        self.inlet, self.head = nn.Linear(5, dim), nn.Linear(dim, 24)
        self.layers = nn.Sequential(*(LightningLayer(dim, heads, weights) for _ in range(layers)))

    def forward(self, x):
        return self.head(self.layers(self.inlet(x)))


# --- pictures --------------------------------------------------------------------------------------------------------

def varied_in_turn(pictures, size=192):
    """Each picture gets its own light, contrast, colour, side and section."""
    done, (height, width) = [], pictures.shape[2:]
    for picture in pictures:
        picture = picture * random.uniform(0.7, 1.3)
        mean = picture.mean()
        picture = (picture - mean) * random.uniform(0.7, 1.3) + mean
        grey = picture.mean(0, keepdim=True)
        picture = grey + (picture - grey) * random.uniform(0.7, 1.3)
        if random.random() < 0.5:
            picture = picture.flip(-1)
        side = random.randint(height // 2, height)
        top, left = random.randint(0, height - side), random.randint(0, width - side)
        section = picture[None, :, top:top + side, left:left + side]
        done.append(F.interpolate(section, size=(size, size), mode="bilinear", align_corners=False).clamp(0.0, 1.0))
    return torch.cat(done)


def varied_at_once(pictures, size=192):
    count = len(pictures)
    light, contrast, colour = (0.7 + 0.6 * torch.rand(3, count, 1, 1, 1, device=pictures.device)).unbind()
    pictures = pictures * light
    mean = pictures.mean((1, 2, 3), keepdim=True)
    pictures = (pictures - mean) * contrast + mean
    grey = pictures.mean(1, keepdim=True)
    pictures = grey + (pictures - grey) * colour
    side, across, down, turned = torch.rand(4, count, device=pictures.device).unbind()
    side = 0.5 + 0.5 * side
    across, down, none = (1 - side) * (2 * across - 1), (1 - side) * (2 * down - 1), torch.zeros_like(side)
    flip = torch.where(turned < 0.5, -1.0, 1.0)
    moves = torch.stack([side * flip, none, across, none, side, down], dim=1).view(count, 2, 3)
    grid = F.affine_grid(moves, [count, 3, size, size], align_corners=False)
    return F.grid_sample(pictures, grid, padding_mode="border", align_corners=False).clamp(0.0, 1.0)


# --- land ------------------------------------------------------------------------------------------------------------

def measured(counts, gain, offset, sun):
    """A satellite's counts (n, 6, h, w) as six reflectances and five indices, all about as large."""
    bands = (counts.float() * gain + offset) * (math.pi / 9000.0) / sun
    bands = bands.clamp(0.0, 1.0) - 0.01
    bands = bands.clamp(min=1e-4) ** (1 / 1.8)
    blue, green, red, near, short, far = bands.unbind(1)
    plants = (near - red) / (near + red + 1e-4)
    water = (green - near) / (green + near + 1e-4)
    leaves = 2.5 * (near - red) / (near + 6.0 * red + 7.5 * blue + 1.0)
    soil = 1.5 * (near - red) / (near + red + 0.5)
    burnt = (near - far) / (near + far + 1e-4) - 0.5 * (short - far) / (short + far + 1e-4)
    found = torch.stack([blue, green, red, near, short, far, plants, water, leaves, soil, burnt], dim=1)
    return torch.tanh((found - 0.35) / 0.25)


class LandCover(nn.Module):
    """What grows or stands on each four by four pixels."""

    def __init__(self, width=128, kinds=16):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(11, width, 4, 4), nn.ReLU(True),
                                    nn.Conv2d(width, width, 3, padding=1), nn.ReLU(True),
                                    nn.Conv2d(width, width, 3, padding=1), nn.ReLU(True),
                                    nn.Conv2d(width, kinds, 1))

    def forward(self, x):
        return self.layers(x)


# --- groups of weights -----------------------------------------------------------------------------------------------

def groups_by_depth(model, together, lr=1e-4, slower=0.9):
    """Groups for an optimizer: the rate falls from the head to the words. One group for each weight, as such functions
    commonly make them, or all those with the same rate and decay together."""
    depth, groups = len(model.layers), {}
    for name, weight in model.named_parameters():
        at = int(name.split(".")[1]) + 1 if name.startswith("layers.") else 0 if name.startswith("inlet") else depth + 1
        decay = 0.01 if weight.ndim > 1 else 0.0
        group = groups.setdefault((at, decay) if together else name,
                                  {"params": [], "lr": lr * slower ** (depth + 1 - at), "weight_decay": decay})
        group["params"].append(weight)
    return list(groups.values())
