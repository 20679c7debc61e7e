"""The networks, data sets and metrics of trace_cases_blind19.py that no library has."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset

from trace_cases import GPU
from trace_cases_blind4 import Layer, join_heads, split_heads


# --- data sets -------------------------------------------------------------------------------------------------------

class BirdCalls(Dataset):
    """Five seconds of a forest as 16-bit numbers, made a mel spectrogram; which of 200 birds calls there."""

    def __init__(self, count=32, length=160000):
        drawn = np.random.default_rng(190)
        self.waves = torch.from_numpy(drawn.integers(-9000, 9000, (count, length), dtype=np.int16))
        self.filters = torch.from_numpy(drawn.random((128, 513), dtype=np.float32))
        self.window = torch.hann_window(1024)

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        wave = self.waves[index % len(self.waves)].float() / 32768
        wave = wave + 0.01 * torch.randn(len(wave))
        power = torch.stft(wave, 1024, 320, window=self.window, return_complex=True)[:, :500].abs().square()
        mel = torch.log(self.filters @ power + 1e-6)
        mel = (mel - mel.mean()) / (mel.std() + 1e-5)
        begin = index * 37 % 440
        mel[:, begin:begin + 40] = 0.0
        return mel[None], index % 200


class Sweeps:
    """What a laser on the roof of a car sees: 40,000 points (place and brightness), of which 8192 are kept, turned,
    enlarged and jittered."""

    def __init__(self, count=16, points=40000, kept=8192):
        self.clouds = np.random.default_rng(191).standard_normal((count, points, 4), dtype=np.float32)
        self.kept = kept

    def in_numpy(self, batch):
        drawn, kinds = np.random.default_rng(192), torch.randint(0, 12, (batch,), device=GPU)

        def one():
            cloud = self.clouds[drawn.integers(len(self.clouds))]
            cloud = cloud[np.random.choice(len(cloud), self.kept, replace=False)]
            angle = drawn.uniform(0.0, 2 * math.pi)
            cos, sin = math.cos(angle), math.sin(angle)
            turn = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]], dtype=np.float32)
            cloud[:, :3] = cloud[:, :3] @ turn * np.float32(drawn.uniform(0.9, 1.1))
            cloud[:, :3] += 0.01 * drawn.standard_normal((self.kept, 3), dtype=np.float32)
            return cloud

        def batches():
            clouds = torch.from_numpy(np.stack([one() for _ in range(batch)]))
            return clouds.pin_memory().to(GPU, non_blocking=True), kinds
        return batches

    def on_gpu(self, batch):
        clouds, kinds = torch.from_numpy(self.clouds).to(GPU), torch.randint(0, 12, (batch,), device=GPU)

        def batches():
            which = torch.randint(0, len(clouds), (batch, 1), device=GPU)
            picked = clouds[which, torch.rand(batch, clouds.shape[1], device=GPU).topk(self.kept, dim=1).indices]
            angle = torch.rand(batch, device=GPU) * (2 * math.pi)
            cos, sin, none = angle.cos(), angle.sin(), torch.zeros_like(angle)
            turn = torch.stack([cos, -sin, none, sin, cos, none, none, none, none + 1], dim=1).view(batch, 3, 3)
            places = picked[..., :3] @ turn * (0.9 + 0.2 * torch.rand(batch, 1, 1, device=GPU))
            places = places + 0.01 * torch.randn_like(places)
            return torch.cat([places, picked[..., 3:]], dim=2), kinds
        return batches


class PointNet(nn.Module):
    """Qi et al.: each point by itself, then the largest of each feature."""

    def __init__(self, widths=(4, 64, 128, 256, 1024), kinds=12):
        super().__init__()
        parts = []
        for a, b in zip(widths, widths[1:]):
            parts += [nn.Conv1d(a, b, 1, bias=False), nn.BatchNorm1d(b), nn.ReLU(True)]
        self.points = nn.Sequential(*parts)
        self.head = nn.Sequential(nn.Linear(widths[-1], 512), nn.ReLU(True), nn.Linear(512, kinds))

    def forward(self, x):
        return self.head(self.points(x.transpose(1, 2)).max(dim=2).values)


# --- words -----------------------------------------------------------------------------------------------------------

class ChatLayer(Layer):
    def forward(self, x, said, recent):
        """x (n, 1, dim); said and recent: keys and values (2, n, heads, words, size of a head)"""
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        keys, values = torch.cat([said[0], recent[0], k], dim=2), torch.cat([said[1], recent[1], v], dim=2)
        x = x + self.proj(join_heads(F.scaled_dot_product_attention(q, keys, values)))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Chat(nn.Module):
    """Says the next word of some conversations."""

    def __init__(self, dim=1024, heads=16, layers=12, vocab=16000):
        super().__init__()
        self.words, self.norm, self.head = nn.Embedding(vocab, dim), nn.LayerNorm(dim), nn.Linear(dim, vocab)
        self.layers = nn.ModuleList(ChatLayer(dim, heads) for _ in range(layers))

    def forward(self, ids, said, recent):
        x = self.words(ids)
        for layer, before, after in zip(self.layers, said, recent):
            x = layer(x, before.to(GPU), after)
        return self.head(self.norm(x))


class Head(nn.Module):
    """One head of attention, as a well-known lecture has it."""

    def __init__(self, dim, size):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(dim, size, bias=False) for _ in range(3))

    def forward(self, x):
        q, k, v = (part(x)[:, None] for part in (self.query, self.key, self.value))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)[:, 0]


class LectureLayer(Layer):
    def __init__(self, dim, heads):
        super().__init__(dim, heads, causal=True)
        del self.qkv
        self.parts = nn.ModuleList(Head(dim, dim // heads) for _ in range(heads))

    def mix(self, x):
        return self.proj(torch.cat([part(x) for part in self.parts], dim=-1))


def padded_by_hand(q, k, v, there):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~there, -1e9)
    return torch.matmul(torch.softmax(scores, dim=-1), v)


def padded_fused(q, k, v, there):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=there)


class ContractLayer(Layer):
    def __init__(self, dim, heads, attended):
        super().__init__(dim, heads)
        self.attended = attended

    def forward(self, x, there):
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        x = x + self.proj(join_heads(self.attended(q, k, v, there)))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Contracts(nn.Module):
    """What kind of contract is it? Shorter ones are filled up with word 0."""

    def __init__(self, attended, dim=768, heads=12, layers=5, kinds=40):
        super().__init__()
        self.words, self.norm, self.head = nn.Embedding(16000, dim), nn.LayerNorm(dim), nn.Linear(dim, kinds)
        self.layers = nn.ModuleList(ContractLayer(dim, heads, attended) for _ in range(layers))

    def forward(self, ids):
        there = ids > 0
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x, there[:, None, None])
        kept = there[..., None].to(x.dtype)
        return self.head(self.norm((x * kept).sum(1) / kept.sum(1)))


def names_found_in_turn(scores, gold):
    """How many of the words that are part of a name were told right, sentence by sentence; -100 is filling."""
    right = told = there = 0
    for chosen, tags in zip(scores.argmax(-1), gold):
        meant = tags != -100
        chosen, tags = chosen[meant], tags[meant]
        right += ((chosen == tags) & (tags > 0)).sum().item()
        told += (chosen > 0).sum().item()
        there += (tags > 0).sum().item()
    return 2 * right / max(told + there, 1)


def names_found_at_once(scores, gold):
    chosen, meant = scores.argmax(-1), gold != -100
    counts = torch.stack([((chosen == gold) & (gold > 0)).sum(), ((chosen > 0) & meant).sum(), (gold > 0).sum()])
    right, told, there = counts.tolist()
    return 2 * right / max(told + there, 1)
