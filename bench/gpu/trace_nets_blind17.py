"""The networks and data sets of trace_cases_blind17.py that no library has."""
import random
import zlib

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

from trace_cases import GPU
from trace_cases_blind4 import Layer


# --- data sets -------------------------------------------------------------------------------------------------------

class Chests(Dataset):
    """X-ray pictures of 12 bits, each packed by itself, and which of 14 findings a doctor made."""

    def __init__(self, count=24, side=384):
        drawn, ramp = np.random.default_rng(170), np.arange(side, dtype=np.uint16)
        self.side, self.files = side, []
        for _ in range(count):
            noise = drawn.integers(0, 64, (side, side), dtype=np.uint16)
            self.files.append(zlib.compress((ramp[:, None] + ramp + noise).tobytes()))

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        packed = self.files[index % len(self.files)]
        picture = np.frombuffer(zlib.decompress(packed), np.uint16).reshape(self.side, self.side).astype(np.float32)
        low, high = (float(level) for level in np.percentile(picture, (1, 99)))
        picture = torch.from_numpy(((picture - low) / (high - low)).clip(0, 1))
        picture = F.interpolate(picture[None, None], size=(224, 224), mode="bilinear", antialias=True)[0]
        return picture.expand(3, -1, -1).contiguous(), (torch.rand(14) < 0.1).float()


class Friends:
    """Who knows whom; 20 steps from one to the next make a walk."""

    def __init__(self, people=120_000, known=12, steps=20):
        self.table = torch.randint(0, people, (people, known), generator=torch.Generator().manual_seed(17))
        self.people, self.known, self.steps = people, known, steps

    def strangers(self, count):
        return torch.randint(0, self.people, (count, self.steps - 4, 8), device=GPU)

    def in_python(self, count):
        lists = self.table.tolist()

        def batches():
            walks = []
            for _ in range(count):
                walk = [random.randrange(self.people)]
                while len(walk) < self.steps:
                    walk.append(random.choice(lists[walk[-1]]))
                walks.append(walk)
            return torch.tensor(walks).to(GPU), self.strangers(count)
        return batches

    def on_gpu(self, count):
        table = self.table.to(GPU)

        def batches():
            walk = [torch.randint(0, self.people, (count,), device=GPU)]
            while len(walk) < self.steps:
                walk.append(table[walk[-1], torch.randint(0, self.known, (count,), device=GPU)])
            return torch.stack(walk, dim=1), self.strangers(count)
        return batches


class WalkNet(nn.Module):
    """Node2vec: those whom one meets on the way shall be near, strangers far."""

    def __init__(self, people, dim=256):
        super().__init__()
        self.inner, self.outer = nn.Embedding(people, dim), nn.Embedding(people, dim)

    def forward(self, walks, strangers):
        windows = walks.unfold(1, 5, 1)
        others = torch.cat([windows[..., :2], windows[..., 3:], strangers], dim=-1)
        return (self.outer(others) @ self.inner(windows[..., 2])[..., None])[..., 0]


def walk_loss(model, walks, strangers):
    near, far = model(walks, strangers).split([4, strangers.shape[-1]], dim=-1)
    return -F.logsigmoid(near).mean() - F.logsigmoid(-far).mean()


# --- pictures --------------------------------------------------------------------------------------------------------

def two_convs(a, b, stride=1):
    return nn.Sequential(nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True),
                         nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True))


class Pyramid(nn.Module):
    """Numbers for each pixel; height and width are to be multiples of 16."""

    def __init__(self, inputs, outputs, widths=(64, 128, 256, 512)):
        super().__init__()
        pairs = list(zip(widths, widths[1:]))
        self.stem, self.head = two_convs(inputs, widths[0], 2), nn.Conv2d(widths[0], outputs, 3, padding=1)
        self.downs = nn.ModuleList(two_convs(a, b, 2) for a, b in pairs)
        self.ups = nn.ModuleList(two_convs(a + b, a) for a, b in pairs[::-1])

    def forward(self, x):
        kept = [self.stem(x)]
        for down in self.downs:
            kept.append(down(kept[-1]))
        x = kept.pop()
        for up in self.ups:
            x = up(torch.cat([kept.pop(), F.interpolate(x, scale_factor=2.0)], dim=1))
        return self.head(F.interpolate(x, scale_factor=2.0))


def depth_errors_in_turn(guesses, depths):
    """Depth is only known up to scale, and measured at some pixels only."""
    errors = []
    for guess, depth in zip(guesses, depths):
        valid = depth > 0
        guess, depth = guess[valid], depth[valid]
        guess = guess * (depth.median() / guess.median())
        ratio = torch.maximum(guess / depth, depth / guess)
        errors.append([((guess - depth).abs() / depth).mean().item(), (guess - depth).square().mean().sqrt().item(),
                       (ratio < 1.25).float().mean().item()])
    return np.mean(errors, axis=0)


def depth_errors_at_once(guesses, depths):
    valid = depths > 0
    known = valid.flatten(1).sum(1)

    def median(x):
        return torch.where(valid, x, float("nan")).flatten(1).nanmedian(1).values[:, None, None]

    def mean(x):
        return torch.where(valid, x, 0.0).flatten(1).sum(1) / known
    guesses = guesses * (median(depths) / median(guesses))
    ratio = torch.maximum(guesses / depths, depths / guesses)
    errors = [mean((guesses - depths).abs() / depths), mean((guesses - depths).square()).sqrt(),
              mean((ratio < 1.25).float())]
    return torch.stack(errors).mean(1)


# --- sound and motion ------------------------------------------------------------------------------------------------

class Recogniser(nn.Module):
    """Chances of 3600 characters for each 40 ms of speech."""

    def __init__(self, dim=1024, layers=16, characters=3600):
        super().__init__()
        self.inlet, self.norm, self.head = nn.Linear(320, dim), nn.LayerNorm(dim), nn.Linear(dim, characters)
        self.layers = nn.Sequential(*(Layer(dim, 16) for _ in range(layers)))

    def forward(self, mel):
        return self.head(self.norm(self.layers(self.inlet(mel)))).float().log_softmax(-1)


class Residual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.near, self.mix = nn.Conv1d(dim, dim, 3, padding=1), nn.Conv1d(dim, dim, 1)

    def forward(self, x):
        return x + self.mix(F.relu(self.near(F.relu(x))))


class MotionCoder(nn.Module):
    """Vector-quantised motion of a body: 512 codes, each the mean of what it stood for; unused ones are drawn anew."""

    def __init__(self, revive, told=263, dim=1024, codes=512):
        super().__init__()
        self.revive = revive
        self.encoder = nn.Sequential(nn.Conv1d(told, dim, 4, 2, 1), *(Residual(dim) for _ in range(4)))
        self.decoder = nn.Sequential(*(Residual(dim) for _ in range(4)), nn.ConvTranspose1d(dim, told, 4, 2, 1))
        self.register_buffer("codes", torch.randn(codes, dim))
        self.register_buffer("usage", torch.ones(codes))

    @torch.no_grad()
    def found(self, x):
        nearest = (2 * x @ self.codes.T - self.codes.square().sum(1)).argmax(1)
        counts = torch.zeros_like(self.usage).index_add_(0, nearest, torch.ones_like(x[:, 0]))
        means = torch.zeros_like(self.codes).index_add_(0, nearest, x) / counts.clamp(min=1)[:, None]
        self.usage.lerp_(counts, 0.01)
        self.codes.copy_(torch.where(counts[:, None] > 0, torch.lerp(self.codes, means, 0.01), self.codes))
        self.revive(self.codes, self.usage, x)
        return nearest

    def forward(self, motion):
        z = self.encoder(motion).transpose(1, 2).float()
        coded = self.codes[self.found(z.detach().flatten(0, 1))].view(z.shape)
        return self.decoder((z + (coded - z).detach()).transpose(1, 2)), F.mse_loss(z, coded)


def revive_in_turn(codes, usage, x):
    for code in range(len(codes)):
        if usage[code] < 0.5:
            codes[code] = x[random.randrange(len(x))]
            usage[code] = 1.0


def revive_at_once(codes, usage, x):
    unused = usage < 0.5
    drawn = x[torch.randint(0, len(x), (len(codes),), device=x.device)]
    codes.copy_(torch.where(unused[:, None], drawn, codes))
    usage.masked_fill_(unused, 1.0)


def motion_loss(model, motion):
    shown, far = model(motion)
    return F.smooth_l1_loss(shown.float(), motion) + 0.02 * far


# --- bodies and cloth ------------------------------------------------------------------------------------------------

PARENTS = [-1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19, 15, 15, 15]
for wrist, first in ((20, 25), (21, 40)):
    for finger in range(first, first + 15, 3):
        PARENTS += [wrist, finger, finger + 1]


class BodyNet(nn.Module):
    """From features of a picture to how 55 joints are turned, and to the skin of the body."""

    def __init__(self, vertices=10475, dim=1024):
        super().__init__()
        count = len(PARENTS)
        self.net = nn.Sequential(nn.Linear(2048, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU(),
                                 nn.Linear(dim, 6 * count))
        joints = torch.randn(count, 3)
        self.register_buffer("joints", joints)
        self.register_buffer("offsets", torch.stack([joints[at] - joints[max(parent, 0)]
                                                     for at, parent in enumerate(PARENTS)]))
        self.register_buffer("skin", torch.randn(vertices, 3))
        self.register_buffer("weights", torch.randn(vertices, count).mul(4).softmax(1))

    @staticmethod
    def turned(six):
        a, b = six.split(3, dim=-1)
        a = F.normalize(a, dim=-1)
        b = F.normalize(b - (a * b).sum(-1, keepdim=True) * a, dim=-1)
        return torch.stack([a, b, torch.linalg.cross(a, b, dim=-1)], dim=-1)

    def forward(self, features):
        turns = self.turned(self.net(features).unflatten(1, (-1, 6)) + 0.1).unbind(1)
        chain, places = [turns[0]], [self.joints[0].expand(len(features), 3)]
        for at in range(1, len(PARENTS)):
            parent = PARENTS[at]
            chain.append(torch.matmul(chain[parent], turns[at]))
            places.append(places[parent] + torch.matmul(chain[parent], self.offsets[at][:, None])[..., 0])
        chain, places = torch.stack(chain, dim=1), torch.stack(places, dim=1)
        moved = places - (chain * self.joints[:, None]).sum(-1)
        parts = torch.cat([chain, moved[..., None]], dim=-1).flatten(2)
        parts = torch.matmul(self.weights, parts).unflatten(-1, (3, 4))
        return (parts[..., :3] * self.skin[:, None]).sum(-1) + parts[..., 3]


def mlp(a, dim):
    return nn.Sequential(nn.Linear(a, dim), nn.ReLU(), nn.Linear(dim, dim), nn.LayerNorm(dim))


class MeshNet(nn.Module):
    """Pfaff et al.: what the corners of a mesh tell each other along its edges."""

    def __init__(self, dim=128, blocks=6):
        super().__init__()
        self.corners, self.edges, self.head = mlp(12, dim), mlp(7, dim), nn.Linear(dim, 3)
        self.along = nn.ModuleList(mlp(3 * dim, dim) for _ in range(blocks))
        self.at = nn.ModuleList(mlp(2 * dim, dim) for _ in range(blocks))

    def forward(self, corners, edges, begin, end):
        corners, edges = self.corners(corners), self.edges(edges)
        for along, at in zip(self.along, self.at):
            edges = edges + along(torch.cat([edges, corners[begin], corners[end]], dim=1))
            told = torch.zeros_like(corners).index_add_(0, end, edges)
            corners = corners + at(torch.cat([corners, told], dim=1))
        return self.head(corners)
