"""The networks and data sets of trace_cases_blind15.py that no library has: video and pictures. Those of graphs and
recommendations are in trace_nets_blind15b.py."""
import io
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset


# --- video -----------------------------------------------------------------------------------------------------------

class Sports(Dataset):
    """Clips of 8 frames, each frame a JPEG file as the usual extraction of frames leaves them."""

    def __init__(self, frames=96):
        from PIL import Image
        coarse = np.random.default_rng(15).integers(0, 256, (frames, 32, 43, 3), dtype=np.uint8)
        self.files = []
        for each in coarse:
            file = io.BytesIO()
            Image.fromarray(each).resize((344, 256)).save(file, "JPEG", quality=90)
            self.files.append(file.getvalue())

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        from PIL import Image
        frames = []
        for at in range(8):
            picture = Image.open(io.BytesIO(self.files[(index * 8 + at) % len(self.files)])).convert("RGB")
            left = index % 88
            picture = picture.crop((left, 0, left + 256, 256)).resize((224, 224))
            frames.append(torch.from_numpy(np.array(picture)).permute(2, 0, 1))
        return torch.stack(frames), index % 174


def segment_loss(model, clips, labels):
    """Temporal segment network (Wang et al.): what is thought of the frames is averaged."""
    x = clips.flatten(0, 1).to(memory_format=torch.channels_last)
    scores = model(x.float().div_(127.5).sub_(1.0)).float()
    return F.cross_entropy(scores.view(*clips.shape[:2], -1).mean(1), labels)


class ConvLSTMCell(nn.Module):
    def __init__(self, before, dim):
        super().__init__()
        self.gates = nn.Conv2d(before + dim, 4 * dim, 3, padding=1)

    def forward(self, x, hidden, cell):
        i, f, o, g = self.gates(torch.cat([x, hidden], dim=1)).chunk(4, dim=1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(cell), cell


class Nowcast(nn.Module):
    """ConvLSTM (Shi et al.): reads radar pictures, then draws the ones to come."""

    def __init__(self, dim=64, depth=2):
        super().__init__()
        self.cells = nn.ModuleList(ConvLSTMCell(dim if at else 1, dim) for at in range(depth))
        self.outlet, self.dim = nn.Conv2d(dim, 1, 1), dim

    def forward(self, frames, ahead):
        batch, seen, _, tall, wide = frames.shape
        empty = frames.new_zeros(batch, self.dim, tall, wide)
        states, drawn = [(empty, empty) for _ in self.cells], []
        for at in range(seen + ahead - 1):
            x = frames[:, at] if at < seen else drawn[-1]
            for depth, cell in enumerate(self.cells):
                states[depth] = cell(x, *states[depth])
                x = states[depth][0]
            if at >= seen - 1:
                drawn.append(torch.sigmoid(self.outlet(x)))
        return torch.stack(drawn, dim=1)


# --- pictures: parts seen, made and coded ----------------------------------------------------------------------------

class PyramidParser(nn.Module):
    """PSPNet (Zhao et al.) on a dilated ResNet-50."""

    def __init__(self, classes=19):
        super().__init__()
        import torchvision
        trunk = torchvision.models.resnet50(weights=None, replace_stride_with_dilation=[False, True, True])
        self.trunk = nn.Sequential(*list(trunk.children())[:-2])
        self.pools = nn.ModuleList(nn.Sequential(nn.AdaptiveAvgPool2d(bins), nn.Conv2d(2048, 512, 1, bias=False),
                                                 nn.ReLU()) for bins in (1, 2, 3, 6))
        self.head = nn.Sequential(nn.Conv2d(4096, 512, 3, padding=1, bias=False), nn.BatchNorm2d(512), nn.ReLU(),
                                  nn.Conv2d(512, classes, 1))

    def forward(self, x):
        x = self.trunk(x)
        context = [F.interpolate(pool(x), size=x.shape[2:], mode="bilinear") for pool in self.pools]
        return self.head(torch.cat([x, *context], dim=1))


class ResidualBlock(nn.Module):
    """Told the time by a shift of its channels."""

    def __init__(self, before, dim):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(16, before), nn.GroupNorm(16, dim)
        self.conv1, self.conv2 = nn.Conv2d(before, dim, 3, padding=1), nn.Conv2d(dim, dim, 3, padding=1)
        self.time = nn.Linear(256, dim)
        self.skip = nn.Conv2d(before, dim, 1) if before != dim else nn.Identity()

    def forward(self, x, time):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(time)[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(y)))


class PixelDenoiser(nn.Module):
    """A U-Net on squares of 4 x 4 pixels."""

    def __init__(self, dim=256):
        super().__init__()
        self.inlet, self.outlet = nn.Conv2d(48, dim, 3, padding=1), nn.Conv2d(dim, 48, 3, padding=1)
        self.time = nn.Sequential(nn.Linear(1, 256), nn.SiLU(), nn.Linear(256, 256), nn.SiLU())
        widths = [dim, dim, 2 * dim, 2 * dim]
        self.down = nn.ModuleList(ResidualBlock(a, b) for a, b in zip(widths, widths[1:]))
        self.middle = ResidualBlock(2 * dim, 2 * dim)
        self.up = nn.ModuleList(ResidualBlock(2 * b, a) for a, b in reversed(list(zip(widths, widths[1:]))))

    def forward(self, x, t):
        time, kept = self.time(t[:, None]), []
        x = self.inlet(F.pixel_unshuffle(x, 4))
        for block in self.down:
            x = block(x, time)
            kept.append(x)
            x = F.avg_pool2d(x, 2)
        x = self.middle(x, time)
        for block in self.up:
            x = F.interpolate(x, scale_factor=2.0, mode="nearest")
            x = block(torch.cat([x, kept.pop()], dim=1), time)
        return F.pixel_shuffle(self.outlet(x), 4)


class Painter(nn.Module):
    """A generator in the manner of SAGAN's, without its attention: 256 x 256 pictures out of 128 numbers."""

    def __init__(self, widths=(1024, 1024, 1024, 512, 256, 128, 64)):
        super().__init__()
        self.first, self.widths = nn.Linear(128, widths[0] * 16), widths
        self.blocks = nn.ModuleList()
        for before, dim in zip(widths, widths[1:]):
            self.blocks.append(nn.Sequential(
                nn.Upsample(scale_factor=2.0), nn.Conv2d(before, dim, 3, padding=1, bias=False), nn.BatchNorm2d(dim),
                nn.ReLU(inplace=True), nn.Conv2d(dim, dim, 3, padding=1, bias=False), nn.BatchNorm2d(dim),
                nn.ReLU(inplace=True)))
        self.last = nn.Conv2d(widths[-1], 3, 3, padding=1)

    def forward(self, z):
        x = self.first(z).view(-1, self.widths[0], 4, 4).contiguous(memory_format=torch.channels_last)
        for block in self.blocks:
            x = block(x)
        return torch.tanh(self.last(x))


def drawn_words(logits, heat=0.7):
    """One word of the code book for each place, by the straight-through Gumbel softmax; and how far the chances are
    from even ones."""
    logits, words = logits.float(), logits.shape[-1]
    noise = -torch.log(-torch.log(torch.rand_like(logits) + 1e-9) + 1e-9)
    soft = torch.softmax((logits + noise) / heat, dim=-1)
    best = soft.argmax(-1, keepdim=True)
    hard = (torch.arange(words, device=logits.device) == best).to(soft.dtype)
    drawn = hard - soft.detach() + soft
    chances = torch.softmax(logits, dim=-1)
    uneven = (chances * (torch.log(chances + 1e-10) + math.log(words))).sum(-1).mean()
    return drawn, uneven


class DiscreteCoder(nn.Module):
    """The first stage of DALL-E (Ramesh et al.): a picture as 32 x 32 words of a code book."""

    def __init__(self, draw, words=8192, dim=128):
        super().__init__()
        self.draw = draw
        self.encoder = nn.Sequential(nn.Conv2d(3, dim, 4, 2, 1), nn.ReLU(), nn.Conv2d(dim, dim, 4, 2, 1), nn.ReLU(),
                                     nn.Conv2d(dim, 2 * dim, 4, 2, 1), nn.ReLU())
        self.to_words, self.book = nn.Linear(2 * dim, words), nn.Linear(words, 2 * dim, bias=False)
        self.decoder = nn.Sequential(nn.ConvTranspose2d(2 * dim, dim, 4, 2, 1), nn.ReLU(),
                                     nn.ConvTranspose2d(dim, dim, 4, 2, 1), nn.ReLU(),
                                     nn.ConvTranspose2d(dim, 3, 4, 2, 1))

    def loss(self, pictures):
        seen = self.encoder(pictures).permute(0, 2, 3, 1)
        words, uneven = self.draw(self.to_words(seen))
        made = self.decoder(self.book(words).permute(0, 3, 1, 2))
        return F.mse_loss(made.float(), pictures) + 1e-4 * uneven
