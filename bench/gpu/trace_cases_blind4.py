"""A sixth set of cases for record_traces.py --cases trace_cases_blind4: programs that no earlier
set has, written by somebody who did not know the analysis."""
import os
import random
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

from trace_cases import (GPU, UNCACHED, Prefetched, adamw, amp, captured, case_list, channels_last, classify, inference,
                         resident, tf32, training)
from trace_cases_blind import BlindCase

TINY = bool(os.environ.get("TINY"))
FOUND, case = case_list(BlindCase)


def n(real, tiny):
    return tiny if TINY else real


def mean_square(model, *inputs):
    return model(*inputs).float().square().mean()


def split_heads(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(-3, -2)


def join_heads(x):
    return x.transpose(-3, -2).flatten(-2)


# --- networks --------------------------------------------------------------------------------------------------------

class Layer(nn.Module):
    """Pre-norm attention and feed-forward, in one or (as GPT-NeoX has it) side by side."""

    def __init__(self, dim, heads, causal=False, parallel=False, hidden=None):
        super().__init__()
        hidden = hidden or 4 * dim
        self.heads, self.causal, self.parallel = heads, causal, parallel
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.fc1, self.fc2 = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def mix(self, x):
        q, k, v = (split_heads(p, self.heads) for p in self.qkv(x).chunk(3, dim=-1))
        return self.proj(join_heads(F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)))

    def forward(self, x):
        if self.parallel:
            return x + self.mix(self.norm1(x)) + self.fc2(F.gelu(self.fc1(self.norm2(x))))
        x = x + self.mix(self.norm1(x))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Lm(nn.Module):
    def __init__(self, vocab, dim, layers, heads, length, parallel=False, make=None):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, dim), nn.Embedding(length, dim)
        make = make or (lambda: Layer(dim, heads, causal=True, parallel=parallel))
        self.layers = nn.ModuleList(make() for _ in range(layers))
        self.final, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab, bias=False)

    def hidden(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device))
        for layer in self.layers:
            x = layer(x)
        return self.final(x)

    def forward(self, ids):
        return self.head(self.hidden(ids))


def shifted_loss(model, ids):
    logits = model(ids)
    return F.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]).float(), ids[:, 1:].reshape(-1))


class SpeechEncoder(nn.Module):
    """Whisper's: two convolutions over 3000 frames of 80 bands, then transformer layers over 1500."""

    def __init__(self, dim=512, layers=6, frames=1500, classes=0):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(80, dim, 3, padding=1), nn.Conv1d(dim, dim, 3, stride=2, padding=1)
        self.positions = nn.Parameter(torch.randn(frames, dim) * 0.01)
        self.layers = nn.ModuleList(Layer(dim, dim // 64) for _ in range(layers))
        self.final = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes) if classes else None

    def forward(self, mel):
        x = F.gelu(self.conv2(F.gelu(self.conv1(mel)))).transpose(1, 2) + self.positions
        for layer in self.layers:
            x = layer(x)
        x = self.final(x)
        return self.head(x.mean(1)) if self.head else x


def log_mel(wave, window, filters):
    power = torch.stft(wave, 400, 160, window=window, return_complex=True)[..., :-1].abs() ** 2
    mel = torch.log10(torch.clamp(filters @ power, min=1e-10))
    return (torch.maximum(mel, mel.amax() - 8.0) + 4.0) / 4.0


class UNet3d(nn.Module):
    """For volumes: three levels, instance norms."""

    def __init__(self, base=16, classes=4):
        super().__init__()
        def stage(a, b):
            return nn.Sequential(nn.Conv3d(a, b, 3, padding=1), nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU(0.01),
                                 nn.Conv3d(b, b, 3, padding=1), nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU(0.01))
        self.enter, self.mid, self.deep = stage(1, base), stage(base, 2 * base), stage(2 * base, 4 * base)
        self.up1, self.up2 = (nn.ConvTranspose3d(4 * base, 2 * base, 2, stride=2),
                              nn.ConvTranspose3d(2 * base, base, 2, stride=2))
        self.dec1, self.dec2 = stage(4 * base, 2 * base), stage(2 * base, base)
        self.out = nn.Conv3d(base, classes, 1)

    def forward(self, x):
        a = self.enter(x)
        b = self.mid(F.max_pool3d(a, 2))
        c = self.deep(F.max_pool3d(b, 2))
        b = self.dec1(torch.cat([self.up1(c), b], 1))
        return self.out(self.dec2(torch.cat([self.up2(b), a], 1)))


class PatchTst(nn.Module):
    """Forecasts every channel from patches of its past."""

    def __init__(self, patch=16, count=32, dim=256, layers=4, ahead=96):
        super().__init__()
        self.patch, self.inlet = patch, nn.Linear(patch, dim)
        self.positions = nn.Parameter(torch.zeros(count, dim))
        self.layers = nn.ModuleList(Layer(dim, 8, hidden=2 * dim) for _ in range(layers))
        self.head = nn.Linear(count * dim, ahead)

    def forward(self, x):
        x = x.transpose(1, 2).flatten(0, 1).unfold(-1, self.patch, self.patch)
        x = self.inlet(x) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.head(x.flatten(1))


def forecast_loss(model, past, future):
    return F.l1_loss(model(past).float(), future.transpose(1, 2).flatten(0, 1))


class SacAgent(nn.Module):
    def __init__(self, obs, act, width):
        super().__init__()
        def mlp(a, b):
            return nn.Sequential(nn.Linear(a, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                                 nn.Linear(width, b))
        self.actor = mlp(obs, 2 * act)
        self.critics, self.targets = (nn.ModuleList(mlp(obs + act, 1) for _ in range(2)) for _ in range(2))
        self.targets.requires_grad_(False)

    def act(self, obs):
        mean, log_std = self.actor(obs).chunk(2, -1)
        raw = torch.randn_like(mean) * log_std.clamp(-5, 2).exp() + mean
        log_p = -log_std - 0.5 * ((raw - mean) / log_std.exp()) ** 2 - torch.log(1 - torch.tanh(raw) ** 2 + 1e-6)
        return torch.tanh(raw), log_p.sum(-1, keepdim=True)


class VaeDecoder(nn.Module):
    """Latents to images, as a diffusion model's decoder does it."""

    def __init__(self, widths=(512, 512, 256, 128)):
        super().__init__()
        layers, previous = [nn.Conv2d(4, widths[0], 3, padding=1)], widths[0]
        for index, width in enumerate(widths):
            for _ in range(2):
                layers += [nn.GroupNorm(32, previous), nn.SiLU(), nn.Conv2d(previous, width, 3, padding=1)]
                previous = width
            if index < len(widths) - 1:
                layers += [nn.Upsample(scale_factor=2), nn.Conv2d(width, width, 3, padding=1)]
        self.layers = nn.Sequential(*layers, nn.Conv2d(previous, 3, 3, padding=1))

    def forward(self, z):
        return self.layers(z)


class Sage(nn.Module):
    """GraphSAGE: the mean over sampled neighbours beside the node itself."""

    def __init__(self, inputs=128, dim=256, classes=64):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(2 * inputs, dim), nn.Linear(2 * dim, dim), nn.Linear(dim, classes)

    def forward(self, x, neighbours):
        for layer in (self.first, self.second):
            nodes = neighbours.shape[0]
            x = F.relu(layer(torch.cat([x[:nodes], x[neighbours % x.shape[0]].mean(1)], -1)))
        return self.head(x)


class Vocoder(nn.Module):
    """HiFi-GAN's generator: transposed convolutions, each followed by dilated residual ones."""

    def __init__(self, width=256):
        super().__init__()
        self.inlet, self.stages = nn.Conv1d(80, width, 7, padding=3), nn.ModuleList()
        for stride in (8, 8, 4):
            self.stages.append(nn.ModuleList([nn.ConvTranspose1d(width, width // 2, 2 * stride, stride, stride // 2)] + [
                nn.Conv1d(width // 2, width // 2, k, dilation=d, padding=d * (k - 1) // 2)
                for k in (3, 7) for d in (1, 3, 5)]))
            width //= 2
        self.outlet = nn.Conv1d(width, 1, 7, padding=3)

    def forward(self, mel):
        x = self.inlet(mel)
        for up, *convolutions in self.stages:
            x = up(F.leaky_relu(x, 0.1))
            for convolution in convolutions:
                x = x + convolution(F.leaky_relu(x, 0.1))
        return torch.tanh(self.outlet(F.leaky_relu(x, 0.1)))


class Equilibrium(nn.Module):
    """A deep equilibrium network's cell."""

    def __init__(self, width=64):
        super().__init__()
        self.inlet = nn.Conv2d(3, width, 3, padding=1)
        self.conv1, self.conv2 = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.norms = nn.ModuleList(nn.GroupNorm(8, width) for _ in range(3))

    def forward(self, z, x):
        y = self.norms[0](F.relu(self.conv1(z)))
        return self.norms[2](F.relu(z + self.norms[1](x + self.conv2(y))))


class Crnn(nn.Module):
    """Reads a line of text: convolutions, two-way LSTM, one class a column."""

    def __init__(self, classes=96):
        super().__init__()
        sizes, layers = [1, 64, 128, 256, 256], []
        for index, (a, b) in enumerate(zip(sizes, sizes[1:])):
            layers += [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(True),
                       nn.MaxPool2d(2, (2, 2) if index < 2 else (2, 1), (0, 0) if index < 2 else (0, 1))]
        self.features = nn.Sequential(*layers)
        self.core, self.head = nn.LSTM(512, 256, 2, bidirectional=True, batch_first=True), nn.Linear(512, classes)

    def forward(self, x):
        x = self.features(x)
        return self.head(self.core(x.flatten(1, 2).transpose(1, 2))[0])


class Mamba(nn.Module):
    """A selective state space block; the scan step by step in Python, or by doubling."""

    def __init__(self, dim, states=16, doubling=False):
        super().__init__()
        inner = 2 * dim
        self.doubling, self.states = doubling, states
        self.norm, self.inlet, self.outlet = nn.LayerNorm(dim), nn.Linear(dim, 2 * inner), nn.Linear(inner, dim)
        self.conv = nn.Conv1d(inner, inner, 4, groups=inner, padding=3)
        self.select = nn.Linear(inner, 2 * states + 1)
        self.bias = nn.Parameter(torch.zeros(inner))
        self.decay = nn.Parameter(torch.log(torch.arange(1, states + 1).float()).repeat(inner, 1))
        self.skip = nn.Parameter(torch.ones(inner))

    def scan(self, a, b):
        if not self.doubling:
            state, out = torch.zeros_like(b[:, 0]), []
            for t in range(a.shape[1]):
                state = a[:, t] * state + b[:, t]
                out.append(state)
            return torch.stack(out, 1)
        reach = 1
        while reach < a.shape[1]:
            before_a = F.pad(a[:, :-reach], (0, 0, 0, 0, reach, 0), value=1.0)
            before_b = F.pad(b[:, :-reach], (0, 0, 0, 0, reach, 0))
            a, b, reach = a * before_a, b + a * before_b, 2 * reach
        return b

    def forward(self, x):
        u, gate = self.inlet(self.norm(x)).chunk(2, -1)
        u = F.silu(self.conv(u.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2))
        step, b, c = self.select(u).float().split([1, self.states, self.states], -1)
        step = F.softplus(step + self.bias)
        a = torch.exp(-step[..., None] * self.decay.exp())
        h = self.scan(a, (step * u)[..., None] * b[:, :, None])
        y = (h * c[:, :, None]).sum(-1) + self.skip * u
        return x + self.outlet(y.to(gate.dtype) * F.silu(gate))


class Head(nn.Module):
    def __init__(self, dim, size):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(dim, size, bias=False) for _ in range(3))

    def forward(self, x):
        return F.scaled_dot_product_attention(self.query(x), self.key(x), self.value(x), is_causal=True)


class HeadsBlock(nn.Module):
    """A beginner's transformer block: one module a head."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = nn.ModuleList(Head(dim, dim // heads) for _ in range(heads))
        self.norm1, self.norm2, self.proj = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.proj(torch.cat([head(h) for head in self.heads], dim=-1))
        return x + self.mlp(self.norm2(x))


class TriangleBlock(nn.Module):
    """Of an Evoformer: attention along rows of a pair representation, biased by the pairs, gated; then a transition."""

    def __init__(self, dim, heads, written):
        super().__init__()
        self.heads, self.written = heads, written
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.bias = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, heads, bias=False)
        self.gate, self.proj = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.fc1, self.fc2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, z):
        h = self.norm1(z)
        q, k, v = (split_heads(p, self.heads) for p in self.qkv(h).chunk(3, dim=-1))
        bias = self.bias(h).permute(2, 0, 1).contiguous()
        if self.written:
            scores = torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(-1, -2))
            scores = scores + bias
            mixed = torch.matmul(torch.softmax(scores.float(), dim=-1).to(v.dtype), v)
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.expand(q.shape[0], -1, -1, -1))
        z = z + self.proj(torch.sigmoid(self.gate(h)) * join_heads(mixed))
        return z + self.fc2(F.relu(self.fc1(self.norm2(z))))


class DetrLayer(nn.Module):
    def __init__(self, dim, heads, weights):
        super().__init__()
        self.weights, self.core = weights, nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.ReLU(), nn.Linear(4 * dim, dim))

    def forward(self, x, positions):
        q = x + positions
        x = self.norm1(x + (self.core(q, q, x)[0] if self.weights else self.core(q, q, x, need_weights=False)[0]))
        return self.norm2(x + self.mlp(x))


class Detr(nn.Module):
    """Encoder over feature maps, a box and a class a position."""

    def __init__(self, dim, layers, heads, count, weights):
        super().__init__()
        self.inlet, self.positions = nn.Linear(256, dim), nn.Parameter(torch.randn(count, dim) * 0.02)
        self.layers = nn.ModuleList(DetrLayer(dim, heads, weights) for _ in range(layers))
        self.head = nn.Linear(dim, 95)

    def forward(self, x):
        x = self.inlet(x)
        for layer in self.layers:
            x = layer(x, self.positions)
        return self.head(x)


class NanoLayer(Layer):
    """nanoGPT's: drops attention weights."""

    def __init__(self, dim, heads, flash, length):
        super().__init__(dim, heads, causal=True)
        self.flash = flash
        self.register_buffer("mask", torch.tril(torch.ones(length, length))[None, None])

    def mix(self, x):
        q, k, v = (split_heads(p, self.heads) for p in self.qkv(x).chunk(3, dim=-1))
        if self.flash:
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True)
        else:
            length = x.shape[1]
            weights = (q @ k.transpose(-2, -1)) * (1.0 / k.size(-1) ** 0.5)
            weights = weights.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
            y = F.dropout(F.softmax(weights, dim=-1), 0.1) @ v
        return self.proj(join_heads(y))


class VqVae(nn.Module):
    """An image autoencoder with a codebook; `broadcast` compares codes by subtracting all from all."""

    def __init__(self, codes, width, broadcast):
        super().__init__()
        self.broadcast = broadcast
        self.encoder = nn.Sequential(nn.Conv2d(3, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 4, 2, 1),
                                     nn.ReLU(), nn.Conv2d(width, 64, 3, padding=1))
        self.decoder = nn.Sequential(nn.Conv2d(64, width, 3, padding=1), nn.ReLU(),
                                     nn.ConvTranspose2d(width, width, 4, 2, 1), nn.ReLU(),
                                     nn.ConvTranspose2d(width, 3, 4, 2, 1))
        self.codebook = nn.Embedding(codes, 64)

    def nearest(self, flat):
        codes = self.codebook.weight.detach()
        if self.broadcast:
            return ((flat[:, None, :] - codes[None, :, :]) ** 2).sum(-1).argmin(1)
        return (codes.square().sum(-1) - 2 * flat @ codes.T).argmin(1)

    def forward(self, x):
        z = self.encoder(x).float().permute(0, 2, 3, 1)
        flat = z.reshape(-1, 64)
        chosen = self.codebook(self.nearest(flat.detach())).view_as(z)
        commit = F.mse_loss(z, chosen.detach()) * 0.25 + F.mse_loss(chosen, z.detach())
        quantized = z + (chosen - z).detach()
        return self.decoder(quantized.permute(0, 3, 1, 2).contiguous()), commit


def vq_loss(model, x):
    picture, commit = model(x)
    return F.mse_loss(picture.float(), x) + commit


class Sasrec(nn.Module):
    """Next item of a session."""

    def __init__(self, items, dim, layers, heads, length):
        super().__init__()
        self.items, self.positions = nn.Embedding(items, dim), nn.Parameter(torch.zeros(length, dim))
        self.layers = nn.ModuleList(Layer(dim, heads, causal=True) for _ in range(layers))
        self.final = nn.LayerNorm(dim)
        self.score = nn.Linear(dim, items, bias=False)

    def hidden(self, ids):
        x = self.items(ids) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.final(x)

    def forward(self, ids):
        return self.score(self.hidden(ids))


class StyleBlock(nn.Module):
    def __init__(self, width, normal):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.style, self.normal = nn.Linear(128, 4 * width), normal

    def forward(self, x, code):
        for conv, style in zip(self.convs, self.style(code)[:, :, None, None].chunk(2, dim=1)):
            scale, shift = style.chunk(2, dim=1)
            x = self.normal(conv(x), scale, shift)
        return x


def adaptive_norm(x, scale, shift):
    mean = x.mean((2, 3), keepdim=True)
    centred = x - mean
    deviation = torch.sqrt((centred * centred).mean((2, 3), keepdim=True) + 1e-5)
    x = centred / deviation
    x = x * (1 + scale) + shift
    return torch.where(x > 0, x, x * 0.2) * 1.4142


class DeepFm(nn.Module):
    """A click model with one large hashed table."""

    def __init__(self, rows, dim, sparse):
        super().__init__()
        self.table = nn.Embedding(rows, dim, sparse=sparse, device=GPU)
        self.deep = nn.Sequential(nn.Linear(26 * dim, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(),
                                  nn.Linear(512, 1)).to(GPU)

    def forward(self, ids):
        e = self.table(ids)
        pairs = 0.5 * (e.sum(1).square() - e.square().sum(1)).sum(-1)
        return self.deep(e.flatten(1)).squeeze(-1).float() + pairs


class Dgcnn(nn.Module):
    """Convolutions over the nearest neighbours in feature space."""

    def __init__(self, k=20, classes=40):
        super().__init__()
        self.k = k
        self.convs = nn.ModuleList(nn.Sequential(nn.Linear(2 * a, b, bias=False), nn.LayerNorm(b), nn.LeakyReLU(0.2))
                                   for a, b in ((3, 64), (64, 64), (64, 128)))
        self.head = nn.Sequential(nn.Linear(256, 512), nn.LeakyReLU(0.2), nn.Linear(512, classes))

    def forward(self, x):
        outputs = []
        for conv in self.convs:
            with torch.no_grad():
                near = torch.cdist(x.float(), x.float()).topk(self.k, largest=False).indices
            rows = torch.arange(x.shape[0], device=x.device)[:, None, None]
            around = x[rows, near]
            x = conv(torch.cat([around - x[:, :, None], x[:, :, None].expand_as(around)], -1)).amax(2)
            outputs.append(x)
        return self.head(torch.cat(outputs, -1).amax(1))


class Hyena(nn.Module):
    """Long convolutions through FFTs, gated."""

    def __init__(self, dim, depth, length):
        super().__init__()
        self.inlets = nn.ModuleList(nn.Linear(dim, 3 * dim) for _ in range(depth))
        self.outlets = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.filters = nn.ParameterList(nn.Parameter(torch.randn(dim, length) * 0.01) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(depth))

    def forward(self, x):
        length = x.shape[1]
        for inlet, outlet, taps, norm in zip(self.inlets, self.outlets, self.filters, self.norms):
            q, k, v = inlet(norm(x)).float().transpose(1, 2).chunk(3, dim=1)
            spectrum = torch.fft.rfft(k * v, n=2 * length) * torch.fft.rfft(taps, n=2 * length)
            y = q * torch.fft.irfft(spectrum, n=2 * length)[..., :length]
            x = x + outlet(y.transpose(1, 2).to(x.dtype))
        return x


class Rwkv(nn.Module):
    """One token at a time through a recurrent language model; the state is kept in buffers."""

    def __init__(self, batch, dim, layers, vocab):
        super().__init__()
        self.wte, self.head = nn.Embedding(vocab, dim), nn.Linear(dim, vocab, bias=False)
        self.mixes = nn.ModuleList(nn.Linear(dim, 3 * dim, bias=False) for _ in range(layers))
        self.outs = nn.ModuleList(nn.Linear(dim, dim, bias=False) for _ in range(layers))
        self.fc1 = nn.ModuleList(nn.Linear(dim, 4 * dim, bias=False) for _ in range(layers))
        self.fc2 = nn.ModuleList(nn.Linear(4 * dim, dim, bias=False) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(2 * layers))
        self.decay = nn.Parameter(torch.rand(layers, dim))
        self.register_buffer("top", torch.zeros(layers, batch, dim))
        self.register_buffer("bottom", torch.ones(layers, batch, dim))

    def forward(self, token):
        x = self.wte(token)
        for i, mix in enumerate(self.mixes):
            r, k, v = mix(self.norms[2 * i](x)).chunk(3, -1)
            weight = torch.exp(k.clamp(max=8))
            x = x + self.outs[i](torch.sigmoid(r) * (self.top[i] + weight * v) / (self.bottom[i] + weight))
            fade = torch.sigmoid(self.decay[i])
            self.top[i].mul_(fade).add_(weight * v)
            self.bottom[i].mul_(fade).add_(weight)
            x = x + self.fc2[i](torch.relu(self.fc1[i](self.norms[2 * i + 1](x))).square())
        return self.head(x).argmax(-1)


# --- data_loading ----------------------------------------------------------------------------------------------------

def elastic(volume, mask):
    """A random smooth deformation of a batch of volumes and of their masks."""
    batch, size = volume.shape[0], volume.shape[-1]
    device = volume.device
    field = F.interpolate(torch.randn(batch, 3, 6, 6, 6, device=device) * 0.05, size=(size,) * 3, mode="trilinear",
                          align_corners=True)
    identity = torch.eye(3, 4, device=device).expand(batch, 3, 4)
    grid = F.affine_grid(identity, (batch, 1, size, size, size), align_corners=True) + field.permute(0, 2, 3, 4, 1)
    return (F.grid_sample(volume, grid, align_corners=True, padding_mode="border"),
            F.grid_sample(mask, grid, mode="nearest", align_corners=True))


class Volumes(Dataset):
    def __init__(self, size, warp):
        self.scans, self.masks = torch.randn(6, 1, size, size, size), torch.randint(0, 4, (6, 1, size, size, size))
        self.warp = warp

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        scan, mask = self.scans[index % 6], self.masks[index % 6].float()
        if self.warp:
            scan, mask = (t[0] for t in elastic(scan[None], mask[None]))
        return scan, mask


@case("unet3d_elastic_on_cpu", "unet3d", "data_loading", "elastic deformation of the batch on the GPU", 2, loader=True)
def _(kind):
    size = n(96, 16)
    loader = DataLoader(Volumes(size, kind == "broken"), batch_size=2, num_workers=2, pin_memory=not TINY,
                        persistent_workers=True)
    it = iter(loader)
    model = UNet3d().to(GPU)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=not TINY)

    def step():
        scan, mask = (t.to(GPU, non_blocking=True) for t in next(it))
        if kind == "fixed":
            scan, mask = elastic(scan, mask)
        optimizer.zero_grad()
        with amp():
            logits = model(scan)
        loss = F.cross_entropy(logits.float(), mask[:, 0].long())
        loss.backward()
        optimizer.step()
    return step, lambda: it._shutdown_workers()


@case("speech_encoder_log_mel_on_cpu", "whisper", "data_loading", "log-mel spectrogram on the GPU", 16)
def _(kind):
    model = SpeechEncoder(frames=n(1500, 50), layers=n(6, 1), dim=n(512, 64), classes=1000).to(GPU)
    wave, labels = torch.randn(n(16, 2), 160 * 2 * n(1500, 50)), torch.randint(0, 1000, (n(16, 2),), device=GPU)
    window, filters = torch.hann_window(400), torch.rand(80, 201) * 0.1
    on_gpu = window.to(GPU), filters.to(GPU)
    source = Prefetched(wave) if kind == "fixed" else None

    def batches():
        if source:
            return log_mel(source()[0], *on_gpu), labels
        return log_mel(wave, window, filters).to(GPU), labels
    return training(model, classify, batches)


class Windows(Dataset):
    def __init__(self, count):
        self.series, self.count = torch.randn(4096, 21), count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        at = (index * 7) % 3000
        return self.series[at:at + 512].clone(), self.series[at + 512:at + 608].clone()


@case("forecast_short_epochs", "patchtst", "data_loading", "persistent_workers=True", 96, loader=True)
def _(kind):
    """An epoch is six batches, and its end ends the workers."""
    batch = n(96, 2)
    loader = DataLoader(Windows(6 * batch), batch_size=batch, num_workers=n(6, 1), pin_memory=not TINY, shuffle=True,
                        persistent_workers=kind == "fixed")

    def forever():
        while True:
            for past, future in loader:
                yield past.to(GPU, non_blocking=True), future.to(GPU, non_blocking=True)
    batches = forever()

    def close():
        batches.close()
        if loader._iterator is not None:
            loader._iterator._shutdown_workers()
    model = PatchTst(dim=n(256, 32)).to(GPU)
    return training(model, forecast_loss, lambda: next(batches)), close


@case("sac_replay_in_a_deque", "sac", "data_loading", "replay buffer in preallocated tensors on the GPU", 2048)
def _(kind):
    batch, obs, act = n(2048, 16), 64, 8
    agent = SacAgent(obs, act, n(768, 32)).to(GPU)
    q_opt = torch.optim.Adam(agent.critics.parameters(), lr=3e-4, fused=not TINY)
    pi_opt = torch.optim.Adam(agent.actor.parameters(), lr=3e-4, fused=not TINY)
    count = n(20000, 100)
    parts = (torch.randn(count, obs), torch.rand(count, act) * 2 - 1, torch.randn(count, obs))
    buffer = deque(maxlen=count)
    for index in range(count):
        buffer.append((parts[0][index].clone(), parts[1][index].clone(), index * 0.001, parts[2][index].clone(), 0.0))
    on_gpu = [p.to(GPU) for p in parts] + [torch.randn(count, 1, device=GPU), torch.zeros(count, 1, device=GPU)]

    def sample():
        if kind == "fixed":
            index = torch.randint(0, count, (batch,), device=GPU)
            o, a, o2, r, d = (t[index] for t in on_gpu)
            return o, a, r, o2, d
        drawn = random.sample(buffer, batch)
        o, a, r, o2, d = zip(*drawn)
        return (torch.stack(o).to(GPU), torch.stack(a).to(GPU), torch.tensor(r).unsqueeze(1).to(GPU),
                torch.stack(o2).to(GPU), torch.tensor(d).unsqueeze(1).to(GPU))

    def step():
        o, a, r, o2, d = sample()
        with torch.no_grad():
            a2, log_p = agent.act(o2)
            both = torch.min(*(q(torch.cat([o2, a2], -1)) for q in agent.targets))
            goal = r + 0.99 * (1 - d) * (both - 0.2 * log_p)
        loss = sum(F.mse_loss(q(torch.cat([o, a], -1)), goal) for q in agent.critics)
        q_opt.zero_grad()
        loss.backward()
        q_opt.step()
        mine, log_p = agent.act(o)
        loss = (0.2 * log_p - torch.min(*(q(torch.cat([o, mine], -1)) for q in agent.critics))).mean()
        pi_opt.zero_grad()
        loss.backward()
        pi_opt.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(agent.targets.parameters()), list(agent.critics.parameters()), 0.005)
    return step


# --- host_transfer ---------------------------------------------------------------------------------------------------

@case("vae_decoder_offloaded", "vae_decoder", "host_transfer", "the decoder stays on the GPU", 2)
def _(kind):
    """A pipeline that saves memory: every part goes to the GPU when it is needed, and back."""
    vae = VaeDecoder(n((512, 512, 256, 128), (32, 32))).bfloat16().eval()
    latents = torch.randn(n(2, 1), 4, n(64, 8), n(64, 8), device=GPU, dtype=torch.bfloat16)
    if kind == "fixed":
        vae.to(GPU)

    def run():
        if kind == "broken":
            vae.to(GPU)
        pictures = (vae(latents).clamp(-1, 1) * 127.5 + 127.5).to(torch.uint8)
        if kind == "broken":
            vae.to("cpu")
        return pictures
    return inference(run)


@case("video_denoiser_frames_to_host", "denoiser", "host_transfer", "into pinned buffers on a second stream", 8)
def _(kind):
    width, batch, rows, columns = n(64, 8), n(8, 2), n(720, 16), n(1280, 16)
    layers = [nn.Conv2d(3, width, 3, padding=1), nn.ReLU(True)]
    for _ in range(6):
        layers += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU(True)]
    model = nn.Sequential(*layers, nn.Conv2d(width, 3, 3, padding=1)).to(GPU).bfloat16().eval()
    model = model.to(memory_format=torch.channels_last)
    clip = channels_last(torch.rand(batch, 3, rows, columns, device=GPU, dtype=torch.bfloat16))
    shape, turn = (batch, rows, columns, 3), [0]
    ring = [torch.empty(shape, dtype=torch.uint8, pin_memory=not TINY) for _ in range(2)]
    side = torch.cuda.Stream()

    def run():
        frames = ((clip - model(clip)).clamp(0, 1) * 255).to(torch.uint8).permute(0, 2, 3, 1)
        if kind == "broken":
            return frames.cpu().numpy()
        turn[0] ^= 1
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            ring[turn[0]].copy_(frames, non_blocking=True)
        frames.record_stream(side)
        return ring[turn[0] ^ 1]
    return inference(run)


def inception():
    import torchvision
    model = torchvision.models.inception_v3(weights=None, aux_logits=False, init_weights=False, transform_input=False)
    return model.to(GPU).to(memory_format=torch.channels_last).bfloat16().eval()


@case("inception_floats_over_the_bus", "inception_v3", "host_transfer", "bytes sent, normalised on the GPU", 160)
def _(kind):
    model, batch = inception(), n(160, 2)
    pictures = torch.randint(0, 256, (batch, 3, n(299, 96), n(299, 96)), dtype=torch.uint8)
    host = channels_last(pictures if kind == "fixed" else (pictures.float() / 255 - 0.45) / 0.22)
    host = host if TINY else host.pin_memory()

    def run():
        x = host.to(GPU, non_blocking=True)
        if kind == "fixed":
            x = (x.to(torch.bfloat16) / 255 - 0.45) / 0.22
        return model(x.to(torch.bfloat16)).argmax(-1)
    return inference(run)


@case("sage_features_on_host", "graphsage", "host_transfer", "the feature table on the GPU", 16384,
      accept=["host_transfer", "data_loading"])  # the rows are gathered on the host, too
def _(kind):
    nodes, seeds, reach = n(400000, 500), n(16384, 16), 8
    features = torch.rand(nodes, 128)
    table = features.to(GPU) if kind == "fixed" else None
    needed = [torch.randint(0, nodes, (seeds * reach,)) for _ in range(4)]
    neighbours, y = torch.randint(0, 1 << 30, (seeds, 10), device=GPU), torch.randint(0, 64, (seeds,), device=GPU)
    model, turn = Sage().to(GPU), [0]

    def batches():
        turn[0] += 1
        index = needed[turn[0] % 4]
        x = table[index.to(GPU)] if kind == "fixed" else features[index].to(GPU)
        return x, neighbours, y
    return training(model, lambda m, x, near, y: F.cross_entropy(m(x, near).float(), y), batches)


# --- cpu_gpu_sync ----------------------------------------------------------------------------------------------------

@case("vocoder_launch_blocking", "hifigan", "cpu_gpu_sync", "CUDA_LAUNCH_BLOCKING=1 no longer set", 8,
      environment={"CUDA_LAUNCH_BLOCKING": "1"}, accept=["cpu_gpu_sync", "launch_overhead"])
def _(kind):
    model = Vocoder(n(256, 32)).to(GPU)
    mel, wave = torch.randn(n(8, 1), 80, n(96, 4)), torch.rand(n(8, 1), 1, n(96, 4) * 256) * 2 - 1
    return training(model, lambda m, x, y: F.l1_loss(m(x).float(), y), resident(mel, wave))


@case("mnasnet_anomaly_mode", "mnasnet", "cpu_gpu_sync", "torch.autograd.set_detect_anomaly(False)", 96,
      accept=["cpu_gpu_sync", "launch_overhead"])
def _(kind):
    import torchvision
    model = torchvision.models.mnasnet1_0(weights=None, dropout=0.0).to(GPU).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, fused=not TINY)
    x = channels_last(torch.randn(n(96, 2), 3, n(224, 64), n(224, 64), device=GPU))
    y = torch.randint(0, 1000, (n(96, 2),), device=GPU)

    def step():
        with torch.autograd.set_detect_anomaly(kind == "broken"):
            optimizer.zero_grad(set_to_none=True)
            with amp():
                loss = F.cross_entropy(model(x).float(), y, label_smoothing=0.1)
            loss.backward()
            optimizer.step()
    return step


@case("equilibrium_checks_residual", "deq", "cpu_gpu_sync", "a fixed number of iterations", 64)
def _(kind):
    cell = Equilibrium(n(64, 16)).to(GPU).to(memory_format=torch.channels_last).bfloat16().eval()
    picture = channels_last(torch.randn(n(64, 2), 3, n(64, 8), n(64, 8), device=GPU, dtype=torch.bfloat16))

    def run():
        x = cell.inlet(picture)
        z = torch.zeros_like(x)
        for _ in range(30):
            after = cell(z, x)
            if kind == "broken":
                residual = (after - z).norm() / (after.norm() + 1e-5)
                if residual.item() < 1e-7:
                    break
            z = after
        return z
    return inference(run)


@case("ocr_decodes_by_item", "crnn", "cpu_gpu_sync", "all classes copied at once before decoding", 32,
      accept=["cpu_gpu_sync"])
def _(kind):
    model = Crnn().to(GPU).half().eval()
    lines = torch.randn(n(32, 2), 1, 32, n(256, 32), device=GPU, dtype=torch.float16)
    letters = "-" + "".join(chr(33 + i) for i in range(95))

    def run():
        best = model(lines).argmax(-1)
        best = best.tolist() if kind == "fixed" else best
        texts = []
        for row in range(len(best)):
            text, last = [], 0
            for column in range(len(best[row])):
                label = best[row][column]
                label = label if kind == "fixed" else label.item()
                if label != 0 and label != last:
                    text.append(letters[label])
                last = label
            texts.append("".join(text))
        return texts
    return inference(run)


# --- launch_overhead -------------------------------------------------------------------------------------------------

@case("mamba_scan_in_python", "mamba", "launch_overhead", "a parallel scan by doubling", 4, accept=["launch_overhead"])
def _(kind):
    dim = n(192, 16)
    model = nn.Sequential(*(Mamba(dim, doubling=kind == "fixed") for _ in range(2))).to(GPU)
    return training(model, mean_square, resident(torch.randn(n(4, 1), n(96, 8), dim)))


@case("ppo_rollout_eager", "ppo", "launch_overhead", "CUDA graph of the rollout", 64,
      accept=["launch_overhead", "gpu_underused"])  # 64 environments are few, too
def _(kind):
    envs, width = n(64, 4), 128
    actor, critic = (nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
                                   nn.Linear(width, out)).to(GPU) for out in (2, 1))
    state = torch.zeros(envs, 4, device=GPU)
    log = torch.zeros(8, envs, 3, device=GPU)

    def dynamics(s, action):
        x, v, angle, turn = s.unbind(-1)
        push = action * 20.0 - 10.0
        cos, sin = torch.cos(angle), torch.sin(angle)
        inner = (push + 0.05 * turn**2 * sin) / 1.1
        bend = (9.8 * sin - cos * inner) / (0.5 * (4.0 / 3.0 - 0.1 * cos**2 / 1.1))
        gain = inner - 0.05 * bend * cos / 1.1
        after = torch.stack([x + 0.02 * v, v + 0.02 * gain, angle + 0.02 * turn, turn + 0.02 * bend], -1)
        over = (after[:, 0].abs() > 2.4) | (after[:, 2].abs() > 0.2095)
        return torch.where(over[:, None], torch.rand_like(after) * 0.1 - 0.05, after), over

    def run():
        for t in range(8):
            logits = actor(state)
            noise = -torch.log(-torch.log(torch.rand_like(logits) + 1e-9) + 1e-9)
            action = (logits + noise).argmax(-1)
            log_p = logits.log_softmax(-1).gather(1, action[:, None])[:, 0]
            value = critic(state)[:, 0]
            after, over = dynamics(state, action)
            log[t].copy_(torch.stack([log_p, value, over.float()], -1))
            state.copy_(after)
    step = inference(run)
    return captured(step) if kind == "fixed" else step


@case("tutorial_gpt_head_modules", "head_modules", "launch_overhead", "one projection and one attention for all heads", 8,
      accept=["launch_overhead"])
def _(kind):
    dim, heads, length = n(512, 32), n(16, 4), n(256, 16)
    make = (lambda: HeadsBlock(dim, heads)) if kind == "broken" else (lambda: Layer(dim, heads, causal=True))
    model = Lm(n(8000, 100), dim, n(4, 2), heads, length, make=make).to(GPU)
    return training(model, shifted_loss, resident(torch.randint(0, n(8000, 100), (n(8, 2), length))))


@case("efficientnet_v2_train_eager", "efficientnet_v2", "launch_overhead", "CUDA graph of the whole step", 16,
      accept=["launch_overhead", "gpu_underused"])
def _(kind):
    import torchvision
    model = torchvision.models.efficientnet_v2_s(weights=None, stochastic_depth_prob=0.0, dropout=0.0).to(GPU)
    model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **({} if TINY else dict(fused=True, capturable=True)))
    x = channels_last(torch.randn(n(16, 2), 3, n(192, 64), n(192, 64)))
    step = training(model, classify, resident(x, torch.randint(0, 1000, (n(16, 2),))), optimizer,
                    cache=kind == "broken")
    return captured(step) if kind == "fixed" else step


# --- precision -------------------------------------------------------------------------------------------------------

@case("speech_encoder_transcribes_in_fp32", "whisper", "precision", "bf16 weights and features", 12)
def _(kind):
    model = SpeechEncoder(n(768, 64), n(6, 1), n(1500, 50)).to(GPU).eval()
    mel, setting = torch.randn(n(12, 2), 80, 2 * n(1500, 50), device=GPU), tf32(False)
    if kind == "fixed":
        model, mel = model.bfloat16(), mel.bfloat16()
    return inference(lambda: model(mel), setting)


@case("neox_trains_in_tf32", "neox", "precision", "bf16 autocast", 16)
def _(kind):
    length, vocab = n(768, 16), n(16000, 100)
    model = Lm(vocab, n(1024, 32), n(6, 2), n(16, 2), length, parallel=True).to(GPU)
    ids = torch.randint(0, vocab, (n(16, 2), length))
    return training(model, shifted_loss, resident(ids), mixed=kind == "fixed", before=tf32(True))


@case("sasrec_scores_outside_autocast", "sasrec", "precision", "the item scores inside autocast", 16)
def _(kind):
    items, length = n(8000, 100), n(512, 16)
    model = Sasrec(items, n(512, 32), n(6, 2), 8, length).to(GPU)
    ids, setting = torch.randint(0, items, (n(16, 2), length)), tf32(False)

    def loss_of(m, ids):
        h = m.hidden(ids)
        with torch.autocast("cuda", torch.bfloat16, enabled=kind == "fixed"):
            scores = m.score(h if kind == "fixed" else h.float())
        return F.cross_entropy(scores[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())
    return training(model, loss_of, resident(ids), before=setting)


# --- attention -------------------------------------------------------------------------------------------------------

@case("evoformer_triangle_attention", "evoformer", "attention", "scaled_dot_product_attention with the bias as mask", 1)
def _(kind):
    size, dim = n(320, 16), n(128, 32)
    blocks = nn.Sequential(*(TriangleBlock(dim, 4, kind == "broken") for _ in range(n(6, 2)))).to(GPU).bfloat16().eval()
    pairs = torch.randn(size, size, dim, device=GPU, dtype=torch.bfloat16)
    return inference(lambda: blocks(pairs))


@case("detr_asks_for_weights", "detr", "attention", "nn.MultiheadAttention(need_weights=False)", 16)
def _(kind):
    count = n(896, 32)
    model = Detr(n(512, 32), n(5, 2), 8, count, kind == "broken").to(GPU)
    return training(model, mean_square, resident(torch.randn(n(16, 2), count, 256)))


@case("nanogpt_without_flash", "nanogpt", "attention", "scaled_dot_product_attention(dropout_p=0.1)", 16)
def _(kind):
    dim, heads, length, vocab = n(1024, 32), n(16, 2), n(512, 16), n(16000, 100)
    model = Lm(vocab, dim, n(6, 2), heads, length, make=lambda: NanoLayer(dim, heads, kind == "fixed", length)).to(GPU)
    return training(model, shifted_loss, resident(torch.randint(0, vocab, (n(16, 2), length))))


# --- memory_bandwidth ------------------------------------------------------------------------------------------------

@case("vqvae_broadcast_distances", "vqvae", "memory_bandwidth", "distances through a matrix product", 16)
def _(kind):
    model = VqVae(n(2048, 32), n(128, 16), kind == "broken").to(GPU).to(memory_format=torch.channels_last)
    return training(model, vq_loss, resident(channels_last(torch.randn(n(16, 2), 3, n(128, 16), n(128, 16)))))


def bilinear(plane, at):
    """What F.grid_sample does, as it is often written."""
    rows, columns = plane.shape[1:]
    x, y = (at[:, 0] + 1) * 0.5 * (columns - 1), (at[:, 1] + 1) * 0.5 * (rows - 1)
    x0, y0 = x.floor().long().clamp(0, columns - 2), y.floor().long().clamp(0, rows - 2)
    wx, wy = x - x0, y - y0
    a, b = plane[:, y0, x0], plane[:, y0, x0 + 1]
    c, d = plane[:, y0 + 1, x0], plane[:, y0 + 1, x0 + 1]
    return a * ((1 - wx) * (1 - wy)) + b * (wx * (1 - wy)) + c * ((1 - wx) * wy) + d * (wx * wy)


@case("triplane_interpolated_by_hand", "triplane", "memory_bandwidth", "F.grid_sample", 1048576)
def _(kind):
    count, size = n(1 << 20, 64), n(256, 8)
    planes = torch.randn(3, 32, size, size, device=GPU)
    points = torch.rand(count, 3, device=GPU) * 2 - 1
    mlp = nn.Sequential(nn.Linear(96, 64), nn.ReLU(), nn.Linear(64, 4)).to(GPU).bfloat16()

    def run():
        found = []
        for plane, axes in zip(planes, ([0, 1], [0, 2], [1, 2])):
            at = points[:, axes]
            if kind == "broken":
                found.append(bilinear(plane, at))
            else:
                found.append(F.grid_sample(plane[None], at[None, None], align_corners=True)[0, :, 0])
        return mlp(torch.cat(found).T.to(torch.bfloat16))
    return inference(run)


def soft_minimum(cost, potential, weight):
    return -0.05 * torch.logsumexp((potential[:, None, :] - cost) / 0.05 + weight, dim=-1)


@case("sinkhorn_in_log_domain", "sinkhorn", "memory_bandwidth", "torch.compile fuses the update", 8)
def _(kind):
    points = n(2048, 16)
    cost = torch.rand(n(8, 2), points, points, device=GPU)
    turned, weight = cost.transpose(1, 2).contiguous(), -float(torch.tensor(points).log())
    update = torch.compile(soft_minimum) if kind == "fixed" else soft_minimum

    def run():
        g = torch.zeros(cost.shape[0], points, device=GPU)
        for _ in range(8):
            f = update(cost, g, weight)
            g = update(turned, f, weight)
        return f, g
    return inference(run)


@case("style_blocks_adaptive_norm", "style_blocks", "memory_bandwidth", "torch.compile fuses norm and activation", 8)
def _(kind):
    width, size = n(768, 16), n(96, 8)
    normal = torch.compile(adaptive_norm) if kind == "fixed" else adaptive_norm
    blocks = nn.ModuleList(StyleBlock(width, normal) for _ in range(n(3, 1))).to(GPU).bfloat16().eval()
    blocks = blocks.to(memory_format=torch.channels_last)
    x = channels_last(torch.randn(n(8, 2), width, size, size, device=GPU, dtype=torch.bfloat16))
    code = torch.randn(n(8, 2), 128, device=GPU, dtype=torch.bfloat16)

    def run():
        h = x
        for block in blocks:
            h = block(h, code)
        return h
    return inference(run)


# --- optimizer -------------------------------------------------------------------------------------------------------

class Lion(torch.optim.Optimizer):
    def __init__(self, parameters, lr, foreach):
        super().__init__(parameters, {"lr": lr})
        self.foreach = foreach

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            lr, parameters = group["lr"], [p for p in group["params"] if p.grad is not None]
            for p in parameters:
                if not self.state[p]:
                    self.state[p]["m"] = torch.zeros_like(p)
            if self.foreach:
                gradients, averages = [p.grad for p in parameters], [self.state[p]["m"] for p in parameters]
                torch._foreach_mul_(parameters, 1 - lr * 0.1)
                update = torch._foreach_lerp(averages, gradients, 0.1)
                torch._foreach_sign_(update)
                torch._foreach_add_(parameters, update, alpha=-lr)
                torch._foreach_lerp_(averages, gradients, 0.01)
                continue
            for p in parameters:
                average = self.state[p]["m"]
                p.data.mul_(1 - lr * 0.1)
                update = average.clone().mul_(0.9).add_(p.grad, alpha=0.1).sign_()
                p.add_(update, alpha=-lr)
                average.mul_(0.99).add_(p.grad, alpha=0.01)


@case("googlenet_lion_loop", "googlenet", "optimizer", "the same update with torch._foreach functions", 96,
      accept=["optimizer", "launch_overhead"])
def _(kind):
    import torchvision
    model = torchvision.models.googlenet(weights=None, aux_logits=False, init_weights=False, transform_input=False)
    model = model.to(GPU).to(memory_format=torch.channels_last)
    x = channels_last(torch.randn(n(96, 2), 3, n(224, 64), n(224, 64)))
    return training(model, classify, resident(x, torch.randint(0, 1000, (n(96, 2),))),
                    Lion(model.parameters(), 1e-4, kind == "fixed"))


@case("wav2vec_group_per_parameter", "wav2vec", "optimizer", "two parameter groups: with and without decay", 12,
      accept=["optimizer", "launch_overhead"])
def _(kind):
    model = SpeechEncoder(n(512, 64), n(12, 2), n(400, 20), classes=500).to(GPU)
    if kind == "broken":
        groups = [{"params": [p], "weight_decay": 0.0 if p.ndim == 1 else 0.05} for p in model.parameters()]
    else:
        groups = [{"params": [p for p in model.parameters() if (p.ndim == 1) == flat],
                   "weight_decay": 0.0 if flat else 0.05} for flat in (False, True)]
    mel = torch.randn(n(12, 2), 80, 2 * n(400, 20))
    return training(model, classify, resident(mel, torch.randint(0, 500, (n(12, 2),))),
                    torch.optim.AdamW(groups, lr=1e-4, fused=not TINY))


@case("deepfm_dense_table_updates", "deepfm", "optimizer", "nn.Embedding(sparse=True) and SparseAdam", 4096,
      accept=["optimizer", "memory_bandwidth"])  # one parameter, all of whose rows are read and written every step
def _(kind):
    rows = n(20_000_000, 100)
    model = DeepFm(rows, 32, sparse=kind == "fixed")
    ids = torch.randint(0, rows, (n(4096, 4), 26), device=GPU)
    clicks = torch.rand(n(4096, 4), device=GPU).round()
    table, rest = list(model.table.parameters()), list(model.deep.parameters())
    fused = {} if TINY else {"fused": True}
    optimizers = [torch.optim.SparseAdam(table, 1e-3), torch.optim.Adam(rest, 1e-3, **fused)] if kind == "fixed" else [
        torch.optim.Adam(table + rest, 1e-3, **fused)]

    def step():
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        with amp():
            logits = model(ids)
        F.binary_cross_entropy_with_logits(logits, clicks).backward()
        for optimizer in optimizers:
            optimizer.step()
    return step


# --- memory_allocation -----------------------------------------------------------------------------------------------

@case("tagger_ragged_lengths_no_splitting", "tagger", "memory_allocation",
      "default allocator settings: no max_split_size_mb, no memory limit", 8,
      environment={"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"})
def _(kind):
    """Every batch has a length of its own, so that no cached block fits; the process may use 7.5 GB."""
    if kind == "broken" and not TINY:
        for change in (getattr(torch.cuda.memory, "_set_allocator_settings", None),
                       getattr(torch._C, "_accelerator_setAllocatorSettings", None)):
            if change:
                try:
                    change("max_split_size_mb:64")
                    break
                except Exception as error:
                    print("allocator setting:", error)
        torch.cuda.set_per_process_memory_fraction(7.5e9 / torch.cuda.get_device_properties(0).total_memory)
    vocab = n(24000, 50)
    model = Lm(vocab, n(512, 32), n(4, 1), 8, n(1024, 64)).to(GPU)
    lengths = [n(400 + 43 * ((5 * i) % 13), 8 + i) for i in range(13)]
    texts, turn = [torch.randint(0, vocab, (n(8, 1), length), device=GPU) for length in lengths], [0]

    def batches():
        turn[0] += 1
        return (texts[turn[0] % 13],)

    def close():
        if kind == "broken" and not TINY and torch.cuda.memory_stats().get("num_device_free", 99) < 50:
            raise RuntimeError("the cache was hardly ever flushed")
    return training(model, shifted_loss, batches), close


@case("dgcnn_empties_cache_between_phases", "dgcnn", "memory_allocation", "no empty_cache()", 24)
def _(kind):
    model = Dgcnn(n(20, 4)).to(GPU)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, fused=not TINY)
    clouds, y = torch.randn(n(24, 2), n(1024, 16), 3, device=GPU), torch.randint(0, 40, (n(24, 2),), device=GPU)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with amp():
            loss = F.cross_entropy(model(clouds).float(), y)
        if kind == "broken":
            torch.cuda.empty_cache()
        loss.backward()
        if kind == "broken":
            torch.cuda.empty_cache()
        optimizer.step()
    return step


@case("hyena_without_caching_allocator", "hyena", "memory_allocation", "the caching allocator", 4, environment=UNCACHED)
def _(kind):
    length = n(8192, 32)
    model = Hyena(n(256, 16), n(4, 2), length).to(GPU)
    return training(model, mean_square, resident(torch.randn(n(4, 1), length, n(256, 16))))


# --- gpu_underused ---------------------------------------------------------------------------------------------------

@case("rwkv_decodes_one_stream", "rwkv", "gpu_underused", "batch 1 -> 64", 1, fixed_batch=64, accept=["gpu_underused"])
def _(kind):
    batch, vocab = 1 if kind == "broken" else n(64, 4), n(16000, 100)
    model = Rwkv(batch, n(768, 32), n(12, 2), vocab).to(GPU).bfloat16().eval()
    token = torch.zeros(batch, dtype=torch.long, device=GPU)
    return captured(inference(lambda: token.copy_(model(token))))


@case("speech_encoder_one_recording", "whisper", "gpu_underused", "batch 1 -> 16", 1, fixed_batch=16,
      accept=["gpu_underused"])
def _(kind):
    model = SpeechEncoder(n(512, 64), n(8, 1), n(1500, 50)).to(GPU).bfloat16().eval()
    mel = torch.randn(1 if kind == "broken" else n(16, 2), 80, 2 * n(1500, 50), device=GPU, dtype=torch.bfloat16)
    return captured(inference(lambda: model(mel)))


@case("sasrec_few_sessions", "sasrec", "gpu_underused", "batch 32 -> 512", 32, fixed_batch=512,
      accept=["gpu_underused", "launch_overhead"])
def _(kind):
    items, length = n(6000, 100), 50
    model = Sasrec(items, n(256, 32), 4, 4, length).to(GPU)
    ids = torch.randint(0, items, (32 if kind == "broken" else n(512, 64), length), device=GPU)

    def loss_of(m, ids):
        h = m.hidden(ids)[:, -1]
        return F.cross_entropy(m.score(h).float(), ids[:, 0])
    return training(model, loss_of, lambda: (ids,))


# --- healthy ---------------------------------------------------------------------------------------------------------

@case("neox_healthy", "neox", "none", "", 12, accept=["none", "compute_bound"])
def _(kind):
    length, vocab = n(1024, 16), n(16384, 100)
    model = Lm(vocab, n(2560, 32), n(4, 1), n(20, 2), length, parallel=True).to(GPU).bfloat16()
    return training(model, shifted_loss, resident(torch.randint(0, vocab, (n(12, 2), length))), mixed=False)


@case("speech_encoder_healthy", "whisper", "none", "", 48, accept=["none", "compute_bound"])
def _(kind):
    model = SpeechEncoder(n(1280, 64), n(6, 1), n(1500, 50)).to(GPU).bfloat16().eval()
    batches = Prefetched(torch.randn(n(48, 2), 80, 2 * n(1500, 50)).bfloat16())
    return inference(lambda: model(*batches()))


@case("vit_huge_healthy", "vit_huge", "none", "", 160, accept=["none", "compute_bound"])
def _(kind):
    dim, size = n(1280, 32), n(224, 28)

    class Vit(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Conv2d(3, dim, 14, stride=14)
            self.positions = nn.Parameter(torch.zeros((size // 14) ** 2, dim))
            self.layers, self.head = nn.ModuleList(Layer(dim, n(16, 2)) for _ in range(n(5, 1))), nn.Linear(dim, 1000)

        def forward(self, x):
            x = self.embed(x).flatten(2).transpose(1, 2) + self.positions
            for layer in self.layers:
                x = layer(x)
            return self.head(x.mean(1))
    x, y = torch.randn(n(160, 2), 3, size, size).bfloat16(), torch.randint(0, 1000, (n(160, 2),))
    return training(Vit().to(GPU).bfloat16(), classify, resident(x, y), mixed=False)


class Demonstrations(Dataset):
    def __init__(self, rows, width):
        self.rows, self.data = rows, torch.randn(4 * rows, width).bfloat16()

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        at = index % (3 * self.rows)
        return self.data[at:at + self.rows].clone()


@case("behaviour_cloning_loader_healthy", "cloning", "none", "", 8192, loader=True, accept=["none", "compute_bound"])
def _(kind):
    rows, width = n(8192, 8), n(5120, 32)
    loader = DataLoader(Demonstrations(rows, 512), batch_size=None, num_workers=n(6, 1), pin_memory=not TINY,
                        persistent_workers=True)
    it = iter(loader)
    layers = [nn.Linear(512, width), nn.ReLU()]
    for _ in range(n(6, 1)):
        layers += [nn.Linear(width, width), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(width, 32)).to(GPU).bfloat16()
    batches = (lambda: (next(it).to(GPU, non_blocking=True),))
    return training(model, mean_square, batches, torch.optim.SGD(model.parameters(), 1e-3, fused=not TINY),
                    mixed=False), lambda: it._shutdown_workers()


@case("conv_vae_healthy", "conv_vae", "none", "", 32, accept=["none", "compute_bound"])
def _(kind):
    width, size = n(512, 16), n(64, 8)

    class Vae(nn.Module):
        def __init__(self):
            super().__init__()
            def stack():
                return nn.Sequential(*(part for _ in range(3) for part in (nn.Conv2d(width, width, 3, padding=1),
                                                                           nn.ReLU(True))))
            self.inlet, self.outlet = nn.Conv2d(16, width, 3, padding=1), nn.Conv2d(width, 16, 3, padding=1)
            self.encoder, self.decoder = stack(), stack()
            self.latent, self.back = nn.Conv2d(width, 16, 1), nn.Conv2d(8, width, 1)

        def forward(self, x):
            mean, log_var = self.latent(self.encoder(self.inlet(x))).chunk(2, 1)
            z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
            kl = -0.5 * (1 + log_var - mean.square() - log_var.exp()).float().mean()
            return self.outlet(self.decoder(self.back(z))), kl

    def loss_of(m, x):
        y, kl = m(x)
        return F.mse_loss(y.float(), x.float()) + 1e-3 * kl
    model = Vae().to(GPU).to(memory_format=torch.channels_last).bfloat16()
    return training(model, loss_of, Prefetched(channels_last(torch.randn(n(32, 2), 16, size, size).bfloat16())),
                    mixed=False)


def mixed_by_cause(cases):
    """One of each cause in turn, so that a run cut short has all of them."""
    waiting = {}
    for each in cases:
        waiting.setdefault(each.injected, []).append(each)
    ordered = []
    while any(waiting.values()):
        ordered += [queue.pop(0) for queue in waiting.values() if queue]
    return ordered


CASES = mixed_by_cause(FOUND)
