"""Ddp songs slopes and scores written out: attention. Cured by: scaled_dot_product_attention with the slopes as
its mask."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.ranks import parallel
from shared.steps import GPU, next_token, resident, tokens, training


def next_sound(model, ids, slopes):
    return next_token(lambda texts: model(texts, slopes), ids)


class SongLayer(nn.Module):
    def __init__(self, dim, heads, written_out):
        super().__init__()
        self.heads, self.written_out = heads, written_out
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def attend(self, q, k, v, slopes):
        if not self.written_out:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=slopes)
        return torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5 + slopes, dim=-1) @ v

    def forward(self, x, slopes):
        parts = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in parts)
        x = x + self.out(self.attend(q, k, v, slopes).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Songs(nn.Module):
    """The next sound of a song; no positions but slopes: the longer ago a sound, the less it counts."""

    def __init__(self, written_out, sounds=4096, dim=1024, layers=4, heads=16):
        super().__init__()
        self.sounds, self.norm, self.head = nn.Embedding(sounds, dim), nn.LayerNorm(dim), nn.Linear(dim, sounds)
        self.layers = nn.ModuleList(SongLayer(dim, heads, written_out) for _ in range(layers))

    def forward(self, sounds, slopes):
        x = self.sounds(sounds)
        for layer in self.layers:
            x = layer(x, slopes)
        return self.head(self.norm(x))


def slopes_of(heads, length):
    """For each head, what is added to the score of a sound so long ago; those to come do not count."""
    at = torch.arange(length, device=GPU)
    ago = (at[:, None] - at).float()
    slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1, device=GPU) / heads)
    return (-slopes[:, None, None] * ago).masked_fill_(ago < 0, float("-inf")).bfloat16()[None]


def program(kind):
    """ALiBi over songs of 4096 sounds."""
    with torch.device(GPU):
        network = Songs(written_out=kind == "flawed")
    slopes = slopes_of(16, 4096)
    (ids,) = resident(*tokens(2, 4096, 4096))()
    return training(parallel(network, gradient_as_bucket_view=True), next_sound, lambda: (ids, slopes))
