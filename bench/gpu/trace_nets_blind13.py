"""The networks and data sets of trace_cases_blind13.py that no library has."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset


# --- data sets -------------------------------------------------------------------------------------------------------

class EnlargedPictures(Dataset):
    """Pictures of 32 x 32, made as large as those that the network was first trained on."""

    def __init__(self, count=512):
        from PIL import Image
        from torchvision import transforms
        pixels = np.random.default_rng(13).integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
        self.pictures = [Image.fromarray(each) for each in pixels]
        self.transform = transforms.Compose([
            transforms.Resize(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
            transforms.Normalize([0.491, 0.482, 0.447], [0.247, 0.243, 0.262])])

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        return self.transform(self.pictures[index % len(self.pictures)]), index % 10


class Houses(Dataset):
    """A table of houses: 90 numbers about each, and its price in the last column."""

    def __init__(self, count=8192, columns=90):
        import pandas as pd
        numbers = np.random.default_rng(7).standard_normal((count, columns + 1)).astype(np.float32)
        self.frame = pd.DataFrame(numbers, columns=[f"c{at}" for at in range(columns)] + ["price"])

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        row = self.frame.iloc[index % len(self.frame)]
        return torch.tensor(row.iloc[:-1].to_numpy()), torch.tensor(row["price"], dtype=torch.float32)

    def tensors(self):
        numbers = torch.from_numpy(self.frame.to_numpy().copy())
        return numbers[:, :-1].contiguous(), numbers[:, -1].contiguous()


class TabularResNet(nn.Module):
    """Gorishniy et al.: residual blocks of two linear layers."""

    def __init__(self, inputs=90, width=1024, depth=8):
        super().__init__()
        self.inlet, self.outlet = nn.Linear(inputs, width), nn.Linear(width, 1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.BatchNorm1d(width), nn.Linear(width, 2 * width), nn.ReLU(), nn.Dropout(0.1),
                          nn.Linear(2 * width, width)) for _ in range(depth))

    def forward(self, x):
        x = self.inlet(x)
        for block in self.blocks:
            x = x + block(x)
        return self.outlet(F.relu(x))[:, 0]


# --- pictures --------------------------------------------------------------------------------------------------------

class WideBlock(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(a), nn.BatchNorm2d(b)
        self.conv1 = nn.Conv2d(a, b, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(b, b, 3, 1, 1, bias=False)
        self.pass_by = nn.Conv2d(a, b, 1, stride, bias=False) if a != b else None

    def forward(self, x):
        y = F.relu(self.norm1(x))
        x = self.pass_by(y) if self.pass_by else x
        return x + self.conv2(F.relu(self.norm2(self.conv1(y))))


class WideResNet(nn.Module):
    """Zagoruyko and Komodakis, for pictures of 32 x 32: 28 layers, ten times as wide."""

    def __init__(self, depth=28, wide=10, classes=10):
        super().__init__()
        widths, count = (16, 16 * wide, 32 * wide, 64 * wide), (depth - 4) // 6
        blocks = [WideBlock(b if at else a, b, 2 if at == 0 and level else 1)
                  for level, (a, b) in enumerate(zip(widths, widths[1:])) for at in range(count)]
        self.inlet, self.blocks = nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.Sequential(*blocks)
        self.norm, self.head = nn.BatchNorm2d(widths[-1]), nn.Linear(widths[-1], classes)

    def forward(self, x):
        return self.head(F.relu(self.norm(self.blocks(self.inlet(x)))).mean((2, 3)))


class PatchJudge(nn.Module):
    """pix2pix's judge: is each patch of a pair of pictures real?"""

    def __init__(self, inputs=6, widths=(64, 128, 256, 512)):
        super().__init__()
        parts = []
        for at, (a, b) in enumerate(zip((inputs, *widths), widths)):
            parts += [nn.Conv2d(a, b, 4, 2 if at < 3 else 1, 1), nn.BatchNorm2d(b), nn.LeakyReLU(0.2)]
        self.layers = nn.Sequential(*parts, nn.Conv2d(widths[-1], 1, 4, 1, 1))

    def forward(self, x, y):
        return self.layers(torch.cat([x, y], dim=1)).float()


def normal(x, weight, bias, eps=1e-6):
    """Layer norm over the channels, as in the authors' code."""
    mean = x.mean(1, keepdim=True)
    spread = (x - mean).pow(2).mean(1, keepdim=True)
    x = (x - mean) / torch.sqrt(spread + eps)
    return weight.view(1, -1, 1, 1) * x + bias.view(1, -1, 1, 1)


class NafBlock(nn.Module):
    """Chen et al.: convolutions whose only activation is the product of two halves."""

    def __init__(self, dim, norm):
        super().__init__()
        self.norm = norm
        self.weights = nn.ParameterList(torch.ones(dim) for _ in range(2))
        self.biases = nn.ParameterList(torch.zeros(dim) for _ in range(2))
        self.wide1, self.wide2 = (nn.Conv2d(dim, 2 * dim, 1) for _ in range(2))
        self.narrow1, self.narrow2 = (nn.Conv2d(dim, dim, 1) for _ in range(2))
        self.near, self.channels = nn.Conv2d(2 * dim, 2 * dim, 3, padding=1, groups=2 * dim), nn.Conv2d(dim, dim, 1)
        self.beta, self.gamma = (nn.Parameter(torch.full((1, dim, 1, 1), 0.1)) for _ in range(2))

    def forward(self, x):
        a, b = self.near(self.wide1(self.norm(x, self.weights[0], self.biases[0]))).chunk(2, dim=1)
        y = a * b
        x = x + self.narrow1(y * self.channels(y.mean((2, 3), keepdim=True))) * self.beta
        a, b = self.wide2(self.norm(x, self.weights[1], self.biases[1])).chunk(2, dim=1)
        return x + self.narrow2(a * b) * self.gamma


class NafNet(nn.Module):
    """Takes the noise out of photos."""

    def __init__(self, norm, width=32, levels=2, each=2):
        super().__init__()
        dims = [width << level for level in range(levels + 1)]
        self.inlet, self.outlet = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)

        def blocks(dim):
            return nn.Sequential(*(NafBlock(dim, norm) for _ in range(each)))
        self.before, self.after = (nn.ModuleList(blocks(dim) for dim in dims[:-1]) for _ in range(2))
        self.down = nn.ModuleList(nn.Conv2d(dim, 2 * dim, 2, 2) for dim in dims[:-1])
        self.up = nn.ModuleList(nn.Sequential(nn.Conv2d(2 * dim, 4 * dim, 1, bias=False), nn.PixelShuffle(2))
                                for dim in dims[:-1])
        self.middle = blocks(dims[-1])

    def forward(self, noisy):
        x, kept = self.inlet(noisy), []
        for block, down in zip(self.before, self.down):
            kept.append(block(x))
            x = down(kept[-1])
        x = self.middle(x)
        for up, block in reversed(list(zip(self.up, self.after))):
            x = block(up(x) + kept.pop())
        return noisy + self.outlet(x)


# --- sets ------------------------------------------------------------------------------------------------------------

def attended(q, k, v, dim):
    """As in the authors' code, which divides by the root of the whole width."""
    scores = torch.softmax(q.matmul(k.transpose(-2, -1)) / math.sqrt(dim), dim=-1)
    return scores.matmul(v)


def attended_by_library(q, k, v, dim):
    return F.scaled_dot_product_attention(q, k, v, scale=1 / math.sqrt(dim))


class SetBlock(nn.Module):
    """Lee et al.'s multihead attention block: what each member of x finds in y."""

    def __init__(self, dim, heads, attended):
        super().__init__()
        self.dim, self.heads, self.attended = dim, heads, attended
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x, y):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.q(x), self.k(y), self.v(y)))
        x = self.norm1((q + self.attended(q, k, v, self.dim)).transpose(1, 2).flatten(2))
        return self.norm2(x + F.relu(self.out(x)))


class SetTransformer(nn.Module):
    """Which of forty shapes a cloud of points has."""

    def __init__(self, attended, dim=512, heads=8, depth=4, kinds=40):
        super().__init__()
        self.inlet, self.head = nn.Linear(3, dim), nn.Linear(dim, kinds)
        self.blocks = nn.ModuleList(SetBlock(dim, heads, attended) for _ in range(depth))
        self.pool, self.seed = SetBlock(dim, heads, attended), nn.Parameter(torch.randn(1, 1, dim))

    def forward(self, points):
        x = self.inlet(points)
        for block in self.blocks:
            x = block(x, x)
        return self.head(self.pool(self.seed.expand(len(x), -1, -1), x)[:, 0])


# --- updates ---------------------------------------------------------------------------------------------------------

class MomentumByHand:
    """Stochastic gradient descent as in a first lesson."""

    def __init__(self, model, lr=0.01, momentum=0.9, decay=1e-4):
        self.weights = list(model.parameters())
        self.moves = [torch.zeros_like(weight) for weight in self.weights]
        self.lr, self.momentum, self.decay = lr, momentum, decay

    def zero_grad(self, set_to_none=True):
        for weight in self.weights:
            weight.grad = None

    @torch.no_grad()
    def step(self):
        for at, weight in enumerate(self.weights):
            slope = weight.grad + self.decay * weight
            self.moves[at] = self.momentum * self.moves[at] + slope
            weight -= self.lr * self.moves[at]
