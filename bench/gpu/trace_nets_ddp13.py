"""The networks and data sets of trace_cases_ddp13.py that no library has."""
import io
import random

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

GPU = "cuda"


# --- networks of convolutions ----------------------------------------------------------------------------------------

def conv(inputs, outputs, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs),
                         nn.ReLU(inplace=True))


def trunk(width=64, stages=4, depth=2, inputs=3):
    """Few and wide convolutions; each stage halves the picture and doubles the channels."""
    layers = []
    for stage in range(stages):
        outputs = width << stage
        layers += [conv(inputs, outputs, 2)] + [conv(outputs, outputs) for _ in range(depth)]
        inputs = outputs
    return nn.Sequential(*layers)


class Outlines(nn.Module):
    """The outline of the thing in each box of a picture."""

    def __init__(self, width=256):
        super().__init__()
        self.trunk, self.narrow = trunk(), nn.Conv2d(512, width, 1)
        self.tower = nn.Sequential(*(part for _ in range(4) for part in (
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(inplace=True))))
        self.larger, self.last = nn.ConvTranspose2d(width, width, 2, stride=2), nn.Conv2d(width, 1, 1)

    def forward(self, pictures, boxes):
        from torchvision.ops import roi_align
        maps = self.narrow(self.trunk(pictures))
        cut = roi_align(maps, boxes, 14, spatial_scale=1 / 16, sampling_ratio=1, aligned=True)
        cut = cut.contiguous(memory_format=torch.channels_last)
        return self.last(F.relu(self.larger(self.tower(cut)))).squeeze(1)


def outlines_loss(model, pictures, boxes, outlines):
    return F.binary_cross_entropy_with_logits(model(pictures, boxes).float(), outlines)


def boxed(pictures, each, side=512):
    """Boxes, each after the number of its picture, and outlines of 28 x 28."""
    corner, size = torch.rand(pictures * each, 2) * side / 2, 32 + torch.rand(pictures * each, 2) * (side / 2 - 32)
    which = torch.arange(pictures).repeat_interleave(each)[:, None].float()
    return torch.cat([which, corner, corner + size], dim=1), (torch.rand(pictures * each, 28, 28) < 0.5).float()


class Spotter(nn.Module):
    """At each place of the last map: whether a thing is there, and its box."""

    def __init__(self, width=64, depth=2):
        super().__init__()
        self.trunk = trunk(width, depth=depth)
        self.head = nn.Conv2d(8 * width, 5, 1)

    def forward(self, x):
        return self.head(self.trunk(x)).flatten(2).transpose(1, 2)


def spotted_loss(found, there, boxes):
    return F.binary_cross_entropy_with_logits(found[..., 0], there) + F.l1_loss(found[..., 1:], boxes)


def overlaps(box, others):
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.clip(high - low, 0, None).prod(1)
    return common / (np.prod(box[2:] - box[:2]) + (others[:, 2:] - others[:, :2]).prod(1) - common + 1e-9)


def matched(found, wanted, least=0.5):
    """Which boxes of each picture, the surest first, lie on one that is wanted and not yet taken."""
    hits = []
    for boxes, others in zip(found, wanted):
        free = np.ones(len(others), bool)
        for box in boxes:
            shares = overlaps(box, others) * free
            best = int(shares.argmax())
            hits.append(shares[best] >= least)
            free[best] &= not hits[-1]
    return np.cumsum(hits) / np.arange(1, len(hits) + 1)


class Flow(nn.Module):
    """How far each pixel moves between two frames."""

    def __init__(self, width=64):
        super().__init__()
        self.trunk, self.head = trunk(width, inputs=6), nn.Conv2d(8 * width, 2, 3, padding=1)

    def forward(self, frames):
        return F.interpolate(self.head(self.trunk(frames)).float(), scale_factor=16.0, mode="bilinear")


class FoldedConv(nn.Module):
    """A convolution whose weight takes up the scale of the frozen norm after it."""

    def __init__(self, convolution, norm):
        super().__init__()
        self.convolution = convolution
        scale = norm.weight * (norm.running_var + norm.eps).rsqrt()
        self.register_buffer("scale", scale[:, None, None, None])
        self.register_buffer("shift", norm.bias - norm.running_mean * scale)

    def forward(self, x):
        to = self.convolution
        return F.conv2d(x, to.weight * self.scale, self.shift, to.stride, to.padding, to.dilation, to.groups)


def folded(network):
    """A ResNet of torchvision whose frozen norms are part of its convolutions."""
    for module in list(network.modules()):
        for index in (1, 2, 3):
            if hasattr(module, f"conv{index}") and hasattr(module, f"bn{index}"):
                pair = getattr(module, f"conv{index}"), getattr(module, f"bn{index}")
                setattr(module, f"conv{index}", FoldedConv(*pair))
                setattr(module, f"bn{index}", nn.Identity())
        if getattr(module, "downsample", None) is not None:
            module.downsample = FoldedConv(*module.downsample)
    return network


# --- people told apart by a head that is shared between the ranks ----------------------------------------------------

class Gathered(torch.autograd.Function):
    """The rows of all ranks; each gets the gradient of its own, summed over the ranks."""

    @staticmethod
    def forward(ctx, rows):
        whole = rows.new_empty(dist.get_world_size() * rows.shape[0], rows.shape[1])
        dist.all_gather_into_tensor(whole, rows.contiguous())
        return whole

    @staticmethod
    def backward(ctx, gradient):
        own = gradient.new_empty(gradient.shape[0] // dist.get_world_size(), gradient.shape[1])
        dist.reduce_scatter_tensor(own, gradient.contiguous())
        return own.mul_(dist.get_world_size())  # DistributedDataParallel divides by it


class SplitEntropy(torch.autograd.Function):
    """Cross entropy of scores of which each rank has some columns, the first of them `first`."""

    @staticmethod
    def forward(ctx, scores, wanted, first):
        scores = scores.float()
        top = scores.amax(1)
        dist.all_reduce(top, op=dist.ReduceOp.MAX)
        mine = (wanted >= first) & (wanted < first + scores.shape[1])
        column = torch.where(mine, wanted - first, 0)[:, None]
        shares = torch.exp(scores - top[:, None])
        sums = torch.stack([shares.sum(1), torch.where(mine, scores.gather(1, column)[:, 0], 0.0)])
        dist.all_reduce(sums)
        ctx.save_for_backward(shares.div_(sums[0][:, None]), column, mine)
        return (sums[0].log() + top - sums[1]).mean()

    @staticmethod
    def backward(ctx, gradient):
        shares, column, mine = ctx.saved_tensors
        shares.scatter_add_(1, column, -mine[:, None].float())
        return (shares * (gradient / len(shares))).bfloat16(), None, None


class Portraits(nn.Module):
    """512 numbers of a face."""

    def __init__(self):
        super().__init__()
        self.trunk, self.out = trunk(), nn.Linear(512, 512)

    def forward(self, x):
        return self.out(self.trunk(x).mean((2, 3)))


# --- a transformer whose weights are shared between the ranks --------------------------------------------------------

class SplitTower:
    """Each rank keeps its part of every layer's weights; `ahead`: the next layer's are gathered during this one's."""

    def __init__(self, dim, heads, layers, ahead):
        self.dim, self.heads, self.ahead = dim, heads, ahead
        size, kind = 12 * dim * dim, {"device": GPU, "dtype": torch.bfloat16}
        self.parts = [torch.empty(size // dist.get_world_size(), **kind).normal_(std=0.02) for _ in range(layers)]
        self.whole = [torch.empty(size, **kind) for _ in range(2)]

    def gather(self, index):
        if index < len(self.parts):
            return dist.all_gather_into_tensor(self.whole[index % 2], self.parts[index], async_op=self.ahead)

    def layer(self, x, weights):
        dim = self.dim
        qkv, out, up, down = weights.view(12, dim, dim).split((3, 1, 4, 4))
        q, k, v = F.linear(F.layer_norm(x, (dim,)), qkv.flatten(0, 1)).unflatten(-1, (3, self.heads, -1)).permute(
            2, 0, 3, 1, 4)
        x = x + F.linear(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2), out[0])
        hidden = F.gelu(F.linear(F.layer_norm(x, (dim,)), up.flatten(0, 1)))
        return x + F.linear(hidden, down.view(dim, 4 * dim))

    def __call__(self, x):
        waiting = self.gather(0) if self.ahead else None
        for index in range(len(self.parts)):
            if self.ahead:
                waiting.wait()
                waiting = self.gather(index + 1)
            else:
                self.gather(index)
            x = self.layer(x, self.whole[index % 2])
        return x


# --- trees from above ------------------------------------------------------------------------------------------------

class CrownLayer(nn.Module):
    """Patches look at each other, the less the farther they are."""

    def __init__(self, dim, heads, written):
        super().__init__()
        self.heads, self.written = heads, written
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x, far):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if self.written:
            mixed = torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5 + far, dim=-1) @ v
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=far)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Crowns(nn.Module):
    def __init__(self, side=48, dim=768, layers=5, heads=12, written=False, kinds=40):
        super().__init__()
        self.embed, self.head = nn.Conv2d(3, dim, 8, stride=8), nn.Linear(dim, kinds)
        self.layers = nn.ModuleList(CrownLayer(dim, heads, written) for _ in range(layers))
        places = torch.cartesian_prod(torch.arange(side), torch.arange(side)).float()
        slopes = 2.0 ** -(8 * torch.arange(1, heads + 1) / heads)
        far = -torch.cdist(places, places) * slopes[:, None, None]
        self.register_buffer("far", far[None].bfloat16())

    def forward(self, x):
        x = self.embed(x).flatten(2).transpose(1, 2)
        for layer in self.layers:
            x = layer(x, self.far)
        return self.head(x.mean(1))


# --- files -----------------------------------------------------------------------------------------------------------

class Orchards(Dataset):
    """JPEG files of 512 pixels a side, made 256 a side; `kept`: once, before training."""

    def __init__(self, kept, count=16):
        from PIL import Image
        dice, self.files = np.random.default_rng(7), []
        for _ in range(count):
            coarse, file = Image.fromarray(dice.integers(0, 256, (48, 48, 3), dtype=np.uint8)), io.BytesIO()
            coarse.resize((512, 512), Image.BICUBIC).save(file, "JPEG", quality=90)
            self.files.append(file.getvalue())
        self.kept = [self.opened(index) for index in range(count)] if kept else None

    def __len__(self):
        return 1 << 20

    def opened(self, index):
        from PIL import Image
        picture = Image.open(io.BytesIO(self.files[index])).convert("RGB").resize((256, 256), Image.BILINEAR)
        return np.array(picture).transpose(2, 0, 1)

    def __getitem__(self, index):
        which, left, top = index % len(self.files), index * 5 % 32, index * 13 % 32
        picture = self.kept[which] if self.kept else self.opened(which)
        return torch.from_numpy(picture[:, top:top + 224, left:left + 224].copy()), index % 1000


class Mosaics(Dataset):
    """Four pictures with their boxes, each made larger or smaller, around a point of a picture of 416 x 416."""

    def __init__(self, count=24, side=256):
        dice = np.random.default_rng(11)
        self.pictures = dice.integers(0, 256, (count, side, side, 3), dtype=np.uint8)
        self.boxes = dice.random((count, 12, 4)) * side / 2
        self.boxes[..., 2:] += self.boxes[..., :2] + 4

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        from PIL import Image
        dice, size = random.Random(index), 416
        sheet, there = Image.new("RGB", (size, size)), torch.zeros(26 * 26)
        wanted, middle = torch.zeros(26 * 26, 4), (dice.randint(140, 276), dice.randint(140, 276))
        for corner in range(4):
            which, scale = dice.randrange(len(self.pictures)), dice.uniform(1.1, 1.7)
            side = int(256 * scale)
            picture = Image.fromarray(self.pictures[which]).resize((side, side), Image.BILINEAR)
            if dice.random() < 0.5:
                picture = picture.transpose(Image.FLIP_LEFT_RIGHT)
            left, top = (middle[0] - side * (corner % 2), middle[1] - side * (corner // 2))
            window = (0 if corner % 2 else middle[0], 0 if corner // 2 else middle[1],
                      middle[0] if corner % 2 else size, middle[1] if corner // 2 else size)
            part = picture.crop((window[0] - left, window[1] - top, window[2] - left, window[3] - top))
            sheet.paste(part, window[:2])
            for box in self.boxes[which] * scale + (left, top, left, top):
                x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
                if window[0] <= x < window[2] and window[1] <= y < window[3]:
                    place = int(y) // 16 * 26 + int(x) // 16
                    there[place], wanted[place] = 1.0, torch.from_numpy(box).float() / size
        return torch.from_numpy(np.array(sheet).transpose(2, 0, 1).copy()), there, wanted
