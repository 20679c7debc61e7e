"""Long histories scored with a triangle: attention. Cured by: scaled_dot_product_attention(is_causal=True)."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.networks import Layer
from shared.steps import GPU, inference


class Causal(nn.Module):
    """Keeps the triangle of what came before, as the best known tutorials do."""

    def __init__(self, length):
        super().__init__()
        self.register_buffer("before", torch.ones(length, length, dtype=torch.bool).tril())

    def forward(self, q, k, v):
        length = q.shape[-2]
        scores = torch.matmul(q, k.transpose(-2, -1)) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.before[:length, :length], -1e9)
        return torch.matmul(F.softmax(scores, dim=-1), v)


def causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class HistoryLayer(Layer):
    def __init__(self, dim, heads, attended):
        super().__init__(dim, heads)
        self.attended = attended

    def mix(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        return self.proj(self.attended(q, k, v).transpose(1, 2).flatten(2))


class Histories(nn.Module):
    """Kang and McAuley: what will somebody watch who watched all this?"""

    def __init__(self, attended, length, things=60000, dim=512, layers=6):
        super().__init__()
        self.things, self.places = nn.Embedding(things, dim), nn.Embedding(length, dim)
        self.layers = nn.Sequential(*(HistoryLayer(dim, 8, attended) for _ in range(layers)))
        self.norm = nn.LayerNorm(dim)

    def forward(self, seen):
        x = self.things(seen) + self.places(torch.arange(seen.shape[1], device=seen.device))
        return self.norm(self.layers(x))[:, -1] @ self.things.weight.T


def program(kind):
    with torch.device(GPU):
        model = Histories(Causal(2048) if kind == "flawed" else causal, 2048).bfloat16().eval()
        seen = torch.randint(0, 60000, (12, 2048))
    return inference(lambda: model(seen).float().topk(50, dim=-1))
