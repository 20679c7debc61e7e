"""More networks of trace_cases_blind17.py, a metric and an optimizer."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from trace_cases_blind4 import Layer, join_heads, split_heads


# --- words and sound, by layers of attention -------------------------------------------------------------------------

class Captioner(nn.Module):
    """Tells in words what the features of a picture's 196 parts show."""

    def __init__(self, dim=1024, layers=8, length=96, vocab=12000):
        super().__init__()
        layer = nn.TransformerDecoderLayer(dim, 16, 4 * dim, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.words, self.places = nn.Embedding(vocab, dim), nn.Parameter(torch.zeros(length, dim))
        self.pictures, self.head = nn.Linear(768, dim), nn.Linear(dim, vocab)
        self.decoder = nn.TransformerDecoder(layer, layers, norm=nn.LayerNorm(dim))
        self.register_buffer("later", torch.full((length, length), float("-inf")).triu(1))

    def forward(self, pictures, ids):
        x = self.words(ids) + self.places
        return self.head(self.decoder(x, self.pictures(pictures), tgt_mask=self.later, tgt_is_causal=True))


def by_baddbmm(q, k, v):
    """As it was done before PyTorch had a kernel for it: heads beside texts, scaled while multiplied."""
    batch, heads, length, dim = q.shape
    q, k, v = (part.flatten(0, 1) for part in (q, k, v))
    scores = torch.baddbmm(torch.empty(1, 1, 1, dtype=q.dtype, device=q.device), q, k.transpose(1, 2), beta=0,
                           alpha=dim ** -0.5)
    return torch.bmm(scores.softmax(-1), v).unflatten(0, (batch, heads))


class SoundLayer(Layer):
    def __init__(self, dim, heads, attended):
        super().__init__(dim, heads)
        self.attended = attended

    def mix(self, x):
        return self.proj(join_heads(self.attended(*(split_heads(part, self.heads)
                                                    for part in self.qkv(x).chunk(3, dim=-1)))))


class SoundDiffuser(nn.Module):
    """Tells the noise in the latents of a piece of music."""

    def __init__(self, attended, dim=1024, layers=5):
        super().__init__()
        self.inlet, self.norm, self.outlet = nn.Linear(64, dim), nn.LayerNorm(dim), nn.Linear(dim, 64)
        self.layers = nn.Sequential(*(SoundLayer(dim, 16, attended) for _ in range(layers)))

    def forward(self, x):
        return self.outlet(self.norm(self.layers(self.inlet(x))))


class Tokens(nn.Module):
    """Layers over rows of numbers or over words; a few numbers for each."""

    def __init__(self, inlet, dim, heads, layers, outputs, hidden=None):
        super().__init__()
        self.inlet, self.norm, self.head = inlet, nn.LayerNorm(dim), nn.Linear(dim, outputs)
        self.layers = nn.Sequential(*(Layer(dim, heads, hidden=hidden) for _ in range(layers)))

    def forward(self, x):
        return self.head(self.norm(self.layers(self.inlet(x))))


class Patches(nn.Module):
    def __init__(self, dim, size=14):
        super().__init__()
        self.cut = nn.Conv2d(3, dim, size, size)

    def forward(self, x):
        return self.cut(x).flatten(2).transpose(1, 2)


# --- boxes and weather -----------------------------------------------------------------------------------------------

def fit_of_anchors(scores, guesses, boxes, kinds):
    """How well each anchor's guess (n, anchors, 4) fits each box (n, boxes, 4): kind, and complete IoU."""
    x1, y1, x2, y2 = guesses[:, None].unbind(-1)
    left, top, right, bottom = boxes[:, :, None].unbind(-1)
    wide, high, width, height = x2 - x1, y2 - y1, right - left, bottom - top
    both = (x2.minimum(right) - x1.maximum(left)).clamp(min=0) * (y2.minimum(bottom) - y1.maximum(top)).clamp(min=0)
    overlap = both / (wide * high + width * height - both + 1e-7)
    around = (x2.maximum(right) - x1.minimum(left)).square() + (y2.maximum(bottom) - y1.minimum(top)).square() + 1e-7
    apart = ((left + right - x1 - x2).square() + (top + bottom - y1 - y2).square()) / 4
    shape = (4 / math.pi ** 2) * (torch.atan(width / height) - torch.atan(wide / high)).square()
    overlap = overlap - apart / around - shape.square() / (shape - overlap + 1.0001)
    chance = scores.gather(1, kinds[:, :, None].expand(-1, -1, scores.shape[2])).sigmoid()
    return chance.sqrt() * overlap.clamp(min=0).pow(6)


class WeatherNet(nn.Module):
    """What the weather may be six hours later: as many guesses as there is noise for."""

    def __init__(self, told=6, width=64, layers=4):
        super().__init__()
        parts = [nn.Conv2d(told + 1, width, 3, padding=1), nn.ReLU(True)]
        for _ in range(layers):
            parts += [nn.Conv2d(width, width, 3, padding=1), nn.ReLU(True)]
        self.layers = nn.Sequential(*parts, nn.Conv2d(width, told, 3, padding=1))

    def forward(self, now, noise):
        """now (n, told, h, w), noise (n, members, h, w) -> (n, members, told, h, w)"""
        members = noise.shape[1]
        now = now[:, None].expand(-1, members, -1, -1, -1)
        x = torch.cat([now, noise[:, :, None]], dim=2).flatten(0, 1)
        return self.layers(x.contiguous(memory_format=torch.channels_last)).unflatten(0, (-1, members))


def spread_of_pairs(guesses):
    """The mean distance of two members."""
    return (guesses[:, :, None] - guesses[:, None]).abs().mean()


def spread_of_sorted(guesses):
    members = guesses.shape[1]
    ranks = torch.arange(members, device=guesses.device) * 2.0 + 1 - members
    ordered = guesses.flatten(2).transpose(1, 2).contiguous().sort(dim=-1).values
    return (ordered * ranks).sum(-1).mean() * (2.0 / members ** 2)


# --- optimizers and waves --------------------------------------------------------------------------------------------

class Yogi(torch.optim.Optimizer):
    """Zaheer et al.: like Adam, but the variance moves by steps of bounded size."""

    def __init__(self, params, at_once, lr=1e-3, betas=(0.9, 0.999), eps=1e-3):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})
        self.at_once = at_once

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            held = [p for p in group["params"] if p.grad is not None]
            for p in held:
                if not self.state[p]:
                    self.state[p].update(mean=torch.zeros_like(p), var=torch.full_like(p, 1e-6))
            parts = held, [p.grad for p in held], *([self.state[p][name] for p in held] for name in ("mean", "var"))
            (self.moved_at_once if self.at_once else self.moved_in_turn)(*parts, group["lr"], *group["betas"],
                                                                          group["eps"])

    @staticmethod
    def moved_in_turn(params, grads, means, variances, lr, beta1, beta2, eps):
        for p, grad, mean, var in zip(params, grads, means, variances):
            mean.mul_(beta1).add_(grad, alpha=1 - beta1)
            squared = grad * grad
            var.addcmul_(torch.sign(var - squared), squared, value=beta2 - 1)
            p.addcdiv_(mean, var.sqrt().add_(eps), value=-lr)

    @staticmethod
    def moved_at_once(params, grads, means, variances, lr, beta1, beta2, eps):
        torch._foreach_mul_(means, beta1)
        torch._foreach_add_(means, grads, alpha=1 - beta1)
        squared = torch._foreach_mul(grads, grads)
        signs = torch._foreach_sign(torch._foreach_sub(variances, squared))
        torch._foreach_addcmul_(variances, signs, squared, value=beta2 - 1)
        roots = torch._foreach_sqrt(variances)
        torch._foreach_add_(roots, eps)
        torch._foreach_addcdiv_(params, means, roots, value=-lr)


class WaveUnet(nn.Module):
    """Demucs (Defossez et al.): voice, drums, bass and the rest of a song, from its two channels."""

    def __init__(self, widths=(64, 128, 256, 512, 1024)):
        super().__init__()
        self.downs, self.ups = nn.ModuleList(), nn.ModuleList()
        for a, b in zip((2, *widths), widths):
            self.downs.append(nn.Sequential(nn.Conv1d(a, b, 8, 4, 2), nn.ReLU(), nn.Conv1d(b, 2 * b, 1), nn.GLU(1)))
            self.ups.insert(0, nn.Sequential(nn.Conv1d(b, 2 * b, 3, padding=1), nn.GLU(1),
                                             nn.ConvTranspose1d(b, a if a > 2 else 8, 8, 4, 2)))

    def forward(self, x):
        kept = []
        for down in self.downs:
            x = down(x)
            kept.append(x)
        x = torch.zeros_like(x)
        for up in self.ups:
            x = up(F.relu(x) + kept.pop())
        return x
