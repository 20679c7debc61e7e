"""The networks, data sets and losses of trace_cases_blind10.py that no library has."""
import io
import math
import re

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

GPU = "cuda"


# --- pictures --------------------------------------------------------------------------------------------------------

class Photos(Dataset):
    """JPEG files held in memory, decoded by PIL and cropped at random."""

    def __init__(self, count=48, wide=320, high=256):
        from PIL import Image
        from torchvision.transforms import v2
        rough = torch.randint(0, 256, (count, 3, high // 8, wide // 8)).float()
        smooth = F.interpolate(rough, (high, wide), mode="bicubic").clamp(0, 255).to(torch.uint8)
        self.files = []
        for picture in smooth.permute(0, 2, 3, 1).numpy():
            file = io.BytesIO()
            Image.fromarray(picture).save(file, "JPEG", quality=90)
            self.files.append(file.getvalue())
        self.cut = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(), v2.PILToTensor()])

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        from PIL import Image
        with Image.open(io.BytesIO(self.files[index % len(self.files)])) as picture:
            return self.cut(picture.convert("RGB")), index % 1000


class Crops(Dataset):
    """Bytes cut out of pictures that are decoded already."""

    def __init__(self, size=224):
        self.pictures, self.size = torch.randint(0, 256, (64, 3, 256, 256), dtype=torch.uint8), size

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        down, right = index * 7 % (256 - self.size), index * 13 % (256 - self.size)
        return self.pictures[index % 64, :, down:down + self.size, right:right + self.size].clone(), index % 1000


def lit(pictures, dtype):
    """Bytes as numbers about zero."""
    return (pictures.to(dtype) - 116.0) / 58.0


def faces_one_by_one(pictures, boxes, size=112):
    """`boxes`: picture, left, top, right, bottom."""
    cut = []
    for box in boxes:
        at, left, top, right, bottom = box.int().tolist()
        cut.append(F.interpolate(pictures[at:at + 1, :, top:bottom, left:right], (size, size), mode="bilinear"))
    return torch.cat(cut)


def faces_at_once(pictures, boxes, size=112):
    from torchvision.ops import roi_align
    return roi_align(pictures, boxes, size, sampling_ratio=1, aligned=True)


class LatentTower(nn.Module):
    """Plain residual convolutions that take the noise out of latents."""

    def __init__(self, width=768, depth=4, latents=16):
        super().__init__()
        self.inlet, self.outlet = nn.Conv2d(latents, width, 3, padding=1), nn.Conv2d(width, latents, 3, padding=1)
        self.first, self.second = (nn.ModuleList(nn.Conv2d(width, width, 3, padding=1, bias=False)
                                                 for _ in range(depth)) for _ in range(2))

    def forward(self, x):
        x = self.inlet(x)
        for first, second in zip(self.first, self.second):
            x = x + second(F.relu(first(x), inplace=True))
        return self.outlet(x)


# --- texts -----------------------------------------------------------------------------------------------------------

class WordPieces:
    """Splits text at anything but letters, then each word into the longest known pieces."""

    def __init__(self, length=128):
        generator = np.random.default_rng(3)
        self.words = ["".join(map(chr, generator.integers(97, 123, size))) for size in generator.integers(3, 10, 1500)]
        self.pieces = {word[:end]: 5 + at for at, word in enumerate(self.words) for end in range(1, len(word), 2)}
        self.length = length

    def texts(self, count):
        generator = np.random.default_rng(4)
        return [", ".join(self.words[at] for at in generator.integers(0, len(self.words), 90)) for _ in range(count)]

    def __call__(self, text):
        ids = [0]
        for word in re.findall(r"[a-z]+", text.lower()):
            begin = 0
            while begin < len(word):
                end = len(word)
                while end > begin + 1 and word[begin:end] not in self.pieces:
                    end -= 1
                ids.append(self.pieces.get(word[begin:end], 3))
                begin = end
        ids = ids[:self.length - 1] + [2]
        return ids + [1] * (self.length - len(ids))


class PackedLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x, mask):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Packed(nn.Module):
    """An encoder of several documents in a row, each of which reads only itself. `mask`: 0 or minus infinity."""

    def __init__(self, dim=768, depth=6, length=1024, vocab=16000):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(length, dim))
        self.layers = nn.ModuleList(PackedLayer(dim, 12) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab)

    def forward(self, ids, mask):
        x, mask = self.words(ids) + self.places, mask.bfloat16()
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(self.norm(x))


def own_document(documents):
    """The mask of texts whose words belong to the documents of these numbers."""
    same = documents[:, None, :, None] == documents[:, None, None, :]
    return torch.zeros(same.shape, device=documents.device).masked_fill(~same, float("-inf"))


def likelihood(model, ids):
    """Of each text as a whole."""
    scores = model(ids)[:, :-1].float()
    return -F.cross_entropy(scores.flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(len(ids), -1).sum(1)


class Encoder(nn.Module):
    """A masked language model of PyTorch's own layers."""

    def __init__(self, dim=2560, depth=4, heads=20, length=512, vocab=16000):
        super().__init__()
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.words, self.places = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(length, dim))
        self.encoder, self.head = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False), nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.encoder(self.words(ids) + self.places))


# --- signals and series ----------------------------------------------------------------------------------------------

def heartbeats(count):
    return list(np.random.default_rng(0).standard_normal((count, 12, 320)).astype(np.float32))


class HeartBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(inputs, outputs, 7, stride, 3, bias=False), nn.BatchNorm1d(outputs), nn.ReLU(True),
            nn.Conv1d(outputs, outputs, 7, 1, 3, bias=False), nn.BatchNorm1d(outputs))
        self.skip = nn.Conv1d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


class HeartNet(nn.Module):
    """Names what is wrong with a heart from twelve leads."""

    def __init__(self, widths=(64, 128, 256, 512), kinds=71):
        super().__init__()
        sizes = (64, *widths)
        self.inlet = nn.Conv1d(12, 64, 15, padding=7)
        self.blocks = nn.Sequential(*(part for a, b in zip(sizes, widths) for part in (
            HeartBlock(a, b, 2), HeartBlock(b, b, 1))))
        self.head = nn.Linear(widths[-1], kinds)

    def forward(self, x):
        return self.head(self.blocks(self.inlet(x)).mean(-1))


def masked_clip_by_clip(features, high=27, long=40):
    """Blanks a band of frequencies and a stretch of time of every clip, drawn at random."""
    features = features.clone()
    _, bands, frames = features.shape
    for clip in features:
        width = torch.randint(0, high, (1,), device=clip.device).item()
        low = torch.randint(0, bands - width, (1,), device=clip.device).item()
        clip[low:low + width] = 0
        width = torch.randint(0, long, (1,), device=clip.device).item()
        begin = torch.randint(0, frames - width, (1,), device=clip.device).item()
        clip[:, begin:begin + width] = 0
    return features


def masked_together(features, high=27, long=40):
    clips, bands, frames = features.shape
    kept = []
    for size, most in ((bands, high), (frames, long)):
        width = torch.rand(clips, 1, device=features.device) * most
        begin = torch.rand(clips, 1, device=features.device) * (size - width)
        at = torch.arange(size, device=features.device)
        kept.append(((at < begin) | (at >= begin + width)).to(features.dtype))
    return features * kept[0][:, :, None] * kept[1][:, None, :]


class VariateLayer(nn.Module):
    """`by_hand`: all variates' scores against all are written out."""

    def __init__(self, dim, heads, by_hand, drop=0.1):
        super().__init__()
        self.heads, self.by_hand, self.drop = heads, by_hand, drop
        self.query, self.key, self.value, self.out = (nn.Linear(dim, dim) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.up, self.down = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def mixed(self, x):
        q, k, v = (part(x).unflatten(-1, (self.heads, -1)) for part in (self.query, self.key, self.value))
        if self.by_hand:
            scores = torch.einsum("blhe,bshe->bhls", q, k)
            weights = F.dropout(torch.softmax(scores / math.sqrt(q.shape[-1]), dim=-1), self.drop, self.training)
            y = torch.einsum("bhls,bshd->blhd", weights, v)
        else:
            q, k, v = (part.transpose(1, 2) for part in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.drop if self.training else 0.0).transpose(1, 2)
        return self.out(y.flatten(2))

    def forward(self, x):
        x = self.norm1(x + self.mixed(x))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class ITransformer(nn.Module):
    """Forecasts traffic: every sensor's past is one token."""

    def __init__(self, by_hand, past=96, future=96, dim=512, depth=4):
        super().__init__()
        self.embed, self.head = nn.Linear(past, dim), nn.Linear(dim, future)
        self.layers = nn.ModuleList(VariateLayer(dim, 8, by_hand) for _ in range(depth))

    def forward(self, x):
        level, spread = x.mean(1, keepdim=True), x.std(1, keepdim=True) + 1e-5
        x = self.embed(((x - level) / spread).transpose(1, 2))
        for layer in self.layers:
            x = layer(x)
        return self.head(x).transpose(1, 2) * spread + level


# --- graphs and objects ----------------------------------------------------------------------------------------------

class GatLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.norm, self.lift = heads, nn.LayerNorm(dim), nn.Linear(dim, dim)
        self.sends, self.hears = (nn.Parameter(torch.randn(heads, dim // heads) * 0.1) for _ in range(2))

    def forward(self, x, edges):
        begin, end = edges
        h = self.lift(self.norm(x)).unflatten(-1, (self.heads, -1))
        sent, heard = (h * self.sends).sum(-1).float(), (h * self.hears).sum(-1).float()
        scores = sent.index_select(0, begin) + heard.index_select(0, end)
        weight = torch.exp(F.leaky_relu(scores, 0.2).clamp(max=20))
        total = torch.zeros_like(sent).index_add(0, end, weight)
        told = h.float().index_select(0, begin) * (weight / (total.index_select(0, end) + 1e-9))[:, :, None]
        return x + F.elu(torch.zeros(h.shape, device=h.device).index_add(0, end, told).flatten(1))


class Gat(nn.Module):
    """Tells papers' fields from their words and what they cite."""

    def __init__(self, inputs=512, dim=256, depth=8, fields=40):
        super().__init__()
        self.inlet, self.head = nn.Linear(inputs, dim), nn.Linear(dim, fields)
        self.layers = nn.ModuleList(GatLayer(dim, 8) for _ in range(depth))

    def forward(self, x, edges):
        x = self.inlet(x).float()
        for layer in self.layers:
            x = layer(x, edges)
        return self.head(x)


class Relations(nn.Module):
    """Answers questions about a scene from all pairs of its objects; `side_by_side` puts every pair into a row."""

    def __init__(self, side_by_side, dim=256, answers=28):
        super().__init__()
        self.side_by_side = side_by_side
        self.see, self.norm = nn.Linear(64, dim), nn.LayerNorm(dim)
        self.one, self.other = nn.Linear(dim, dim), nn.Linear(dim, dim, bias=False)
        self.judge, self.head = nn.Linear(dim, dim), nn.Linear(dim, answers)

    def forward(self, x):
        x, count = self.norm(self.see(x)), x.shape[1]
        if self.side_by_side:
            pairs = torch.cat([x[:, :, None].repeat(1, 1, count, 1), x[:, None].repeat(1, count, 1, 1)], dim=-1)
            seen = F.linear(pairs, torch.cat([self.one.weight, self.other.weight], dim=1), self.one.bias)
        else:
            seen = self.one(x)[:, :, None] + self.other(x)[:, None]
        return self.head(F.relu(self.judge(F.relu(seen))).mean((1, 2)))


# --- control and functions -------------------------------------------------------------------------------------------

class MoveBlock(nn.Module):
    """Two convolutions over time, told of the scene in between."""

    def __init__(self, inputs, outputs, scene):
        super().__init__()
        self.first, self.second = nn.Conv1d(inputs, outputs, 5, padding=2), nn.Conv1d(outputs, outputs, 5, padding=2)
        self.norm1, self.norm2 = nn.GroupNorm(8, outputs), nn.GroupNorm(8, outputs)
        self.told, self.skip = nn.Linear(scene, 2 * outputs), nn.Conv1d(inputs, outputs, 1)

    def forward(self, x, scene):
        scale, shift = self.told(F.mish(scene))[:, :, None].chunk(2, dim=1)
        y = F.mish(self.norm1(self.first(x))) * (1 + scale) + shift
        return F.mish(self.norm2(self.second(y))) + self.skip(x)


class MovePlanner(nn.Module):
    """A U-Net over the next moves of a robot's arm that takes noise out of them."""

    def __init__(self, moves=8, scene=256, widths=(256, 512, 1024)):
        super().__init__()
        low, mid, high = widths
        self.stamp = nn.Sequential(nn.Linear(64, scene), nn.Mish(), nn.Linear(scene, scene))
        self.down = nn.ModuleList([MoveBlock(moves, low, scene), MoveBlock(low, mid, scene)])
        self.middle = nn.ModuleList(MoveBlock(mid if i == 0 else high, high, scene) for i in range(2))
        self.up = nn.ModuleList([MoveBlock(high + mid, mid, scene), MoveBlock(mid + low, low, scene)])
        self.outlet = nn.Conv1d(low, moves, 1)
        self.register_buffer("rates", torch.exp(-torch.arange(32) * (math.log(1e4) / 31)))

    def forward(self, x, scene, time):
        angles = time * self.rates
        scene = scene + self.stamp(torch.cat([angles.sin(), angles.cos()]).to(scene.dtype))
        kept = []
        for block in self.down:
            x = block(x, scene)
            kept.append(x)
            x = F.avg_pool1d(x, 2)
        for block in self.middle:
            x = block(x, scene)
        for block in self.up:
            x = block(torch.cat([F.interpolate(x, scale_factor=2), kept.pop()], dim=1), scene)
        return self.outlet(x)


def splines(x, knots, order=3):
    """How much each B-spline over these knots weighs at x (Cox and de Boor)."""
    x = x[..., None]
    found = ((x >= knots[:-1]) & (x < knots[1:])).to(x.dtype)
    for k in range(1, order + 1):
        rising = (x - knots[:-(k + 1)]) / (knots[k:-1] - knots[:-(k + 1)])
        falling = (knots[k + 1:] - x) / (knots[k + 1:] - knots[1:-k])
        found = rising * found[..., :-1] + falling * found[..., 1:]
    return found


class SplineNet(nn.Module):
    """One layer of learnt curves (Kolmogorov and Arnold), then dense ones."""

    def __init__(self, curves, inputs=784, dim=256, wide=2048, grid=5, order=3):
        super().__init__()
        self.curves, self.inlet = curves, nn.Linear(inputs, dim)
        self.register_buffer("knots", (torch.arange(grid + 2 * order + 1) - order) * (2.0 / grid) - 1)
        self.mix, self.base = nn.Linear(dim * (grid + order), dim, bias=False), nn.Linear(dim, dim)
        self.rest = nn.Sequential(nn.Linear(dim, wide), nn.ReLU(), nn.Linear(wide, wide), nn.ReLU(),
                                  nn.Linear(wide, 10))

    def forward(self, x):
        x = torch.tanh(self.inlet(x)).float()
        return self.rest(self.mix(self.curves(x, self.knots).flatten(1)) + self.base(F.silu(x)))
