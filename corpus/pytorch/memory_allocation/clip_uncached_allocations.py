"""Clip uncached allocations: memory_allocation. Cured by: the caching allocator."""
import torch
import torch.nn.functional as F
from torch import nn

from shared.networks import Decoder, PatchTransformer
from shared.steps import GPU, resident, training


class Clip(nn.Module):
    """An image and a text tower; gives normalized embeddings."""

    def __init__(self, dim=512, depth=6, image=112, length=32):
        super().__init__()
        self.image = PatchTransformer(image=image, patch=16, dim=dim, layers=depth, heads=dim // 64)
        self.text = Decoder(vocab=8192, dim=dim, layers=depth, heads=dim // 64, length=length)
        self.image.head, self.text.head = nn.Linear(dim, 512), nn.Linear(dim, 512)

    def forward(self, pixels, ids):
        return F.normalize(self.image(pixels).float(), dim=-1), F.normalize(self.text(ids)[:, -1].float(), dim=-1)


def clip_loss(model, pixels, ids):
    a, b = model(pixels, ids)
    logits = (a @ b.T).float() * 20
    target = torch.arange(a.shape[0], device=a.device)
    return F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target)


def captions(batch, image=112, length=32):
    return torch.randn(batch, 3, image, image), torch.randint(0, 8192, (batch, length))


def program(kind):
    return training(Clip().to(GPU), clip_loss, resident(*captions(256)))
