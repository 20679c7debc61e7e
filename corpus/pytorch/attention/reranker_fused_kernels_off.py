"""Reranker fused kernels off: attention. Cured by: the fused attention kernels no longer switched off."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from shared.networks import join_heads, split_heads
from shared.steps import GPU, inference


class Unit(nn.Module):
    """Attention and a gated feed-forward part; `written`: softmax(QK)V in three operations."""

    def __init__(self, dim, heads, causal=False, written=False, linear=nn.Linear):
        super().__init__()
        hidden = 8 * dim // 3 // 64 * 64
        self.heads, self.causal, self.written = heads, causal, written
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = linear(dim, 3 * dim, bias=False), linear(dim, dim, bias=False)
        self.up, self.down = linear(dim, 2 * hidden, bias=False), linear(hidden, dim, bias=False)

    def project(self, x):
        return (split_heads(part, self.heads) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))

    def attend(self, q, k, v, mask=None):
        if not self.written:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal and mask is None)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores + mask
        return torch.softmax(scores.float(), dim=-1).to(v.dtype) @ v

    def feed(self, x):
        gate, value = self.up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * value)

    def forward(self, x, mask=None):
        return self.feed(x + self.proj(join_heads(self.attend(*self.project(x), mask))))


class Sentences(nn.Module):
    def __init__(self, vocab, dim, depth, heads, length):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab, dim), nn.Parameter(torch.randn(length, dim) * 0.02)
        self.units = nn.ModuleList(Unit(dim, heads) for _ in range(depth))
        self.final = nn.LayerNorm(dim)

    def forward(self, ids, mask=None):
        x = self.words(ids) + self.positions[: ids.shape[1]]
        for unit in self.units:
            x = unit(x, mask)
        return self.final(x)


def fused_attention(on):
    def setting():
        torch.backends.cuda.enable_flash_sdp(on)
        torch.backends.cuda.enable_mem_efficient_sdp(on)
        torch.backends.cuda.enable_cudnn_sdp(on)
    return setting


def program(kind):
    """A switch left over from a search for NaN."""
    model = Sentences(16000, 768, 6, 12, 512).to(GPU).bfloat16().eval()
    ids, lengths = torch.randint(0, 16000, (48, 512), device=GPU), torch.randint(256, 513, (48, 1), device=GPU)
    seen = (torch.arange(512, device=GPU) < lengths)[:, None, None]
    score = nn.Linear(768, 1).to(GPU).bfloat16()
    return inference(lambda: score(model(ids, seen)[:, 0]), fused_attention(kind == "cured"))
